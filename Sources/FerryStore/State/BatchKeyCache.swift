import FerryCore

/// The integer keys of the rows written by `BulkRowInserter` in a batch, so references to them need no lookup.
///
/// Lives while the tables of a batch are merged, parents first. During that time no new row gets a different key. An
/// unrecorded object may still have a row.
final class BatchKeyCache {
    private var tables: [Int: Table] = [:]

    /// The keys of a table.
    func table(_ number: Int) -> Table {
        if let known = tables[number] { return known }
        let made = Table()
        tables[number] = made
        return made
    }

    final class Table {
        /// Bounds memory: 24 bytes for each key.
        private static let maximumCount = 250_000

        /// Objects in ascending order, with their keys.
        @exclusivity(unchecked) private var objects: [ObjectID] = []
        @exclusivity(unchecked) private var keys: [Int64] = []

        /// Records the row of an object after all recorded objects in ID order; ignores any further object.
        func note(_ object: ObjectID, key: Int64) {
            if let last = objects.last, last >= object || objects.count >= Self.maximumCount { return }
            objects.append(object)
            keys.append(key)
        }

        /// - Returns: `nil` if no row was recorded.
        func key(of object: ObjectID) -> Int64? {
            var (lower, upper) = (0, objects.count)
            while lower < upper {
                let middle = (lower + upper) / 2
                if objects[middle] < object { lower = middle + 1 } else { upper = middle }
            }
            return lower < objects.count && objects[lower] == object ? keys[lower] : nil
        }
    }
}
