import FerryCore
import FerrySQL
import FerrySchema

/// Finds the columns that got another name (`ALTER TABLE … RENAME COLUMN`): SQLite rewrites the names in triggers.
///
/// `ColumnNaming` decides which column is which.
struct RenamedColumns {
    /// The present names of columns by their former names in lower case, of each table by its number.
    typealias Names = [Int: [String: String]]

    /// What became of the names.
    struct Outcome {
        var isChanged = false
        /// True if columns are to follow another device later: changes wait to be packed.
        var isPostponed = false
        /// The columns that travel under another name from now on.
        var moved: [SchemaNews.Moved] = []
    }

    private let connection: SQLConnection
    private let surroundings: StoreAccess.Surroundings
    private var meta: MetaTable { MetaTable(connection: connection) }

    init(_ connection: SQLConnection, _ surroundings: StoreAccess.Surroundings) {
        self.connection = connection
        self.surroundings = surroundings
    }

    /// Records the present names.
    /// - Parameters:
    ///   - triggers: the triggers as ALTER TABLE left them.
    ///   - covered: the columns of each table at the last look, by the table's number.
    ///   - known: the names of columns of tables whose triggers were away.
    func update(
        _ schema: Schema, _ triggers: PresentTriggers, covered: [Int: [Int]], _ known: Names
    ) throws -> Outcome {
        let before = try ColumnNameList.load(connection)
        let generations = try Generations.load(meta)
        var names = before
        var outcome = Outcome()
        var evidence: ColumnEvidence?
        for table in schema.tables where table.kind == .table {
            guard let shown = try TableGeneration.shown(table.name, generations, connection) else {
                if names[table.name].told.isEmpty { continue }
                names[table.name] =
                    ColumnNaming(
                        present(table, [:], keys: [], besides: keys(table)), wereHere: nil, reserved: keys(table),
                        order: order(table),
                        names[table.name]
                    ).decided().names
                continue
            }
            let look = try look(table, shown, covered[shown.number] ?? [], before[table.name])
            var signs = signs(look, table.localName, triggers) ?? known[shown.number].map(look.signs)
            if signs == nil, look.hasOtherColumns(than: table) {
                let known = try evidence ?? ColumnEvidence(connection, Registry(connection, schema), surroundings)
                evidence = known
                signs = try known.signs(table, shown.number, covered: look.covered)
            }
            // Key columns travel under their own names, also those of a key that is about to leave.
            let reserved = keys(table).union(leavingKeys(shown.number, generations))
            func decided(_ names: ColumnNames) -> (names: ColumnNames, moves: [ColumnNaming.Move]) {
                ColumnNaming(
                    present(table, signs ?? [:], keys: look.key, besides: reserved),
                    wereHere: signs != nil ? [] : look.covered.isEmpty ? nil : look.names,
                    reserved: reserved, order: order(table), names
                ).decided()
            }
            var found = decided(before[table.name])
            if !found.moves.isEmpty {
                // Values move where nothing waits to be packed, and after the names of this database are settled.
                var alone = before[table.name]
                alone.told = []
                alone = decided(alone).names
                alone.told = before[table.name].told
                if alone == before[table.name], try PendingTable(connection).counts()[shown.number] == nil {
                    outcome.moved.append(try keepValues(of: found.moves, shown.number, schema))
                } else {
                    found.names = alone
                    outcome.isPostponed = true
                }
            }
            names[table.name] = found.names
        }
        outcome.isChanged = names != before
        if outcome.isChanged { try names.save(meta) }
        return outcome
    }

    /// Keeps the values of columns that are about to travel under another name.
    private func keepValues(
        of moves: [ColumnNaming.Move], _ number: Int, _ schema: Schema
    ) throws -> SchemaNews.Moved {
        for move in moves { try RegisteredTables(connection).enterColumn(move.to, in: number) }
        let registry = try Registry(connection, schema)
        let columns = registry[number].columns
        let pairs = moves.compactMap { move -> SchemaNews.Pair? in
            guard let from = columns.first(where: { equalNames($0.baseName, move.from) && $0.isLocal })?.id,
                let to = columns.first(where: { equalNames($0.travellingName, move.to) })?.id
            else { return nil }
            return .init(from: from, to: to)
        }
        let moved = SchemaNews.Moved(table: number, pairs: pairs)
        let access = try StoreAccess(connection, registry: registry, surroundings)
        try MovedValues(access, moved).keep()
        try access.digests.save(connection)
        return moved
    }

