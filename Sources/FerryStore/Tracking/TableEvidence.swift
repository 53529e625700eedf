import FerryCore
import FerrySQL
import FerrySchema

/// Tells which tables a migration renamed and made anew between two looks: Ferry's triggers went with the former table, and nothing
/// but rows tells which table a new one is.
///
/// Rows are compared with their object checksums. Rows that a migration changed too are no evidence, so most rows must be as before.
/// Where a column is gone or has another type, or all rows have unsent changes, the keys tell. Where a migration changed most rows, the
/// keys tell of the only table that a vanished one can be.
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
                if try verdict(table, candidate, names, admitsKeys: true) == .same {
                    found.append((table.number, candidate.name))
                }
            }
        }
        let byNumber = Dictionary(grouping: found, by: \.number)
        let byName = Dictionary(grouping: found) { foldedName($0.name) }
        return byNumber.compactMapValues { matches in
            guard matches.count == 1, byName[foldedName(matches[0].name)]?.count == 1 else { return nil }
            return matches[0].name
        }
    }

    /// What rows say of a new table and a former table.
    enum Verdict {
        /// Most rows are as before, or most keys where values cannot be compared, or both have the same columns and the former no row.
        case same
        case different
        /// There are no rows to compare.
        case unknown
    }

    /// Compares the rows of a table with a former table's objects.
    /// - Parameters:
    ///   - names: the names until now.
    ///   - admitsKeys: true for a new table under a name that no table had, and a vanished table: then most keys may do where most
    ///     values differ. Keys that devices do not choose tell by themselves. Integer keys tell of a table with the same columns and a
    ///     row as before.
    func verdict(_ gone: Gone, _ new: New, _ names: TableNames, admitsKeys: Bool = false) throws -> Verdict {
        var names = names
        names.set(new.name, for: gone.name)
        let registry = try Registry(connection, SchemaReader(connection: connection).read(names))
        guard let table = registry.tables[gone.number], table.isLocal else { return .unknown }
        let access = try StoreAccess(connection, registry: registry, surroundings)
        let covered = Set(gone.covered)
        let sample = try SampledObjects(access).rows(of: table, covering: covered)
        let former = Set(table.columns.filter { covered.contains($0.id) }.map { foldedName($0.name) })
        // A column that is gone, or has another type, leaves the checksum without an answer.
        let types = try UnseenTables(connection).types(of: gone.number)
        let isComparable =
            former.isSubset(of: new.columns)
            && table.columns.allSatisfy { !covered.contains($0.id) || types["\($0.id)"] ?? $0.affinity == $0.affinity }
        // A mapped key is no column that travels.
        let hasSameColumns = new.columns == (table.isMapped ? former.union(table.keyColumns.map(foldedName)) : former)
        if isComparable, !sample.isEmpty {
            let hashes = ObjectChecksums(table, covering: covered)
            let translator = ReferenceTranslator(access)
            let same = try sample.count { id, state in
                guard let own = try access.reader(of: table.id).read(state.key) else { return false }
                let portable = try translator.values(own, table)
                return hashes.check(id, state.registers, { portable[$0] }) == state.check
            }
            if same * 2 > sample.count { return .same }
            if !admitsKeys || table.isMapped && (same == 0 || !hasSameColumns) { return .different }
        }
        let keys = try SampledObjects(access).keys(of: table)
        if keys.isEmpty {
            return try hasSameColumns && !hasRows(table.objectTable, "state IS NOT NULL")
                && (admitsKeys || !hasRows(table.quotedName)) ? .same : .unknown
        }
        let present = try keys.count { try access.reader(of: table.id).read($0) != nil }
        if present * 2 <= keys.count { return .different }
        // A key that devices do not choose tells enough. Small integers are in every table, so both must be of much the same size.
        if !table.isMapped { return .same }
        let rows = try connection.count("SELECT count(*) FROM \(table.quotedName)")
        let objects = try connection.count(
            "SELECT count(*) FROM \(table.objectTable) WHERE \(Visibility.way) = \(Visibility.row.rawValue)")
        return rows <= objects * 2 ? .same : .different
    }

    /// How old a row is before its table counts as no table of a migration under way, in milliseconds.
    private static let migrationMilliseconds: Int64 = 600_000

    /// True if a table has long been a table of its own: the table was there before Ferry's own tables, which come with the container, or a
    /// row is older than any migration under way.
    func isEstablished(_ number: Int) throws -> Bool {
        let own = try RegisteredTables(connection).all().filter { isFerryName($0.name) }.map(\.number).min()
        if let own, number < own { return true }
        let latest = surroundings.clock.milliseconds() - Self.migrationMilliseconds
        let devices = try DeviceNumbers(connection)
        let states = try connection.rows(
            "SELECT state FROM \(OwnNames.objects)\(number) WHERE state IS NOT NULL LIMIT \(SampledObjects.maximumRows)"
        )
        return try states.contains { row in
            guard case .blob(let bytes) = row[0] else { return false }
            let inserted = try StateCodec.decodeInsertion(Array(bytes), device: { try devices.device($0) })
            return inserted.map { !$0.time.isKnown || $0.time.milliseconds < latest } ?? false
        }
    }

    private func hasRows(_ table: String, _ condition: String = "1") throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM \(table) WHERE \(condition))") != 0
    }
}
