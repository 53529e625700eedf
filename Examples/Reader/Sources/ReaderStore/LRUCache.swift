/// Keeps the values that were used last, up to a fixed number.
///
/// A dictionary of places in an array, and through the array a list from the value that was used last to the one that goes
/// next. Nothing is allocated once it is full. Looking up, storing and removing take constant time.
struct LRUCache<Key: Hashable, Value> {
    private struct Entry {
        var key: Key
        var value: Value
        var newer: Int?
        var older: Int?
    }

    let capacity: Int
    private var places: [Key: Int] = [:]
    private var entries: [Entry] = []
    private var newest: Int?
    private var oldest: Int?

    /// - Parameter capacity: at least 1.
    init(capacity: Int) {
        precondition(capacity > 0, "a cache needs room for one value")
        self.capacity = capacity
        places.reserveCapacity(capacity)
        entries.reserveCapacity(capacity)
    }

    var count: Int { entries.count }

    /// The keys, the one that was used last first.
    var keys: [Key] {
        var keys: [Key] = []
        var place = newest
        while let index = place {
            keys.append(entries[index].key)
            place = entries[index].older
        }
        return keys
    }

    /// The value of a key, which is the newest then.
    mutating func value(forKey key: Key) -> Value? {
        guard let place = places[key] else { return nil }
        if place != newest {
            unlink(place)
            linkAsNewest(place)
        }
        return entries[place].value
    }

    /// Stores a value as the newest. Where the cache is full the oldest one goes.
    mutating func store(_ value: Value, forKey key: Key) {
        if let place = places[key] {
            entries[place].value = value
            unlink(place)
            linkAsNewest(place)
        } else if entries.count < capacity {
            entries.append(Entry(key: key, value: value))
            places[key] = entries.count - 1
            linkAsNewest(entries.count - 1)
        } else if let place = oldest {
            places[entries[place].key] = nil
            unlink(place)
            entries[place] = Entry(key: key, value: value)
            places[key] = place
            linkAsNewest(place)
        }
    }

    mutating func removeAll() {
        places.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        newest = nil
        oldest = nil
    }

    private mutating func unlink(_ place: Int) {
        let entry = entries[place]
        if let newer = entry.newer { entries[newer].older = entry.older } else { newest = entry.older }
        if let older = entry.older { entries[older].newer = entry.newer } else { oldest = entry.newer }
        entries[place].newer = nil
        entries[place].older = nil
    }

    private mutating func linkAsNewest(_ place: Int) {
        entries[place].older = newest
        if let newest { entries[newest].newer = place } else { oldest = place }
        newest = place
    }
}
