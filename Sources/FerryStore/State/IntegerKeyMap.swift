/// Places by integer key, for the time of one flush: open addressing with linear probing, at most half full, nothing is
/// ever removed.
///
/// A dictionary spends most of its time on a hash that withstands chosen keys. The keys here are the local rows' own.
struct IntegerKeyMap {
    /// The keys, and for each the place + 1; 0 where the slot is free.
    private var keys: [Int64] = []
    private var places: [UInt32] = []
    private(set) var count = 0

    /// The most places that it can tell apart.
    static let limit = Int(UInt32.max) - 1

    /// The place of a key; `nil` where it has none.
    func place(of key: Int64) -> Int? {
        if keys.isEmpty { return nil }
        let place = places[slot(of: key)]
        return place == 0 ? nil : Int(place) - 1
    }

    /// Gives a key a place.
    /// - Returns: whether it had none yet; otherwise nothing changes.
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

    /// The slot that holds a key or, where none does, would hold it.
    private func slot(of key: Int64) -> Int {
        let mask = keys.count - 1
        // Fibonacci hashing: consecutive keys lie far apart, and the best bits are the upper ones.
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
