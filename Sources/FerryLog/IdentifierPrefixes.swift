import FerryCore

/// The first 12 bytes of an object ID. IDs minted in a flush share the prefix and count up in the last 4 bytes.
struct IdentifierPrefix: Hashable {
    let high: UInt64
    let middle: UInt32

    init(_ object: ObjectID) {
        high = object.high
        middle = UInt32(truncatingIfNeeded: object.low >> 32)
    }

    init(high: UInt64, middle: UInt32) {
        self.high = high
        self.middle = middle
    }

    func object(suffix: UInt32) -> ObjectID { ObjectID(high: high, low: UInt64(middle) << 32 | UInt64(suffix)) }
}

/// The prefixes that occur at least twice in a segment, in the order of their first occurrence. The first pass of the
/// encoder collects them, the second looks them up.
struct IdentifierPrefixes {
    private struct Entry {
        var prefix: IdentifierPrefix
        var occurrences: Int
        /// In `chosen`, or -1.
        var index: Int
    }

    /// The segment's dictionary of prefixes.
    private(set) var chosen: [IdentifierPrefix] = []
    private var entries: [Entry] = []
    /// Open addressing over `entries`: 0 is free, otherwise the position plus 1.
    private var slots: [UInt32] = Array(repeating: 0, count: 64)
    private var lastEntry = -1

    /// Counts an occurrence.
    mutating func note(_ object: ObjectID) {
        let prefix = IdentifierPrefix(object)
        if lastEntry >= 0, entries[lastEntry].prefix == prefix {
            entries[lastEntry].occurrences += 1
            return
        }
        let slot = slot(of: prefix)
        if slots[slot] == 0 {
            entries.append(Entry(prefix: prefix, occurrences: 1, index: -1))
            slots[slot] = UInt32(entries.count)
            lastEntry = entries.count - 1
            if entries.count * 2 > slots.count { grow() }
        } else {
            lastEntry = Int(slots[slot]) - 1
            entries[lastEntry].occurrences += 1
        }
    }

    /// Ends the first pass.
    mutating func choose() {
        for position in entries.indices where entries[position].occurrences >= 2 {
            entries[position].index = chosen.count
            chosen.append(entries[position].prefix)
        }
        lastEntry = -1
    }

    /// The position of a recorded ID's prefix in `chosen`, or -1 for an unknown prefix.
    mutating func index(of prefix: IdentifierPrefix) -> Int {
        if lastEntry >= 0, entries[lastEntry].prefix == prefix { return entries[lastEntry].index }
        let slot = slot(of: prefix)
        guard slots[slot] != 0 else { return -1 }
        lastEntry = Int(slots[slot]) - 1
        return entries[lastEntry].index
    }

    private func slot(of prefix: IdentifierPrefix) -> Int {
        let mask = slots.count - 1
        var slot = Int(truncatingIfNeeded: prefix.hashValue) & mask
        while slots[slot] != 0, entries[Int(slots[slot]) - 1].prefix != prefix { slot = (slot + 1) & mask }
        return slot
    }

    private mutating func grow() {
        slots = Array(repeating: 0, count: slots.count * 4)
        for position in entries.indices { slots[slot(of: entries[position].prefix)] = UInt32(position + 1) }
    }
}
