import FerryMerge

/// Finds a region's objects by token. Stores only positions: each object has its token already.
///
/// Invariant: each object of the region has exactly a single used slot.
struct TokenIndex {
    /// Positions; -1 in a free slot. The number of slots is a power of two; at most half are used.
    private var slots: [Int32] = Array(repeating: -1, count: 16)

    func place(of token: RowToken, in objects: [RegionObject]) -> Int? {
        var slot = token.hashValue & (slots.count - 1)
        while slots[slot] >= 0 {
            if objects[Int(slots[slot])].token == token { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Inserts the last of the objects, not yet in the index.
    mutating func insert(_ place: Int, in objects: [RegionObject]) {
        if 2 * objects.count > slots.count {
            slots = Array(repeating: -1, count: 2 * slots.count)
            for place in objects.indices.dropLast() { enter(place, objects[place].token) }
        }
        enter(place, objects[place].token)
    }

    private mutating func enter(_ place: Int, _ token: RowToken) {
        var slot = token.hashValue & (slots.count - 1)
        while slots[slot] >= 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = Int32(place)
    }
}
