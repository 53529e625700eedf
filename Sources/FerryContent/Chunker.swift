import FerryCore

/// Decides where contents are cut into chunks. Source: FastCDC (Xia and others, "FastCDC: a Fast and Efficient
/// Content-Defined Chunking Approach for Data Deduplication", 2016), with normalization 2.
///
/// A cut depends on the 64 bytes before the cut and on the chunk's beginning alone. So after an insertion, cuts soon
/// fall at the same bytes as before. No reader depends on cuts: a later version may cut elsewhere.
///
/// A named leaf with unsafe code: `cut` never reads at or behind the count computed from the buffer's count.
package struct Chunker: Sendable {
    /// The least bytes of a chunk, except for the last chunk of a content. Content up to this length is a single chunk.
    package static let leastBytes = 128 << 10
    /// The place in bytes up to which a cut is less likely, and behind which a cut is more likely.
    package static let normalBytes = 512 << 10
    /// No chunk is longer, in bytes.
    package static let mostBytes = 2 << 20
    /// How many of the highest bits of the rolling hash are zero at a cut, before and behind `normalBytes`.
    private static let earlyBits = 21
    private static let lateBits = 17
    /// The rolling hash shifts a byte out after so many.
    private static let windowBytes = 64

    private let gear: [UInt64]

    package init(_ key: ContentKey) { gear = key.gear }

    /// The length of the first chunk.
    /// - Parameter bytes: at least `mostBytes`, or all the rest of the content. Not empty.
    package func cut(_ bytes: UnsafeRawBufferPointer) -> Int {
        let count = min(bytes.count, Self.mostBytes)
        guard count > Self.leastBytes else { return count }
        let normal = min(count, Self.normalBytes)
        return gear.withUnsafeBufferPointer { gear in
            var hash: UInt64 = 0
            var place = Self.leastBytes - Self.windowBytes
            while place < Self.leastBytes {
                hash = hash << 1 &+ gear[Int(bytes[place])]
                place += 1
            }
            // The hash of the 64 bytes before the least place may cut there already.
            let early = UInt64.max >> UInt64(Self.earlyBits)
            if hash <= early { return place }
            if let found = Self.search(bytes, gear, &hash, place..<normal, early) { return found }
            return Self.search(bytes, gear, &hash, normal..<count, UInt64.max >> UInt64(Self.lateBits)) ?? count
        }
    }

    /// Rolls the hash over a range.
    /// - Parameter limit: the greatest hash for a cut.
    /// - Returns: the place behind the byte of the cut; `nil` without a cut.
    @inline(__always)
    private static func search(
        _ bytes: UnsafeRawBufferPointer, _ gear: UnsafeBufferPointer<UInt64>, _ hash: inout UInt64, _ range: Range<Int>,
        _ limit: UInt64
    ) -> Int? {
        // Within the buffers: the range ends at most at the buffer's end, and a byte is below 256.
        guard let base = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), let table = gear.baseAddress else {
            return nil
        }
        var rolling = hash
        var place = range.lowerBound
        while place < range.upperBound {
            rolling = rolling << 1 &+ table[Int(base[place])]
            place += 1
            if rolling <= limit { return place }
        }
        hash = rolling
        return nil
    }
}
