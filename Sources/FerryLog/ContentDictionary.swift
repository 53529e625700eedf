/// The distinct contents of a column, where there are few enough of them to be worth an index each.
///
/// The order is that of first occurrence; the keyed hash decides nothing that is written.
struct ContentDictionary {
    /// The lengths of the distinct contents, and where each of them stands first.
    private(set) var lengths: [Int64] = []
    private(set) var ranges: [Range<Int>] = []
    /// For every content of the column, its index among the distinct ones.
    private(set) var indices: [Int64] = []
    /// Open addressing over `ranges`: 0 is free, otherwise the position plus 1.
    private var slots: [Int32] = Array(repeating: 0, count: 512)

    /// The first look at a column: contents that hardly repeat so far are not worth the search.
    private static let sample = (size: 128, maximumDistinct: 126)
    /// Further looks.
    private static let stretch = 2048

    /// Searches contents that lie one after another, of the given lengths; nil where a dictionary does not pay.
    init?(lengths all: [Int64], contents: [UInt8]) {
        indices.reserveCapacity(all.count)
        var start = 0
        for (position, length) in all.enumerated() {
            let range = start..<start + Int(length)
            start = range.upperBound
            let slot = slot(of: range, in: contents)
            if slots[slot] != 0 {
                indices.append(Int64(slots[slot] - 1))
            } else {
                indices.append(Int64(ranges.count))
                ranges.append(range)
                lengths.append(length)
                slots[slot] = Int32(ranges.count)
                if ranges.count * 2 > slots.count { grow(contents) }
            }
            let seen = position + 1
            if seen == Self.sample.size, ranges.count > Self.sample.maximumDistinct { return nil }
            if seen % Self.stretch == 0, ranges.count * 4 > seen * 3 { return nil }
        }
        if ranges.count * 2 > all.count { return nil }
    }

    private func slot(of range: Range<Int>, in contents: [UInt8]) -> Int {
        let mask = slots.count - 1
        return contents.withUnsafeBytes { bytes in
            let content = UnsafeRawBufferPointer(rebasing: bytes[range])
            var hasher = Hasher()
            hasher.combine(bytes: content)
            var slot = hasher.finalize() & mask
            while slots[slot] != 0 {
                let known = UnsafeRawBufferPointer(rebasing: bytes[ranges[Int(slots[slot]) - 1]])
                if known.count == content.count, known.elementsEqual(content) { break }
                slot = (slot + 1) & mask
            }
            return slot
        }
    }

    private mutating func grow(_ contents: [UInt8]) {
        slots = Array(repeating: 0, count: slots.count * 4)
        for (index, range) in ranges.enumerated() { slots[slot(of: range, in: contents)] = Int32(index + 1) }
    }
}
