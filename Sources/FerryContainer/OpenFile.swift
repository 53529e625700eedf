import FerryCore

/// A regular file that is open for reading: the same file, whatever becomes of its name. Closed when nobody has it any more.
package protocol ReadableFile: Sendable {
    /// The present length in bytes.
    func byteCount() throws -> Int

    /// The present version, as in `FileSystem.version(at:)`: who reads before and after knows whether somebody wrote meanwhile.
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

/// A regular file that is open for writing and reading, at any place. Closed when nobody has it any more.
///
/// Nothing is durable before `synchronize`. What was never written within the file reads as zeros, and takes no room where the disk can do
/// that.
package protocol WritableFile: ReadableFile {
    /// Writes bytes over what is there, or behind the end.
    /// - Throws: `inputOutput`: some of the bytes may be written.
    func write(_ bytes: ArraySlice<UInt8>, at offset: Int) throws

    /// Makes the content durable, but not the name. After an error the file counts as not written.
    func synchronize() throws
}
