import CFerryZlib
import FerryCore

/// Compresses and decompresses bodies with zlib (RFC 1950). With `PiecewiseCompression` and another leaf FerryLog's
/// unsafe code. zlib gets pointers into arrays that outlive the call, and never more than the bytes that are there.
enum Compression {
    /// How a body is stored; the codec byte of the header.
    enum Codec: UInt8 {
        case stored = 0
        case zlib = 1
    }

    /// Measured on 100,000 columnar rows: see Docs/Format.md, "What was decided, and why".
    static let level: Int32 = 1

    /// Compresses a body of at most `SegmentLimits.bodyBytes`.
    /// - Parameter unrepeated: the ranges without repetitions of earlier bytes, ascending; may be empty.
    /// - Returns: the compressed bytes, or nil if they would not be shorter.
    static func compress(_ body: [UInt8], unrepeated: [Range<Int>] = []) throws(FerryError) -> [UInt8]? {
        guard body.count > 1 else { return nil }
        if body.count > PiecewiseCompression.pieceBytes {
            guard let stream = PiecewiseCompression.compress(body, unrepeated: unrepeated) else { throw outOfMemory }
            return stream.count < body.count ? stream : nil
        }
        return try deflated(body[...], capacity: body.count - 1)
    }

    /// Compresses bytes at once, as a single piece.
    /// - Returns: `nil` if they do not fit the capacity.
    static func deflated(_ bytes: ArraySlice<UInt8>, capacity: Int) throws(FerryError) -> [UInt8]? {
        guard capacity > 0 else { return nil }
        var stream = z_stream()
        guard deflateInit_(&stream, level, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw outOfMemory
        }
        defer { deflateEnd(&stream) }
        let result = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            bytes.withUnsafeBufferPointer { input in
                // zlib only reads its input; its interface is older than `const`.
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(capacity)
                let status = deflate(&stream, Z_FINISH)
                count = status == Z_STREAM_END ? capacity - Int(stream.avail_out) : 0
            }
        }
        return result.isEmpty ? nil : result
    }

    /// A larger body is examined during decompression, each time that room for more is made.
    static let unexaminedBytes = 16 << 20

    /// Decompresses to exactly `bodyLength` bytes. The caller has compared the length with the limits. Room is made as
    /// the bytes come, so that a false length costs nothing.
    /// - Parameter examine: reads the beginning of a longer body. Any error except "cut off" means that no body begins
    ///   so, and ends the decompression.
    static func decompress(
        _ stored: ArraySlice<UInt8>, bodyLength: Int, examine: ((ArraySlice<UInt8>) throws(FerryError) -> Void)? = nil
    ) throws(FerryError) -> [UInt8] {
        guard stored.count <= SegmentLimits.fileBytes, bodyLength <= SegmentLimits.bodyBytes else {
            throw ByteReader.malformed("its body is too large")
        }
        var stream = z_stream()
        guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw outOfMemory
        }
        defer { inflateEnd(&stream) }
        let first = max(min(stored.count * 8, unexaminedBytes), 4096)
        var body = [UInt8](repeating: 0, count: min(bodyLength, first))
        var produced = 0
        var consumed = 0
        while true {
            let status = stored.withUnsafeBufferPointer { input in
                body.withUnsafeMutableBufferPointer { output in
                    let from = input.baseAddress.map { $0 + consumed }
                    stream.next_in = UnsafeMutablePointer(mutating: from)
                    stream.avail_in = UInt32(input.count - consumed)
                    stream.next_out = output.baseAddress.map { $0 + produced }
                    stream.avail_out = UInt32(output.count - produced)
                    let status = inflate(&stream, Z_NO_FLUSH)
                    consumed = input.count - Int(stream.avail_in)
                    produced = output.count - Int(stream.avail_out)
                    return status
                }
            }
            if status == Z_STREAM_END { break }
            // Another round makes progress only if the output was full and may still grow.
            guard status == Z_OK || status == Z_BUF_ERROR, produced == body.count, body.count < bodyLength else {
                throw ByteReader.malformed("its body cannot be decompressed")
            }
            if let examine, produced >= unexaminedBytes { try check(body[..<produced], examine) }
            let larger = min(bodyLength, body.count * 4)
            body.append(contentsOf: repeatElement(0, count: larger - body.count))
        }
        guard produced == bodyLength, body.count == bodyLength, consumed == stored.count else {
            throw ByteReader.malformed("its body has a wrong length")
        }
        return body
    }

    /// Throws unless the bytes so far are the beginning of more.
    private static func check(
        _ beginning: ArraySlice<UInt8>, _ examine: (ArraySlice<UInt8>) throws(FerryError) -> Void
    ) throws(FerryError) {
        do throws(FerryError) {
            try examine(beginning)
        } catch {
            if ByteReader.isCutOff(error) { return }
            throw error
        }
        throw ByteReader.malformed("its body goes on behind its end")
    }

    /// Decompresses no more than the beginning of a body; nothing is verified.
    static func decompress(_ stored: ArraySlice<UInt8>, first byteCount: Int) throws(FerryError) -> [UInt8] {
        var stream = z_stream()
        guard inflateInit_(&stream, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size)) == Z_OK else {
            throw outOfMemory
        }
        defer { inflateEnd(&stream) }
        return [UInt8](unsafeUninitializedCapacity: byteCount) { output, count in
            stored.withUnsafeBufferPointer { input in
                stream.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
                stream.avail_in = UInt32(clamping: input.count)
                stream.next_out = output.baseAddress
                stream.avail_out = UInt32(byteCount)
                // On failure there are fewer bytes.
                _ = inflate(&stream, Z_NO_FLUSH)
                count = byteCount - Int(stream.avail_out)
            }
        }
    }

    private static var outOfMemory: FerryError {
        FerryError(.inputOutput, "There is not enough memory to compress or decompress a file. Try again.")
    }
}
