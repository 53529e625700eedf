import FerryCore

/// Copies and compares files of any length in little memory.
package enum FileCopy {
    /// What is in memory of each file, in bytes.
    static let pieceBytes = 1 << 20

    /// Writes a new file with another one's bytes, durable but for its name. After an error there is no such file.
    package static func copy(_ source: any ReadableFile, to path: String, in fileSystem: any FileSystem) throws {
        let copy = try fileSystem.createFile(at: path)
        do {
            var offset = 0
            while true {
                let piece = try source.read(offset..<offset + pieceBytes)
                if piece.isEmpty { break }
                try copy.write(piece[...], at: offset)
                offset += piece.count
            }
            try copy.synchronize()
        } catch {
            _ = try? fileSystem.removeFile(at: path)  // the first error tells; the name is temporary
            throw error
        }
    }

    /// Whether two files have the same bytes.
    package static func areEqual(_ left: any ReadableFile, _ right: any ReadableFile) throws -> Bool {
        guard try left.byteCount() == right.byteCount() else { return false }
        var offset = 0
        while true {
            let piece = try left.read(offset..<offset + pieceBytes)
            guard try piece == right.read(offset..<offset + pieceBytes) else { return false }
            if piece.isEmpty { return true }
            offset += piece.count
        }
    }
}
