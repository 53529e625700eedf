import FerryContent
import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// What refers to contents: versions of documents, and the columns that people declared (`ferry_attachment`), in rows, in rows that are
/// not shown, and in conflicts that nobody settled.
///
/// A declared column counts in each table that ever had it, also where this database has no such table.
struct ContentReferences {
    private let access: StoreAccess
    /// The declared columns by table. Columns that took the place of others count with them.
    let declared: [(table: TrackedTable, columns: [Int])]

    init(_ access: StoreAccess) throws {
        self.access = access
        var columns: [Int: Set<Int>] = [:]
        for row in try access.connection.rows("SELECT target FROM ferry_attachment") {
            guard let target = AttachmentTarget(row[0].text) else { continue }
            for table in access.registry.tables.values
            where equalNames(table.name, target.table) || table.isLocal && equalNames(table.localName, target.table) {
                let named = table.columns.filter {
                    equalNames($0.baseName, target.column) || equalNames($0.name, target.column)
                }
                columns[table.id, default: []].formUnion(named.map(\.id))
                if let local = table.localColumn(called: target.column) { columns[table.id]?.insert(local.id) }
            }
        }
        declared = columns.sorted { $0.key < $1.key }.compactMap { number, columns in
            columns.isEmpty ? nil : (access.registry[number], columns.sorted())
        }
    }

    /// Which contents of a set are referred to where no foreign key checks.
    func unchecked(among contents: Set<ContentID>) throws -> Set<ContentID> {
        var found: Set<ContentID> = []
        if contents.isEmpty || declared.isEmpty { return found }
        try forEachUnchecked { if contents.contains($0) { found.insert($0) } }
        return found
    }

    /// Runs `body` for each reference that no foreign key checks: of rows, of rows that are not shown, of unsettled conflicts.
    func forEachUnchecked(_ body: (ContentID) throws -> Void) throws {
        for (table, columns) in declared {
            try forEachInRows(of: table, columns, body)
            try forEachKept(of: table, columns) { isTombstone, token, content in
                if try !isTombstone || access.conflicts.isUnresolved(token) { try body(content) }
            }
            for value in try access.conflicts.unresolvedValues(in: table.id, columns) {
                if let content = ContentID(content: value) { try body(content) }
            }
        }
    }

    /// Which contents of a set a remembered row leads to, deleted rows included, versions among them.
    func remembered(among contents: Set<ContentID>) throws -> Set<ContentID> {
        if contents.isEmpty { return [] }
        var found = try unchecked(among: contents)
        let meet = { (_: Bool, _: RowToken, content: ContentID) in
            if contents.contains(content) { found.insert(content) }
        }
        for (table, columns) in declared { try forEachKept(of: table, columns, meet) }
        if let versions = access.registry.table(named: DocumentTables.version),
            let column = versions.columnID("content")
        {
            try forEachInRows(of: versions, [column]) { if contents.contains($0) { found.insert($0) } }
            try forEachKept(of: versions, [column], meet)
        }
        return found
    }

    /// The living contents that nothing refers to.
    func unused() throws -> Set<ContentID> {
        var found = try ContentRows(access.connection).withoutVersion()
        if found.isEmpty { return found }
        try forEachUnchecked { found.remove($0) }
        if let versions = access.registry.table(named: DocumentTables.version),
            let column = versions.columnID("content")
        {
            try forEachKept(of: versions, [column]) { isTombstone, _, content in
                if !isTombstone { found.remove(content) }
            }
        }
        return found
    }

    /// How many values of declared columns are no IDs, and the first such column, as `table.column`; NULL is no value. A program that writes
    /// `[UInt8]` through Codable writes a JSON text, for instance.
    func strangeValues() throws -> (count: Int, column: String?) {
        var found: (count: Int, column: String?) = (0, nil)
        for (table, columns) in declared where table.isLocal {
            for column in columns.map({ table.columns[$0] }) where column.isLocal {
                let name = column.presentName ?? column.name
                let strange = try access.connection.count(
                    """
                    SELECT count(*) FROM \(table.quotedName) WHERE \(quoted(name)) IS NOT NULL AND NOT (
                        typeof(\(quoted(name))) = 'blob' AND length(\(quoted(name))) = 16
                        OR typeof(\(quoted(name))) = 'text' AND length(\(quoted(name))) IN (32, 36))
                    """)
                if strange > 0 { found = (found.count + strange, found.column ?? "\(table.localName).\(name)") }
            }
        }
        return found
    }

    // MARK: Values

    private func forEachInRows(
        of table: TrackedTable, _ columns: [Int], _ body: (ContentID) throws -> Void
    ) throws {
        guard table.isLocal else { return }
        for column in columns.map({ table.columns[$0] }) where column.isLocal {
            let name = quoted(column.presentName ?? column.name)
            try access.connection.forEachRow(
                """
                SELECT DISTINCT \(name) FROM \(table.quotedName)
                WHERE typeof(\(name)) IN ('blob', 'text') AND length(\(name)) IN (16, 32, 36)
                """
            ) { if let id = ContentID(content: $0.value(0)) { try body(id) } }
        }
    }

    /// Values that no row shows: of hidden and deleted rows, of tables and columns that this database has not, of policies.
    private func forEachKept(
        of table: TrackedTable, _ columns: [Int],
        _ body: (_ isTombstone: Bool, _ object: RowToken, ContentID) throws -> Void
    ) throws {
        // Under a policy a column has values besides the one that the row shows.
        let hasPolicy = columns.contains { table.columns[$0].policy != .lastWriterWins }
        let objects = access.objects(of: table.id)
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable)\(hasPolicy ? "" : " WHERE kept IS NOT NULL")"
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        for id in ids {
            let state = try objects.load(id)
            let token = RowToken(table: table.id, id: id)
            for column in columns {
                var values = state.kept.fields[column].map { [$0] } ?? []
                for part in state.policies[column]?.parts ?? [] {
                    guard case .versions(let versions) = part else { continue }
                    values += versions.versions.map(\.value)
                }
                if let plain = state.policies[column]?.plain { values.append(plain.value) }
                for content in values.compactMap({ ContentID(content: $0) }) {
                    try body(state.registers.isTombstone, token, content)
                }
            }
        }
    }
}

extension UniqueID {
    /// An ID as a declared column has one: 16 bytes. IDs that an app writes as text are not fetched, but count all the same.
    init?(content value: FieldValue) {
        switch value {
        case .blob(let bytes): self.init(bytes: bytes)
        case .text: self.init(value.text)
        default: return nil
        }
    }
}
