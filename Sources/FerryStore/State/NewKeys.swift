import FerryCore

/// The integer keys of the rows that `NewRows` wrote in a batch, so that what refers to them need not look them up.
///
/// It lasts as long as the tables of a batch are merged, parents first: till then nobody gives a row that is new another
/// key. What is not noted here may well have a row.
final class NewKeys {
    private var tables: [Int: Table] = [:]

    /// Those of one table.
    func table(_ number: Int) -> Table {
        if let known = tables[number] { return known }
        let made = Table()
        tables[number] = made
        return made
    }

    final class Table {
        /// Bounds the memory, 24 bytes for each.
        private static let maximumCount = 250_000

        /// In their order.
        @exclusivity(unchecked) private var objects: [ObjectID] = []
        @exclusivity(unchecked) private var keys: [Int64] = []

        /// Notes the row of an object that comes behind all that were noted; others are passed over.
        func note(_ object: ObjectID, key: Int64) {
            if let last = objects.last, last >= object || objects.count >= Self.maximumCount { return }
            objects.append(object)
            keys.append(key)
        }

        /// - Returns: `nil` where no row was noted.
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