    /// The columns outside of the key, with the travelling names that signs tell.
    private func present(
        _ table: SchemaTable, _ signs: [String: String], keys: Set<String>, besides reserved: Set<String>
    ) -> [ColumnNaming.Present] {
        return table.columns.filter { !$0.isGenerated && !reserved.contains(foldedName($0.name)) }.map { column in
            let former = signs[foldedName(column.name)].flatMap { keys.contains(foldedName($0)) ? nil : $0 }
            return .init(column.name, former: former)
        }
    }

    private func order(_ table: SchemaTable) -> [String] { table.columns.map { foldedName($0.name) } }

    private func keys(_ table: SchemaTable) -> Set<String> { Set(table.primaryKey.map(foldedName)) }

    private func leavingKeys(_ number: Int, _ generations: Generations) -> Set<String> {
        Set((generations.leaving["\(number)"] ?? []).map(foldedName))
    }

    /// A table at the last look.
    private struct Look {
        var number: Int
        /// The travelling names of all columns that the table ever had.
        var registered: [String]
        /// The numbers of the columns at the last look.
        var covered: [Int]
        /// The columns from which object IDs are derived, in lower case.
        var key: Set<String>
        /// The names until now.
        var before: ColumnNames

        /// The travelling name of a column, whatever its values mean (`ColumnMeaning`).
        func travelling(_ column: Int) -> String {
            ColumnMeaning.base(of: registered[column]) ?? registered[column]
        }

        /// The name of a column in the database.
        func local(_ column: Int) -> String {
            let name = travelling(column)
            return before.travelling.first { equalNames($0.value, name) }?.key ?? foldedName(name)
        }

        /// The names of the columns outside of the key, in lower case.
        var names: Set<String> {
            Set(covered.filter { !key.contains(foldedName(registered[$0])) }.map(local))
        }

        /// Without triggers, a column has the name that it had, or the name that was noted.
        func signs(_ renamed: [String: String]) -> [String: String] {
            Dictionary(covered.map { (foldedName(renamed[local($0)] ?? local($0)), travelling($0)) }) { first, _ in
                first
            }
        }

        func hasOtherColumns(than table: SchemaTable) -> Bool {
            let key = Set(table.primaryKey.map(foldedName))
            let present = Set(table.columns.filter { !$0.isGenerated }.map { foldedName($0.name) })
            return !covered.isEmpty && present.subtracting(key) != names.subtracting(key)
        }
    }

    private func look(
        _ table: SchemaTable, _ shown: TableGeneration, _ covered: [Int], _ before: ColumnNames
    ) throws -> Look {
        let registered = try RegisteredTables(connection).columns(of: shown.number)
        let key: Set<String> = if case .key(let columns) = shown.identity { Set(columns.map(foldedName)) } else { [] }
        return Look(
            number: shown.number, registered: registered, covered: covered.filter { registered.indices.contains($0) },
            key: key, before: before)
    }

    /// The travelling name of each column by its present name in lower case, as the trigger for deletions tells.
    /// - Returns: `nil` without the trigger.
    private func signs(_ look: Look, _ local: String, _ triggers: PresentTriggers) -> [String: String]? {
        guard let text = triggers.text("delete", ofTable: look.number, on: local) else { return nil }
        let columns = ColumnOrigins.recordedColumns(text, in: "\(OwnNames.oldRows)\(look.number)")
        if columns.isEmpty { return nil }
        var signs: [String: String] = [:]
        for (number, name) in columns where look.registered.indices.contains(number) {
            signs[foldedName(name)] = look.travelling(number)
        }
        return signs
    }

    // MARK: Statements without triggers

    /// The columns of each table, in their order, by the table's root page.
    func columns() throws -> [Int64: [String]] {
        var columns: [Int64: [String]] = [:]
        try connection.forEachRow(
            """
            SELECT s.rootpage, c.name FROM sqlite_schema s, pragma_table_xinfo(s.name) c
            WHERE s.type = 'table' AND s.rootpage > 0 ORDER BY s.rootpage, c.cid
            """
        ) { columns[$0.integer(0), default: []].append($0.string(1)) }
        return columns
    }

    /// The columns that a single ALTER TABLE renamed: it leaves the order as it is.
    /// - Parameters:
    ///   - before: `columns` before the statement.
    ///   - roots: the root page of each recorded table, by number.
    func renamed(since before: [Int64: [String]], _ roots: [Int: Int64]) throws -> Names {
        let present = try columns()
        return roots.compactMapValues { root in
            guard let former = before[root], let now = present[root] else { return nil }
            if former.count != now.count { return [:] }
            return Dictionary(zip(former, now).map { (foldedName($0), $1) }) { first, _ in first }
        }
    }
}
