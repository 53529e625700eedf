import FerryContainer
import FerryContent
import FerryCore
import FerryStore

/// Bytes of a content in files on this device: whole beside the database, and in mirrors. No file is trusted: each chunk is proved by the ID.
///
/// Belongs to a single thread.
final class ContentAtHand {
    private let replica: Replica
    private let row: ContentRow
    private let key: ContentKey
    private var whole: [any ReadableFile]?
    private var mirrored: [any ReadableFile]?

    init(_ replica: Replica, _ row: ContentRow, _ key: ContentKey) {
        self.replica = replica
        self.row = row
        self.key = key
    }

    /// Reads a chunk from beside the database.
    /// - Parameter offset: the chunk's place in the content.
    /// - Returns: `nil` without the chunk's bytes there.
    func wholeChunk(_ chunk: ContentList.Chunk, at offset: Int) throws -> [UInt8]? {
        let files = try whole ?? [replica.shelf.openWhole(row.id, byteCount: row.byteCount)].compactMap { $0 }
        whole = files
        return proved(chunk, at: offset, in: files)
    }

    /// Reads a chunk from a mirror's file.
    func mirroredChunk(_ chunk: ContentList.Chunk, at offset: Int) throws -> [UInt8]? {
        let files =
            try mirrored
            ?? replica.store.mirrorFiles(of: row.id).compactMap {
                // A mirror's file is a person's: where it cannot be opened, the bytes are not at hand.
                try? replica.environment.fileSystem.openFile(at: $0)
            }
        mirrored = files
        return proved(chunk, at: offset, in: files)
    }

    /// Reads a chunk from any file.
    func chunk(_ chunk: ContentList.Chunk, at offset: Int) throws -> [UInt8]? {
        try wholeChunk(chunk, at: offset) ?? mirroredChunk(chunk, at: offset)
    }

    private func proved(_ chunk: ContentList.Chunk, at offset: Int, in files: [any ReadableFile]) -> [UInt8]? {
        for file in files {
            // An unreadable place has no proved bytes.
            guard let bytes = try? file.read(offset..<offset + chunk.count), bytes.count == chunk.count,
                key.chunkID(of: bytes) == chunk.id
            else { continue }
            return bytes
        }
        return nil
    }

    /// True for a whole file beside the database with all the content's bytes.
    func isSound() throws -> Bool {
        guard let file = try replica.shelf.openWhole(row.id, byteCount: row.byteCount) else { return false }
        if case .file(.bytes(let bytes)) = row.list { return try file.read(0..<row.byteCount) == bytes }
        whole = [file]
        var offset = 0
        for chunk in row.list.chunks {
            if try wholeChunk(chunk, at: offset) == nil { return false }
            offset += chunk.count
        }
        return true
    }
}

extension ContentAtHand {
    /// True for a whole file beside the database with the bytes named by the ID. Without the key nobody can tell, and the file counts.
    static func isSound(_ row: ContentRow, in replica: Replica, _ key: () throws -> ContentKey) throws -> Bool {
        do {
            return try ContentAtHand(replica, row, key()).isSound()
        } catch let error as FerryError where [.fileNotThereYet, .keyMissing].contains(error.code) {
            return true
        }
    }
}

extension Replica {
    /// Contents whose files beside the database are damaged, by ID. Every byte is read.
    func damagedContentsBesideDatabase() throws -> [ContentID] {
        let whole = try shelf.wholeContents().map(\.id).sorted()
        let rows = try store.readContents { rows, _ in try whole.compactMap { try rows.soundContent($0) } }
        if rows.isEmpty { return [] }
        let keys = try contentKeys()
        return try rows.filter { row in
            try shelf.path(ofWhole: row.id, byteCount: row.byteCount) != nil
                && !ContentAtHand.isSound(row, in: self) { try keys.key(row.epoch) }
        }.map(\.id)
    }
}
