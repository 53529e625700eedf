import FerryCore

/// The table that holds the values of a table's deleted and perhaps displaced rows until they are packed.
///
/// Where the table's columns change it is made anew: ALTER TABLE reads the whole schema again, and refuses its work where
/// somebody else's view or trigger is broken (https://www.sqlite.org/lang_altertable.html#alter_table_drop_column).
struct OldRowsTable {
    private let table: TrackedTable
    private let connection: SQLConnection

    init(_ table: TrackedTable, _ connection: SQLConnection) {
        self.table = table
        self.connection = connection
    }

    /// Makes the tables that are not there, all of them before any trigger: for each table that it makes SQLite reads through
    /// the schema, triggers included.
    /// - Returns: the numbers of the tracked tables that had none.
    static func makeAbsent(_ tables: [TrackedTable], _ connection: SQLConnection) throws -> Set<Int> {
        let rows = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'")
        let present = Set(rows.map { foldedName($0[0].text) })
        var made: Set<Int> = []
        for table in tables where !present.contains(foldedName(table.oldRowsTable)) {
            try connection.executeScript(StoreTables.createOldRowsTable(table))
            made.insert(table.id)
        }
        return made
    }

    /// Brings the table in line with the present columns. What it holds stays, but for what a column that is gone held.
    /// - Returns: the columns that are new. A column that comes back is one that the database did not have before.
    func alter() throws -> [TrackedColumn] {
        let name = table.oldRowsTable
        let present = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { $0[0].text }
        let wanted = table.localColumns.map { "c\($0.id)" }
        let added = table.localColumns.filter { !present.contains("c\($0.id)") }
        if Set(wanted) != Set(present.dropFirst()) {
            let kept = (["sequence"] + wanted.filter(present.contains)).joined(separator: ", ")
            let aside = "temp.ferry_aside_\(table.id)"
            try connection.executeScript("CREATE TEMP TABLE ferry_aside_\(table.id) AS SELECT \(kept) FROM \(name)")
            try connection.executeScript("DROP TABLE main.\(name)")
            try connection.executeScript(StoreTables.createOldRowsTable(table))
            try connection.executeScript("INSERT INTO \(name)(\(kept)) SELECT \(kept) FROM \(aside)")
            try connection.executeScript("DROP TABLE \(aside)")
        }
        // The mark of `UnforeseenDefaults` goes: rows that are noted lack the new columns, and are noted again. A row
        // without its note goes: the next note with that number could not be written.
        try connection.execute("DELETE FROM \(name) WHERE sequence NOT IN (SELECT sequence FROM ferry_pending)")
        return added
    }
}
