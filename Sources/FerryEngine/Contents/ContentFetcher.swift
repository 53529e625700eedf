import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Puts contents together beside the database, chunk by chunk.
struct ContentFetcher {
    /// What became of a content.
    enum Outcome {
        /// Whole beside the database.
        case whole(path: String)
        /// Not to be had now.
        case missing(FerryError)
    }

    private let replica: Replica
    private let key: (EpochID?) throws -> ContentKey
    private let chunk: (ChunkID, EpochID?) throws -> [UInt8]
    private let leaveFreeBytes: Int

    /// Fetches from a container.
    init(_ replica: Replica, _ container: Container, leaveFreeBytes: Int) throws {
        let source = try ChunkSource(replica, container)
        self.init(replica, key: source.key, chunk: source.chunk, leaveFreeBytes: leaveFreeBytes)
    }

    /// Takes contents out of an archive.
    init(_ replica: Replica, _ contents: ArchivedContents, leaveFreeBytes: Int) {
        self.init(replica, key: contents.key, chunk: contents.chunk, leaveFreeBytes: leaveFreeBytes)
    }

    private init(
        _ replica: Replica, key: @escaping (EpochID?) throws -> ContentKey,
        chunk: @escaping (ChunkID, EpochID?) throws -> [UInt8], leaveFreeBytes: Int
    ) {
        self.replica = replica
        self.key = key
        self.chunk = chunk
        self.leaveFreeBytes = leaveFreeBytes
    }

    /// Fetches a content; a content that is whole already stays. A disk without room, too, is a reason why it is not here.
    /// - Throws: what `progress` throws.
    func fetch(_ id: ContentID, progress: ((Int) throws -> Void)? = nil) throws -> Outcome {
        do {
            guard let row = try replica.store.readContents({ rows, _ in try rows.content(id) }) else {
                return .missing(FerryError(.contentNotHere, "What the content is made of has not arrived."))
            }
            if let path = try replica.shelf.path(ofWhole: id, byteCount: row.byteCount) { return .whole(path: path) }
            guard case .file(let body) = row.list else {
                return .missing(
                    FerryError(.formatTooNew, "The content is a package of files. Update Ferry to open it."))
            }
            return .whole(path: try fetch(row, body, progress))
        } catch let error as FerryError where error.concernsOneFile || error.code == .contentLost {
            return .missing(error)
        }
    }

    private func fetch(_ row: ContentRow, _ body: ContentList.Body, _ progress: ((Int) throws -> Void)?) throws
        -> String
    {
        let partial = try replica.shelf.beginPartial(
            row.id, body, key(row.epoch), leaving: row.byteCount > ContentList.inlineBytes ? leaveFreeBytes : 0)
        var taken = 0
        // In the order of the content: mostly that is the order of its packs.
        for chunk in row.list.chunks where partial.needs(chunk.id) {
            try partial.take(self.chunk(chunk.id, row.epoch), as: chunk.id)
            taken += chunk.count
            try progress?(taken)
        }
        do {
            return try partial.finish()
        } catch {
            // Another process may have completed the same content meanwhile.
            if let path = try replica.shelf.path(ofWhole: row.id, byteCount: row.byteCount) { return path }
            throw error
        }
    }
}
