import FerryCore
import FerrySQL
import FerrySchema

/// Finds the columns that got another name (`ALTER TABLE … RENAME COLUMN`): SQLite rewrites the names in triggers.
///
/// `ColumnNaming` decides which column is which.
struct RenamedColumns {
    /// The present names of columns by their former names in lower case, of each table by its number.
    typealias Names = [Int: [String: String]]
    /// The columns that travel under another name from now on, by the travelling name of the table in lower case.
    typealias Moves = [String: [ColumnNaming.Move]]

    private let connection: SQLConnection
    private var meta: MetaTable { MetaTable(connection: connection) }

    init(_ connection: SQLConnection) { self.connection = connection }

    /// Records the present names.
    /// - Parameters:
    ///   - triggers: the triggers as ALTER TABLE left them.
    ///   - covered: the columns of each table at the last look, by the table's number.
    ///   - known: the names of columns of tables whose triggers were away.
    /// - Returns: the columns that travel under another name from now on; `nil` if all names stay.
    func update(
        _ schema: Schema, _ triggers: PresentTriggers, covered: [Int: [Int]], _ known: Names
    ) throws -> Moves? {
        let before = try ColumnNameList.load(connection)
        let generations = try Generations.load(meta)
        var names = before
        var moves: Moves = [:]
        for table in schema.tables where table.kind == .table {
            guard let shown = try TableGeneration.shown(table.name, generations, connection) else {
                if names[table.name].told.isEmpty { continue }
                names[table.name] =
                    ColumnNaming(
                        present(table, [:], keys: []), wereHere: nil, reserved: keys(table), order: order(table),
                        names[table.name]
                    ).decided().names
                continue
            }
            let registered = try RegisteredTables(connection).columns(of: shown.number)
            let columns = (covered[shown.number] ?? []).filter { registered.indices.contains($0) }.map {
                registered[$0]
            }
            let key = keyColumns(shown.identity)
            let last = columns.map { ColumnMeaning.base(of: $0) ?? $0 }
            let signs =
                signs(shown.number, table.localName, registered, triggers)
                ?? known[shown.number].map { renamed in
                    // Without triggers, a column has the name that it had, or the name that was noted.
                    Dictionary(
                        last.map { name in
                            let local = local(name, before[table.name])
                            return (foldedName(renamed[foldedName(local)] ?? local), name)
                        }
                    ) { first, _ in first }
                }
            let decided = ColumnNaming(
                present(table, signs ?? [:], keys: key),
                wereHere: columns.isEmpty && signs == nil
                    ? nil : signs == nil ? Set(last.map { foldedName(local($0, before[table.name])) }) : [],
                reserved: keys(table).union(leavingKeys(shown.number, generations)), order: order(table),
                before[table.name]
            ).decided()
            names[table.name] = decided.names
            if !decided.moves.isEmpty { moves[foldedName(table.name)] = decided.moves }
        }
        if names == before { return nil }
        try names.save(meta)
        return moves
    }

    /// The columns outside of the key, with the travelling names that signs tell.
    private func present(
        _ table: SchemaTable, _ signs: [String: String], keys: Set<String>
    ) -> [ColumnNaming.Present] {
        let reserved = self.keys(table)
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

    /// The columns from which object IDs are derived, in lower case.
    private func keyColumns(_ identity: TableIdentity) -> Set<String> {
        if case .key(let columns) = identity { Set(columns.map(foldedName)) } else { [] }
    }

    private func local(_ travelling: String, _ names: ColumnNames) -> String {
        names.travelling.first { equalNames($0.value, travelling) }?.key ?? travelling
    }

    /// The travelling name of each column by its present name in lower case, as the trigger for deletions tells.
    /// - Returns: `nil` without the trigger.
    private func signs(
        _ number: Int, _ local: String, _ registered: [String], _ triggers: PresentTriggers
    ) -> [String: String]? {
        guard let text = triggers.text("delete", ofTable: number, on: local) else { return nil }
        let columns = ColumnOrigins.recordedColumns(text, in: "\(OwnNames.oldRows)\(number)")
        if columns.isEmpty { return nil }
        var signs: [String: String] = [:]
        for (number, name) in columns where registered.indices.contains(number) {
            signs[foldedName(name)] = ColumnMeaning.base(of: registered[number]) ?? registered[number]
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
