import FerryContainer
import FerryCore

/// A content in the middle of assembly from its chunks, in any order, in a sparse file (`ContentShelf`).
///
/// Only the ID identifies a chunk. Every chunk is verified before the write, and chunks of an earlier attempt are
/// verified when the content is continued. So no record of the present chunks is needed. Not safe to use from several
/// threads.
package final class PartialContent {
    package let id: ContentID
    package let byteCount: Int
    private let shelf: ContentShelf
    private let key: ContentKey?
    private let file: any WritableFile
    /// True for a file that began empty: unwritten places read as zeros.
    private let isNew: Bool
    private var missing: [ChunkID: Places] = [:]

    /// The places of a missing chunk.
    package struct Places {
        var offsets: [Int] = []
        let count: Int
    }

    init(
        _ id: ContentID, _ body: ContentList.Body, _ key: ContentKey?, on shelf: ContentShelf, leaving: Int
    ) throws {
        if let key {
            guard try key.contentID(of: .file(body)) == id else {
                throw ByteReader.malformed("a content's list is not the one that its ID names")
            }
        } else if case .chunks = body {
            throw FerryError(.keyMissing, "The content is named by a key that is not here.")
        }
        self.id = id
        self.shelf = shelf
        self.key = key
        byteCount = try ContentList.file(body).byteCount()
        let (file, isNew) = try Self.open(
            shelf.path(ContentShelf.partialName(id)), in: shelf.fileSystem, byteCount: byteCount)
        self.file = file
        self.isNew = isNew
        if case .chunks(let chunks) = body, let key { missing = try Self.gather(chunks, isNew ? nil : file, key) }
        let needed = missing.values.reduce(0) { $0 + $1.offsets.count * $1.count }
        if let free = shelf.fileSystem.availableBytes(at: shelf.root), needed > free - leaving {
            throw FerryError(
                .limitExceeded,
                "A content needs \(needed) more bytes beside the database. \(free) are free there, and \(leaving) have to stay free "
                    + "(`ferry documents DATABASE keep --leave-free`). Make room there.",
                path: shelf.root)
        }
        if case .bytes(let bytes) = body { try file.write(bytes[...], at: 0) }
        // The length is right from the beginning; holes read as zeros.
        if byteCount > 0, try file.byteCount() < byteCount { try file.write([0], at: byteCount - 1) }
    }

    /// Opens the file of an earlier attempt, or begins a new file. A process may have died during completion and left a
    /// read-only file. Such a file is made anew, and so is a file above the content's length.
    private static func open(
        _ path: String, in fileSystem: any FileSystem, byteCount: Int
    ) throws -> (file: any WritableFile, isNew: Bool) {
        do {
            if let file = try fileSystem.continueFile(at: path), try file.byteCount() <= byteCount {
                return (file, false)
            }
        } catch let error as FerryError where error.code == .inputOutput {
            // Where the disk fails, making the file anew fails too, and says so.
        }
        try fileSystem.removeFile(at: path)
        return (try fileSystem.createFile(at: path), true)
    }

    /// Finds the chunks missing in a file.
    private static func gather(
        _ chunks: [ContentList.Chunk], _ file: (any ReadableFile)?, _ key: ContentKey
    ) throws -> [ChunkID: Places] {
        var missing: [ChunkID: Places] = [:]
        var offset = 0
        for chunk in chunks {
            defer { offset += chunk.count }
            if let file {
                let bytes = try file.read(offset..<offset + chunk.count)
                if bytes.count == chunk.count, key.chunkID(of: bytes) == chunk.id { continue }
            }
            let known = missing[chunk.id, default: Places(count: chunk.count)]
            guard known.count == chunk.count else {
                throw ByteReader.malformed("a list gives a chunk two lengths")
            }
            missing[chunk.id, default: known].offsets.append(offset)
        }
        return missing
    }

    // MARK: Chunks

    /// The missing chunks, each once, in no order.
    package var missingChunks: Dictionary<ChunkID, Places>.Keys { missing.keys }

    /// Whether a chunk is not here yet.
    package func needs(_ chunk: ChunkID) -> Bool { missing[chunk] != nil }

    /// Takes a chunk from any source and writes it to every place in the content. A chunk without a place is ignored.
    /// - Throws: `damagedFile` where the bytes are not the chunk's, `inputOutput`.
    package func take(_ bytes: [UInt8], as chunk: ChunkID) throws {
        guard let places = missing[chunk] else { return }
        guard bytes.count == places.count, key?.chunkID(of: bytes) == chunk else {
            throw ByteReader.malformed("a chunk is not what its ID says")
        }
        let isHole = isNew && bytes.allSatisfy { $0 == 0 }
        if !isHole { for offset in places.offsets { try file.write(bytes[...], at: offset) } }
        missing[chunk] = nil
    }

    /// Completes the content: durable and read-only under its final name.
    /// - Returns: the path.
    /// - Throws: `internalInconsistency` while chunks are missing, `inputOutput`: begin the content again.
    package func finish() throws -> String { try Self.finish([self])[0] }

    /// Completes contents of one shelf together, as `finish`. The disk is synchronized once for all contents.
    /// - Returns: where they are, in their order. After a throw some are completed.
    package static func finish(_ contents: [PartialContent]) throws -> [String] {
        guard let shelf = contents.first?.shelf else { return [] }
        for content in contents {
            guard content.missing.isEmpty, try content.file.byteCount() == content.byteCount else {
                throw FerryError(.internalInconsistency, "A content is not whole, and was to be completed.")
            }
        }
        let fileSystem = shelf.fileSystem
        let names = contents.map { ContentShelf.wholeName($0.id) }
        let directories = Set(names.map(ContentShelf.directory)).sorted()
        try shelf.prepare(forWhole: directories)
        try fileSystem.synchronize(contents.map(\.file), [shelf.path("partial")])
        for (content, name) in zip(contents, names) {
            let partial = shelf.path(ContentShelf.partialName(content.id))
            try fileSystem.makeReadOnly(at: partial)
            try fileSystem.rename(partial, to: shelf.path(name))
        }
        try fileSystem.synchronize([], directories.map(shelf.path))
        return names.map(shelf.path)
    }
}
