import FerryContainer
import FerryCore

/// A pack in the middle of writing beside the database: chunk by chunk, under a temporary name.
///
/// Release the object to give the pack up: the temporary file is then removed. Not safe to use from several threads.
package final class PendingPack {
    /// The facts about a finished pack for its row.
    package struct Finished: Hashable, Sendable {
        package let id: PackID
        package let byteCount: Int
        package let directory: PackDirectory
        /// False if a pack of the same bytes was here before.
        package let isNew: Bool
    }

    private let shelf: ContentShelf
    private let temporaryName: String
    private let file: any WritableFile
    private var writer: PackWriter
    private var end: Int
    private var isFinished = false

    init(_ writer: PackWriter, on shelf: ContentShelf) throws {
        self.shelf = shelf
        self.writer = writer
        end = writer.header.count
        (temporaryName, file) = try shelf.createTemporary(in: "pending")
        try file.write(writer.header[...], at: 0)
    }

    deinit {
        shelf.forget(temporaryName)
        // A file that cannot be removed now is a leftover for the next `removeLeftovers`.
        if !isFinished { _ = try? shelf.fileSystem.removeFile(at: shelf.path("pending/" + temporaryName)) }
    }

    /// Whether a chunk is in the pack.
    package func contains(_ id: ChunkID) -> Bool { writer.contains(id) }

    /// As `PackWriter.hasRoom(for:)`.
    package func hasRoom(for chunk: PreparedChunk) -> Bool { writer.hasRoom(for: chunk) }

    /// Whether the pack has no chunk yet. Such a pack cannot be finished.
    package var isEmpty: Bool { writer.directory.entries.isEmpty }

    /// Takes a chunk. After an error the pack is of no use any more.
    package func append(_ chunk: PreparedChunk) throws {
        let bytes = try writer.append(chunk)
        try file.write(bytes[...], at: end)
        end += bytes.count
    }

    /// Completes the pack: first the content is durable, then the name. After an error the pack is useless.
    package func finish() throws -> Finished {
        let (bytes, id) = try writer.end()
        try file.write(bytes[...], at: end)
        try file.synchronize()
        let isNew = try shelf.fileSystem.item(at: shelf.path(ofPending: id)) == .missing
        try shelf.fileSystem.rename(shelf.path("pending/" + temporaryName), to: shelf.path(ofPending: id))
        isFinished = true
        try shelf.fileSystem.synchronizeDirectory(at: shelf.path("pending"))
        return Finished(id: id, byteCount: end + bytes.count, directory: writer.directory, isNew: isNew)
    }
}
