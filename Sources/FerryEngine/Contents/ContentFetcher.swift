import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Puts contents together beside the database, chunk by chunk.
struct ContentFetcher {
    /// The outcome for a content.
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
    /// Whether the bytes of each whole content are proved. Otherwise a content known as whole counts.
    private let provesWhole: Bool

    /// Fetches from a container, and from files at hand.
    /// - Parameter container: called for a chunk that is not on this device.
    init(
        _ replica: Replica, _ container: @escaping () throws -> Container, leaveFreeBytes: Int,
        provesWhole: Bool = false
    ) throws {
        let source = try ChunkSource(replica, opening: container)
        self.init(
            replica, key: source.key, chunk: source.chunk, leaveFreeBytes: leaveFreeBytes, provesWhole: provesWhole)
    }

    /// Takes contents out of an archive.
    init(_ replica: Replica, _ contents: ArchivedContents, leaveFreeBytes: Int) {
        self.init(replica, key: contents.key, chunk: contents.chunk, leaveFreeBytes: leaveFreeBytes)
    }

    private init(
        _ replica: Replica, key: @escaping (EpochID?) throws -> ContentKey,
        chunk: @escaping (ChunkID, EpochID?) throws -> [UInt8], leaveFreeBytes: Int, provesWhole: Bool = false
    ) {
        self.replica = replica
        self.key = key
        self.chunk = chunk
        self.leaveFreeBytes = leaveFreeBytes
        self.provesWhole = provesWhole
    }

    /// The outcome of the first part of the work.
    enum Beginning {
        case done(Outcome)
        /// All bytes are there. `PartialContent.finish` makes the content whole.
        case filled(PartialContent)
    }

    /// Fetches a content; a whole content stays. A disk without room, too, is a reason for a missing content.
    /// - Throws: the errors of `progress`.
    func fetch(_ id: ContentID, progress: ((Int) throws -> Void)? = nil) throws -> Outcome {
        switch try fill(id, progress: progress) {
        case .done(let outcome): return outcome
        case .filled(let partial): return try complete([partial])[0]
        }
    }

    /// Fetches the bytes of a content; as `fetch`.
    func fill(_ id: ContentID, progress: ((Int) throws -> Void)? = nil) throws -> Beginning {
        do {
            guard let row = try replica.store.readContents({ rows, _ in try rows.content(id) }) else {
                return .done(.missing(FerryError(.contentNotHere, "What the content is made of has not arrived.")))
            }
            if let path = try replica.shelf.path(ofWhole: id, byteCount: row.byteCount), try isWhole(row) {
                return .done(.whole(path: path))
            }
            guard case .file(let body) = row.list else {
                return .done(
                    .missing(
                        FerryError(.formatTooNew, "The content is a package of files. Update Ferry to open it.")))
            }
            return .filled(try fill(row, body, progress))
        } catch let error as FerryError
            where error.concernsOneFile || [.contentLost, .keyMissing].contains(error.code)
        {
            return .done(.missing(error))
        }
    }

    /// Whether a file of the right length beside the database counts.
    private func isWhole(_ row: ContentRow) throws -> Bool {
        if !provesWhole, try replica.store.readContentStates({ try $0.state(of: row.id).isWhole }) { return true }
        return try ContentAtHand.isSound(row, in: replica) { try key(row.epoch) }
    }

    private func fill(
        _ row: ContentRow, _ body: ContentList.Body, _ progress: ((Int) throws -> Void)?
    ) throws -> PartialContent {
        guard let key = try key(row, body) else { return try replica.shelf.beginPartial(row.id, body, nil) }
        let partial = try replica.shelf.beginPartial(
            row.id, body, key, leaving: row.byteCount > ContentList.inlineBytes ? leaveFreeBytes : 0)
        let atHand = ContentAtHand(replica, row, key)
        var (offset, taken) = (0, 0)
        // In the order of the content: the order of the packs is mostly the same.
        for chunk in row.list.chunks {
            defer { offset += chunk.count }
            guard partial.needs(chunk.id) else { continue }
            try partial.take(bytes(chunk, at: offset, atHand, row), as: chunk.id)
            taken += chunk.count
            try progress?(taken)
        }
        return partial
    }

    /// The key of a content. A short content stands in its row and needs none.
    private func key(_ row: ContentRow, _ body: ContentList.Body) throws -> ContentKey? {
        do {
            return try key(row.epoch)
        } catch let error as FerryError where [.keyMissing, .fileNotThereYet].contains(error.code) {
            if case .bytes = body { return nil }
            throw error
        }
    }

    /// A chunk from beside the database, from a pack, or else from a mirror's file.
    private func bytes(
        _ chunk: ContentList.Chunk, at offset: Int, _ atHand: ContentAtHand, _ row: ContentRow
    ) throws -> [UInt8] {
        if let bytes = try atHand.wholeChunk(chunk, at: offset) { return bytes }
        do {
            return try self.chunk(chunk.id, row.epoch)
        } catch {
            if let bytes = try atHand.mirroredChunk(chunk, at: offset) { return bytes }
            throw error
        }
    }

    /// Completes contents together.
    /// - Returns: the outcome for each content.
    func complete(_ contents: [PartialContent]) throws -> [Outcome] {
        do {
            return try PartialContent.finish(contents).map { .whole(path: $0) }
        } catch let error as FerryError where error.concernsOneFile {
            // Another process may have completed the same contents meanwhile.
            return try contents.map { content in
                try replica.shelf.path(ofWhole: content.id, byteCount: content.byteCount).map { .whole(path: $0) }
                    ?? .missing(error)
            }
        }
    }
}
