import FerryContainer
import FerryCore

/// Reads a file once, from beginning to end, and hands out the chunks, in memory of twice the longest chunk.
package struct ChunkStream {
    private let file: any ReadableFile
    private let chunker: Chunker
    /// Bytes of the file; from `start` on not handed out yet.
    private var buffer: [UInt8]
    private var start = 0
    private var end = 0
    /// The place in the file behind the buffer.
    private var position = 0
    private var isAtEnd = false
    /// A longer file is not read on.
    private let maximumBytes: Int

    /// The longest buffer: twice the bytes for a cut.
    private static let bufferBytes = 2 * Chunker.mostBytes

    /// - Parameters:
    ///   - expectedBytes: the likely length of the file, so a short file takes little memory.
    ///   - maximumBytes: the longest accepted content.
    package init(
        _ file: any ReadableFile, _ chunker: Chunker, expectedBytes: Int = ContentLimits.contentBytes,
        maximumBytes: Int = ContentLimits.contentBytes
    ) {
        self.file = file
        self.chunker = chunker
        self.maximumBytes = maximumBytes
        // The additional byte tells whether the file ends at the expected length.
        buffer = [UInt8](repeating: 0, count: min(max(expectedBytes, 0), Self.bufferBytes - 1) + 1)
    }

    /// How many bytes were read so far.
    package var bytesRead: Int { position }

    /// The next chunk; `nil` at the end. To get a single state of the file, compare the file's version before and
    /// after.
    /// - Throws: `limitExceeded` for a longer file, `inputOutput`.
    package mutating func next() throws -> [UInt8]? {
        if end - start < Chunker.mostBytes, !isAtEnd { try fill() }
        guard start < end else { return nil }
        let count = buffer.withUnsafeBytes { chunker.cut(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        defer { start += count }
        return Array(buffer[start..<start + count])
    }

    private mutating func fill() throws {
        if start > 0 {
            let (from, count) = (start, end - start)
            buffer.withUnsafeMutableBytes { bytes in
                let (rest, head) = (bytes[from..<from + count], bytes[0..<count])
                UnsafeMutableRawBufferPointer(rebasing: head).copyMemory(from: UnsafeRawBufferPointer(rebasing: rest))
            }
            (start, end) = (0, count)
        }
        while end < Self.bufferBytes {
            if end == buffer.count { buffer += repeatElement(0, count: Self.bufferBytes - buffer.count) }
            let (file, end, position) = (self.file, self.end, self.position)
            let got = try buffer.withUnsafeMutableBytes { bytes in
                try file.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[end...]), at: position)
            }
            if got == 0 {
                isAtEnd = true
                return
            }
            self.end += got
            self.position += got
            guard self.position <= maximumBytes else {
                throw FerryError(
                    .limitExceeded, "The file is longer than \(maximumBytes) bytes. Ferry does not keep it.")
            }
        }
    }
}
