import FerryCore

/// Compresses the chunks of contents, each by itself (Docs/Format.md, "Packs").
package enum ChunkCompression {
    /// So many bytes are tried first: most of what is incompressible costs no more.
    static let triedBytes = 16 << 10

    /// Compresses a chunk where that is worth reading it twice: its beginning and the whole get at least a sixteenth smaller.
    /// - Parameter bytes: at most `ContentLimits.chunkBytes`.
    /// - Returns: `nil`: store it as it is.
    package static func compress(_ bytes: [UInt8]) throws(FerryError) -> [UInt8]? {
        let beginning = bytes.prefix(triedBytes)
        guard let tried = try Compression.deflated(beginning, capacity: worthwhile(beginning.count)) else { return nil }
        if beginning.count == bytes.count { return tried }
        return try Compression.deflated(bytes[...], capacity: worthwhile(bytes.count))
    }

    private static func worthwhile(_ count: Int) -> Int { count - (count + 15) / 16 }

    /// Decompresses a chunk to exactly `count` bytes. Room is made as the bytes come, so that a false count costs nothing.
    /// - Throws: `damagedFile`.
    package static func decompress(_ stored: ArraySlice<UInt8>, count: Int) throws(FerryError) -> [UInt8] {
        guard count <= ContentLimits.chunkBytes, count <= stored.count * ContentLimits.chunkRatio else {
            throw ByteReader.malformed("a chunk is too long")
        }
        return try Compression.decompress(stored, bodyLength: count)
    }
}
