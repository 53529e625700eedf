import CFerryZlib
import Dispatch
import FerryCore

/// Compresses a large body as a single zlib stream whose pieces are made side by side, each with a suitable strategy.
/// As in `Compression`, zlib gets pointers into an array that outlives the call.
///
/// Every piece but the last ends on a byte (`Z_SYNC_FLUSH`), so that the pieces can be put together. Each piece knows
/// the 32 KiB before, so that hardly anything is lost at its beginning. The result depends on the body alone.
enum PiecewiseCompression {
    static let pieceBytes = 256 << 10
    private static let windowBytes = 32 << 10
    /// RFC 1950: deflate with a window of 32 KiB, the quickest level.
    private static let header: [UInt8] = [0x78, 0x01]

    /// A range that is compressed separately.
    private struct Extent {
        var range: Range<Int>
        /// True if a search for repetitions is worthwhile. In random bytes, which get a code of single bytes only, a
        /// search would take two thirds of the time and find nothing.
        var isSearched: Bool
    }

    private struct Piece: Sendable {
        var bytes: [UInt8]
        var sum: UInt
    }

    /// - Parameter unrepeated: the ranges without repetitions of earlier bytes, ascending.
    /// - Returns: the stream; `nil` without enough memory.
    static func compress(_ body: [UInt8], unrepeated: [Range<Int>]) -> [UInt8]? {
        let extents = extents(of: body.count, unrepeated)
        var pieces = [Piece?](repeating: nil, count: extents.count)
        body.withUnsafeBufferPointer { body in
            pieces.withUnsafeMutableBufferPointer { pieces in
                // Both outlive the work on any piece. The body is only read, and each thread writes to places of its
                // own in `pieces`.
                nonisolated(unsafe) let (body, pieces) = (body, pieces)
                DispatchQueue.concurrentPerform(iterations: extents.count) { index in
                    pieces[index] = compress(extents[index], of: body)
                }
            }
        }
        var stream = header
        var sum = adler32(0, nil, 0)
        for (extent, piece) in zip(extents, pieces) {
            guard let piece else { return nil }
            stream += piece.bytes
            sum = adler32_combine(sum, piece.sum, extent.range.count)
        }
        for shift in [24, 16, 8, 0] { stream.append(UInt8(truncatingIfNeeded: sum >> UInt(shift))) }
        return stream
    }

    private static func extents(of count: Int, _ unrepeated: [Range<Int>]) -> [Extent] {
        var extents: [Extent] = []
        var start = 0
        func cut(to end: Int, isSearched: Bool) {
            while start < end {
                let next = min(start + pieceBytes, end)
                extents.append(Extent(range: start..<next, isSearched: isSearched))
                start = next
            }
        }
        for range in unrepeated {
            cut(to: range.lowerBound, isSearched: true)
            cut(to: range.upperBound, isSearched: false)
        }
        cut(to: count, isSearched: true)
        return extents
    }

    private static func compress(_ extent: Extent, of body: UnsafeBufferPointer<UInt8>) -> Piece? {
        let range = extent.range
        let input = UnsafeBufferPointer(rebasing: body[range])
        let window = UnsafeBufferPointer(rebasing: body[max(0, range.lowerBound - windowBytes)..<range.lowerBound])
        let strategy = extent.isSearched ? Z_DEFAULT_STRATEGY : Z_HUFFMAN_ONLY
        let flush = range.upperBound == body.count ? Z_FINISH : Z_SYNC_FLUSH
        guard let bytes = deflated(input, after: window, strategy, flush: flush) else { return nil }
        return Piece(bytes: bytes, sum: adler32(adler32(0, nil, 0), input.baseAddress, UInt32(input.count)))
    }

    /// Raw deflate (RFC 1951).
    private static func deflated(
        _ input: UnsafeBufferPointer<UInt8>, after window: UnsafeBufferPointer<UInt8>, _ strategy: Int32, flush: Int32
    ) -> [UInt8]? {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        guard
            deflateInit2_(&stream, Compression.level, Z_DEFLATED, -MAX_WBITS, 8, strategy, ZLIB_VERSION, size) == Z_OK
        else { return nil }
        defer { deflateEnd(&stream) }
        if strategy != Z_HUFFMAN_ONLY, !window.isEmpty,
            deflateSetDictionary(&stream, window.baseAddress, UInt32(window.count)) != Z_OK
        {
            return nil
        }
        // The bound holds for a finished stream; a flush adds an empty block.
        let capacity = Int(deflateBound(&stream, UInt(input.count))) + 16
        var isDone = false
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            // zlib only reads its input; its interface is older than `const`.
            stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(capacity)
            let status = deflate(&stream, flush)
            isDone = status == (flush == Z_FINISH ? Z_STREAM_END : Z_OK) && stream.avail_in == 0 && stream.avail_out > 0
            count = isDone ? capacity - Int(stream.avail_out) : 0
        }
        return isDone ? result : nil
    }
}
