import FerryCore
import FerrySQL
import FerrySchema

/// The before-image table: values of a table's deleted rows and displacement candidates until the flush.
///
/// After a change of columns the table is made anew. ALTER TABLE reads the whole schema again, and fails if a view or
/// trigger of the app is broken (https://www.sqlite.org/lang_altertable.html#alter_table_drop_column).
struct BeforeImageTable {
    private let table: TrackedTable
    private let connection: SQLConnection

    init(_ table: TrackedTable, _ connection: SQLConnection) {
        self.table = table
        self.connection = connection
    }

    /// Makes the missing tables, all before any trigger: for each new table SQLite reads the schema, including
    /// triggers.
    /// - Returns: the numbers of tracked tables without a before-image table so far.
    static func makeAbsent(_ tables: [TrackedTable], _ connection: SQLConnection) throws -> Set<Int> {
        let rows = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        let present = Set(rows.map { foldedName($0[0].text) })
        var made: Set<Int> = []
        for table in tables where !present.contains(foldedName(table.beforeImageTable)) {
            try connection.executeScript(StoreTables.createOldRowsTable(table))
            made.insert(table.id)
        }
        return made
    }

    /// What rows that were deleted before Ferry knew a column showed in it: its default, as all rows that are older than a column.
    private func defaults(of columns: [TrackedColumn]) throws -> [(name: String, value: FieldValue)] {
        try columns.compactMap { column in
            try column.defaultValue(connection).map { ("c\(column.id)", $0) }
        }
    }

    /// Updates the table to the present columns. The content stays, except for dropped columns. A new column has its default.
    /// - Returns: the new columns. A column that comes back counts as new, and so does a renamed column.
    func alter(_ renamed: ColumnOrigins.Renamed) throws -> [TrackedColumn] {
        let name = table.beforeImageTable
        let present = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { $0[0].text }
        let formers = Dictionary(renamed.map { ($1, $0) }) { first, _ in first }
        let wanted = table.localColumns.map { "c\($0.id)" }
        let added = table.localColumns.filter { column in
            !present.contains("c\(column.id)") || renamed[column.id] != nil || formers[column.id] != nil
        }
        if Set(wanted) != Set(present.dropFirst()) || !renamed.isEmpty {
            // Where a renamed column's name is used again, the column of that name has no content yet.
            let sources = table.localColumns.compactMap { column -> (to: String, from: String)? in
                if formers[column.id] == nil, renamed[column.id] != nil { return nil }
                let source = "c\(formers[column.id] ?? column.id)"
                return present.contains(source) ? ("c\(column.id)", source) : nil
            }
            let kept = (["sequence"] + sources.map(\.to)).joined(separator: ", ")
            let former = (["sequence"] + sources.map { "\($0.from) AS \($0.to)" }).joined(separator: ", ")
            let aside = "temp.ferry_aside_\(table.id)"
            try connection.executeScript("CREATE TEMP TABLE ferry_aside_\(table.id) AS SELECT \(former) FROM \(name)")
            try connection.executeScript("DROP TABLE main.\(name)")
            try connection.executeScript(StoreTables.createOldRowsTable(table))
            let defaults = try defaults(of: added.filter { column in !sources.contains { $0.to == "c\(column.id)" } })
            let columns = ([kept] + defaults.map(\.name)).joined(separator: ", ")
            let values = ([kept] + defaults.map { _ in "?" }).joined(separator: ", ")
            try connection.execute(
                "INSERT INTO \(name)(\(columns)) SELECT \(values) FROM \(aside)", defaults.map(\.value))
            try connection.executeScript("DROP TABLE \(aside)")
        }
        // The mark of `NondeterministicDefaults` is removed: recorded rows lack the new columns, and are recorded
        // again. A before-image without its pending change is removed: the next pending change with that number could
        // not be written.
        try connection.execute("DELETE FROM \(name) WHERE sequence NOT IN (\(PendingTable.sequences))")
        return added
    }
}
