/// The distinct contents of a column, if they are few enough to be worth an index each.
///
/// The order is the order of first occurrence; the keyed hash decides nothing that is written.
struct ContentDictionary {
    /// Where each of the distinct contents stands first.
    private(set) var distinct: [Int] = []
    /// For every content of the column, its index among the distinct contents.
    private(set) var indices: [Int64] = []
    /// Open addressing over `distinct`: 0 is free, otherwise the position plus 1.
    private var slots: [Int32] = Array(repeating: 0, count: 512)

    /// The first look at a column: contents with hardly any repetition so far are not worth the search.
    private static let sample = (size: 128, maximumDistinct: 126)
    /// Further looks.
    private static let stretch = 2048

    /// Searches contents; nil where a dictionary does not pay.
    init?(_ contents: [ArraySlice<UInt8>]) {
        indices.reserveCapacity(contents.count)
        for position in contents.indices {
            // A content in the same buffer as the content before is equal without a look.
            if position > 0, Self.isSameBuffer(contents[position - 1], contents[position]), let last = indices.last {
                indices.append(last)
                continue
            }
            let slot = slot(of: contents[position], in: contents)
            if slots[slot] != 0 {
                indices.append(Int64(slots[slot] - 1))
            } else {
                indices.append(Int64(distinct.count))
                distinct.append(position)
                slots[slot] = Int32(distinct.count)
                if distinct.count * 2 > slots.count { grow(contents) }
            }
            let seen = position + 1
            if seen == Self.sample.size, distinct.count > Self.sample.maximumDistinct { return nil }
            if seen % Self.stretch == 0, distinct.count * 4 > seen * 3 { return nil }
        }
        if distinct.count * 2 > contents.count { return nil }
    }

    private static func isSameBuffer(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return left.withUnsafeBytes { left in right.withUnsafeBytes { left.baseAddress == $0.baseAddress } }
    }

    private func slot(of content: ArraySlice<UInt8>, in contents: [ArraySlice<UInt8>]) -> Int {
        let mask = slots.count - 1
        return content.withUnsafeBytes { content in
            var hasher = Hasher()
            hasher.combine(bytes: content)
            var slot = hasher.finalize() & mask
            while slots[slot] != 0 {
                let known = contents[distinct[Int(slots[slot]) - 1]]
                let isSame = known.withUnsafeBytes { known in
                    known.count == content.count
                        && (known.baseAddress == content.baseAddress || known.elementsEqual(content))
                }
                if isSame { break }
                slot = (slot + 1) & mask
            }
            return slot
        }
    }

    private mutating func grow(_ contents: [ArraySlice<UInt8>]) {
        slots = Array(repeating: 0, count: slots.count * 4)
        for (index, position) in distinct.enumerated() {
            slots[slot(of: contents[position], in: contents)] = Int32(index + 1)
        }
    }
}
