import FerryMerge

/// Where objects of a region are, by their tokens. A table of places alone: each object has its token already.
struct TokenIndex {
    /// Powers of two, at most half full; -1 where nothing is.
    private var slots: [Int32] = Array(repeating: -1, count: 16)

    func place(of token: RowToken, in objects: [RegionObject]) -> Int? {
        var slot = token.hashValue & (slots.count - 1)
        while slots[slot] >= 0 {
            if objects[Int(slots[slot])].token == token { return Int(slots[slot]) }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Enters the last of the objects, which is not in the table.
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
