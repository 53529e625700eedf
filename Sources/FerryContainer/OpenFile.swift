import FerryCore

/// A regular file, open for reading: the same file after any change of the name. Closed after the last reference.
package protocol ReadableFile: Sendable {
    /// The present length in bytes.
    func byteCount() throws -> Int

    /// The present version, as in `FileSystem.version(at:)`. Equal versions before and after a read prove a read
    /// without a write in between.
    func version() throws -> FileVersion

    /// Reads as many bytes as fit and are there.
    /// - Parameter offset: from the file's beginning, at least 0.
    /// - Returns: how many bytes were read; 0 at the end of the file and behind.
    /// - Throws: `inputOutput`.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int
}

extension ReadableFile {
    /// Reads a range of bytes, fewer where the file ends before. The caller bounds the range.
    package func read(_ range: Range<Int>) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
            count = try read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
        }
    }
}

/// A regular file, open for writing and reading, at any place. Closed after the last reference.
///
/// Nothing is durable before `synchronize`. Unwritten places within the file read as zeros, and take no room if the
/// disk supports this.
package protocol WritableFile: ReadableFile {
    /// Writes bytes over the present bytes, or behind the end.
    /// - Throws: `inputOutput`: some of the bytes may be written.
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws

    /// Makes the content durable, but not the name. After an error the file counts as not written.
    func synchronize() throws
}
