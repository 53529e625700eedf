import FerryCore

/// The columns of a table with meaning for further rows, by number, ascending.
package struct DependencyColumns {
    /// Columns under a UNIQUE index.
    package let claimed: [Int]
    /// Parent key columns: the primary key's, and columns foreign keys refer to.
    package let offered: [Int]
    /// The columns above, and child key columns.
    package let all: [Int]

    package init(_ table: TrackedTable) {
        var claimed: Set<Int> = []
        for index in table.uniqueIndexes {
            if index.needsEvaluation { claimed.formUnion(table.columns.map(\.id)) }
            claimed.formUnion(index.terms.compactMap(\.column))
        }
        var offered = Set(table.keyColumnIDs)
        for columns in table.offeredKeys { offered.formUnion(columns) }
        self.claimed = claimed.sorted()
        self.offered = offered.sorted()
        all = claimed.union(offered).union(table.foreignKeys.flatMap(\.columns)).sorted()
    }
}
