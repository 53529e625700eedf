import FerryContainer
import FerryCore

/// Reads a file once, from its beginning to its end, and hands out its chunks: in memory of twice the longest chunk.
package struct ChunkStream {
    private let file: any ReadableFile
    private let chunker: Chunker
    /// Bytes that were read, from `start` on not handed out yet.
    private var buffer: [UInt8]
    private var start = 0
    private var end = 0
    /// The place in the file behind the buffer.
    private var position = 0
    private var isAtEnd = false
    /// A longer file is not read on.
    private let maximumBytes: Int

    /// The longest buffer: what a cut needs, twice.
    private static let bufferBytes = 2 * Chunker.mostBytes

    /// - Parameters:
    ///   - expectedBytes: how long the file is likely to be, so that a short file takes little memory.
    ///   - maximumBytes: the longest content that is taken.
    package init(
        _ file: any ReadableFile, _ chunker: Chunker, expectedBytes: Int = ContentLimits.contentBytes,
        maximumBytes: Int = ContentLimits.contentBytes
    ) {
        self.file = file
        self.chunker = chunker
        self.maximumBytes = maximumBytes
        // One byte more tells that the file ends where it was expected to.
        buffer = [UInt8](repeating: 0, count: min(max(expectedBytes, 0), Self.bufferBytes - 1) + 1)
    }

    /// How many bytes were read so far.
    package var bytesRead: Int { position }

    /// The next chunk; `nil` at the end. Whoever wants one state of the file compares its version before and after.
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
