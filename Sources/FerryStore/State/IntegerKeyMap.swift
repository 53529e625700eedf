/// Maps integer keys to positions, for the time of a flush: open addressing with linear probing, without removals.
///
/// A dictionary spends most of its time on a hash resistant to chosen keys. The keys here are the local rows' own.
///
/// Invariants:
/// - At most half of the slots are in use.
/// - A used slot holds a key and its position + 1; a free slot has position 0.
struct IntegerKeyMap {
    /// The keys, and for each key the position + 1; 0 for a free slot.
    private var keys: [Int64] = []
    private var places: [UInt32] = []
    private(set) var count = 0

    /// The maximum number of positions.
    static let limit = Int(UInt32.max) - 1

    /// The position of a key; `nil` if the key has none.
    func place(of key: Int64) -> Int? {
        if keys.isEmpty { return nil }
        let place = places[slot(of: key)]
        return place == 0 ? nil : Int(place) - 1
    }

    /// Assigns a position to a key.
    /// - Returns: true if the key had no position; otherwise nothing changes.
    mutating func insert(_ key: Int64, at place: Int) -> Bool {
        precondition(place < Self.limit, "the places of a flush fit into 32 bits")
        if 2 * count >= keys.count { grow() }
        let slot = slot(of: key)
        guard places[slot] == 0 else { return false }
        keys[slot] = key
        places[slot] = UInt32(place + 1)
        count += 1
        return true
    }

    /// The key's slot, or the free slot for a new key.
    private func slot(of key: Int64) -> Int {
        let mask = keys.count - 1
        // Fibonacci hashing spreads consecutive keys far apart. The upper bits are the best bits.
        let hash = UInt64(bitPattern: key) &* 0x9e37_79b9_7f4a_7c15
        var slot = Int(truncatingIfNeeded: hash >> 32) & mask
        while places[slot] != 0, keys[slot] != key { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        let (formerKeys, formerPlaces) = (keys, places)
        let size = max(64, 2 * keys.count)
        keys = Array(repeating: 0, count: size)
        places = Array(repeating: 0, count: size)
        for (key, place) in zip(formerKeys, formerPlaces) where place != 0 {
            let slot = slot(of: key)
            keys[slot] = key
            places[slot] = place
        }
    }
}
