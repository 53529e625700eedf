import FerryCore
import FerryLog
import FerrySeal

/// Makes the bytes of a pack, piece by piece, with at most a single chunk in memory (Docs/Format.md, "Packs").
///
/// The caller writes the bytes from `header`, from each `append` and from `end` in this order.
package struct PackWriter {
    package let header: [UInt8]
    package private(set) var directory: PackDirectory
    private let sealer: SealedPack.Sealer?

    /// A pack of an open container.
    package init(container: ContainerID, device: DeviceID) {
        header = PackFrame.header(container, device)
        directory = PackDirectory(start: header.count)
        sealer = nil
    }

    /// A pack of a sealed container.
    package init(_ sealer: SealedPack.Sealer) {
        header = sealer.header
        directory = PackDirectory(start: header.count)
        self.sealer = sealer
    }

    /// Whether a chunk is in the pack.
    package func contains(_ id: ChunkID) -> Bool { directory.contains(id) }

    /// Whether a pack with some more bytes stays within `ContentLimits.packEndBytes`. A pack without chunks has room for any.
    package func hasRoom(for chunk: PreparedChunk) -> Bool {
        if directory.entries.isEmpty { return true }
        guard directory.entries.count < ContentLimits.packChunks else { return false }
        return directory.end + length(of: chunk) + endBytes <= ContentLimits.packEndBytes
    }

    private func length(of chunk: PreparedChunk) -> Int {
        sealer == nil ? chunk.stored.count : SealedPack.length(ofStored: chunk.stored.count)
    }

    /// An upper bound of the bytes behind the chunks, with a further chunk included.
    private var endBytes: Int {
        let entries = 3 + (directory.entries.count + 1) * 25
        return sealer == nil
            ? entries + PackFrame.endLength : SealedPart.length(ofContent: entries) + SealedPack.endLength
    }

    /// Takes a chunk.
    /// - Returns: the bytes to write.
    /// - Throws: `limitExceeded` for a full pack, `invalidArgument` for a chunk already in the pack.
    package mutating func append(_ chunk: PreparedChunk) throws -> [UInt8] {
        let stored = try sealer?.seal(chunk.stored, chunk.id, form: chunk.form.rawValue) ?? chunk.stored
        try directory.append(chunk.id, chunk.form, stored: stored.count, count: chunk.count)
        return stored
    }

    /// The bytes behind the last chunk, and the pack's ID.
    /// - Throws: `invalidArgument` without a chunk, `limitExceeded`.
    package func end() throws -> (bytes: [UInt8], id: PackID) {
        guard !directory.entries.isEmpty else { throw FerryError(.invalidArgument, "A pack has no chunk.") }
        let end = try sealer?.end(directory.encoded, at: directory.end) ?? PackFrame.end(header, directory)
        guard directory.end + end.bytes.count <= ContentLimits.packBytes else {
            throw FerryError(.limitExceeded, "A pack is longer than \(ContentLimits.packBytes) bytes.")
        }
        return end
    }
}

/// A chunk as a pack stores it.
package struct PreparedChunk: Sendable {
    package let id: ChunkID
    package let form: ChunkPlace.Form
    package let stored: [UInt8]
    /// The bytes of the chunk.
    package let count: Int

    /// Names a chunk and compresses the bytes if this saves space.
    /// - Parameter bytes: at least 1, at most `ContentLimits.chunkBytes`.
    /// - Throws: `inputOutput` without enough memory.
    package init(_ bytes: [UInt8], _ key: ContentKey) throws {
        try self.init(bytes, id: key.chunkID(of: bytes))
    }

    /// Compresses a chunk with a known ID.
    package init(_ bytes: [UInt8], id: ChunkID) throws {
        let compressed = try ChunkCompression.compress(bytes)
        self.id = id
        form = compressed == nil ? .plain : .zlib
        stored = compressed ?? bytes
        count = bytes.count
    }

    package var listed: ContentList.Chunk { ContentList.Chunk(id: id, count: count) }
}
