import FerryCore
import FerrySQL
import FerrySchema

/// Tells which tables a migration renamed and made anew between two looks: Ferry's triggers went with the former table, and nothing
/// but rows tells which table a new one is.
///
/// Rows are compared with their object checksums. Rows that a migration changed too are no evidence, so most rows must be as before.
struct TableEvidence {
    private let connection: SQLConnection
    private let surroundings: StoreAccess.Surroundings

    init(_ connection: SQLConnection, _ surroundings: StoreAccess.Surroundings) {
        self.connection = connection
        self.surroundings = surroundings
    }

    /// A table that this database had until now, under no name here any more.
    struct Gone {
        var number: Int
        /// The name under which the table travels.
        var name: String
        /// The columns in lower case.
        var columns: Set<String>
        /// The numbers of the columns that the table had here at the last look.
        var covered: [Int]
    }

    /// A table without Ferry's triggers under a name that no table had.
    struct New {
        var name: String
        var columns: Set<String>
    }

    /// The present names of tables, by number. A table that may be two tables is none.
    /// - Parameter names: the names until now.
    func successors(of gone: [Gone], among new: [New], _ names: TableNames) throws -> [Int: String] {
        if gone.isEmpty || new.isEmpty { return [:] }
        var found: [(number: Int, name: String)] = []
        for table in gone {
            for candidate in new where TableNaming.areAlike(table.columns, candidate.columns) {
                if try isContinued(table, candidate, names) { found.append((table.number, candidate.name)) }
            }
        }
        let byNumber = Dictionary(grouping: found, by: \.number)
        let byName = Dictionary(grouping: found) { foldedName($0.name) }
        return byNumber.compactMapValues { matches in
            guard matches.count == 1, byName[foldedName(matches[0].name)]?.count == 1 else { return nil }
            return matches[0].name
        }
    }

    /// True if most rows of a new table are rows of a former table, or both have the same columns and no row.
    private func isContinued(_ gone: Gone, _ new: New, _ names: TableNames) throws -> Bool {
        var names = names
        names.set(new.name, for: gone.name)
        let registry = try Registry(connection, SchemaReader(connection: connection).read(names))
        guard let table = registry.tables[gone.number], table.isLocal else { return false }
        let access = try StoreAccess(connection, registry: registry, surroundings)
        let covered = Set(gone.covered)
        let sample = try SampledObjects(access).rows(of: table, covering: covered)
        let former = Set(table.columns.filter { covered.contains($0.id) }.map { foldedName($0.name) })
        if sample.isEmpty {
            // A mapped key is no column that travels.
            let columns = table.isMapped ? former.union(table.keyColumns.map(foldedName)) : former
            return try columns == new.columns && !hasRows(table.objectTable, "state IS NOT NULL")
                && !hasRows(table.quotedName)
        }
        let hashes = ObjectChecksums(table, covering: covered)
        let translator = ReferenceTranslator(access)
        // A column that is gone leaves the checksum without an answer. A key that devices do not choose tells enough then.
        let isKeyEnough = !table.isMapped && !former.isSubset(of: new.columns)
        var same = 0
        for (id, state) in sample {
            guard let own = try access.reader(of: table.id).read(state.key) else { continue }
            let portable = try translator.values(own, table)
            if isKeyEnough || hashes.check(id, state.registers, { portable[$0] }) == state.check { same += 1 }
        }
        return same * 2 > sample.count
    }

    private func hasRows(_ table: String, _ condition: String = "1") throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM \(table) WHERE \(condition))") != 0
    }
}
