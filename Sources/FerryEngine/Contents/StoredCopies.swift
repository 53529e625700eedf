import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Copies of contents just stored, whole beside the database: as many as this device keeps. No other device may have fetched them, so
/// the folder's packs would be the last ones. And no pass reads them from the packs, in a storage over the network.
struct StoredCopies {
    private let replica: Replica
    private let settings: ContentSettings
    private var filled: [PartialContent] = []
    private var filledBytes = 0
    /// The room for further copies, in bytes.
    private var room: Int

    init(_ replica: Replica) throws {
        self.replica = replica
        settings = try replica.store.contentSettings()
        room = try settings.keepBytes.map { try $0 - replica.store.readContentStates { try $0.wholeBytes() } } ?? .max
    }

    /// Makes the copies, durably. No copy is a must: where the file changed, or the disk has no room, a later pass fetches the content.
    /// - Parameter stored: contents with the paths of their files. The contents' packs are durable.
    mutating func keep(_ stored: [(path: String, content: ContentWriter.Stored)], _ key: ContentKey) throws {
        var seen: Set<ContentID> = []
        for (path, content) in stored where isKept(content) && seen.insert(content.id).inserted {
            do {
                guard try replica.shelf.path(ofWhole: content.id, byteCount: content.byteCount) == nil,
                    let copy = try copy(of: path, content, key)
                else { continue }
                filled.append(copy)
                (filledBytes, room) = (filledBytes + content.byteCount, room - content.byteCount)
            } catch let error as FerryError where error.concernsOneFile {
                continue
            }
            if filled.count >= Replica.completedTogether || filledBytes >= Replica.completedBytes { try complete() }
        }
        try complete()
    }

    /// Short contents stand in their rows.
    private func isKept(_ content: ContentWriter.Stored) -> Bool {
        content.byteCount > ContentList.inlineBytes && content.byteCount <= room
    }

    /// - Throws: `damagedFile` where the file's bytes have changed.
    private func copy(
        of path: String, _ content: ContentWriter.Stored, _ key: ContentKey
    ) throws -> PartialContent? {
        guard let file = try replica.environment.fileSystem.openFile(at: path) else { return nil }
        let copy = try replica.shelf.beginPartial(
            content.id, content.body, key, leaving: settings.leaveFreeBytes)
        var offset = 0
        for chunk in ContentList.file(content.body).chunks {
            if copy.needs(chunk.id) { try copy.take(file.read(offset..<offset + chunk.count), as: chunk.id) }
            offset += chunk.count
        }
        return copy
    }

    private mutating func complete() throws {
        if filled.isEmpty { return }
        defer { (filled, filledBytes) = ([], 0) }
        do {
            _ = try PartialContent.finish(filled)
        } catch let error as FerryError where error.concernsOneFile {
            // The contents are stored; a later pass fetches contents without a copy.
        }
    }
}
