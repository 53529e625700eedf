/// The columns of a table whose values mean something to other rows, by number, ascending.
struct SensitiveColumns {
    /// Under a UNIQUE index.
    let claimed: [Int]
    /// That rows are found by: of the key, and those that foreign keys refer to.
    let offered: [Int]
    /// These, and the ones under a foreign key.
    let all: [Int]

    init(_ table: TrackedTable) {
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
