import CFerrySQLite
import FerryCore

/// An empty copy of a schema in memory, in which SQLite says what it thinks of single rows: whether it refuses one, and
/// what an expression or partial index makes of one.
///
/// Functions and collations of an app's own are missing in it; a table that needs them cannot be verified, and that is
/// an error. Not thread-safe.
final class PlainScratch {
    private let schema: PlainSchema
    private let handle: OpaquePointer
    private let connection: SQLConnection
    /// What SQLite takes for equal.
    let equality: PlainEquality
    /// What inserts some columns into a table.
    private var insertions: [Insertion: SQLStatement] = [:]
    /// What empties a table again.
    private var deletions: [String: SQLStatement] = [:]

    private struct Insertion: Hashable {
        var target: String
        var columns: [Int]
    }

    /// Makes the tables and UNIQUE indexes, without triggers and with foreign keys off; and, in a second database, each
    /// table's columns without any constraint.
    init(_ schema: PlainSchema) throws {
        self.schema = schema
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        let code = sqlite3_open_v2(":memory:", &opened, flags, nil)
        guard code == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw FerryError(.database, "SQLite cannot open a database in memory: there may be no memory left.")
        }
        handle = opened
        connection = SQLConnection(opened)
        equality = try PlainEquality(connection)
        try connection.executeScript("PRAGMA foreign_keys = OFF; ATTACH ':memory:' AS bare")
        for table in schema.tables {
            for statement in table.statements { try connection.executeScript(statement) }
            let columns = table.columns.enumerated().map { place, column in
                // An index may name it `rowid`.
                if table.hasIntegerKey, place == table.key.first {
                    return "\(quoted(column.name)) INTEGER PRIMARY KEY"
                }
                // Only a STRICT table takes ANY as it comes.
                let type = table.isStrict && foldedName(column.type) == "any" ? "BLOB" : column.type
                return "\(quoted(column.name)) \(type) COLLATE \(quoted(column.collation))"
            }
            try connection.executeScript(
                "CREATE TABLE bare.\(quoted(table.name))(\((columns + table.generated).joined(separator: ", ")))")
        }
        try connection.executeScript("BEGIN")
    }

    deinit {
        insertions = [:]
        deletions = [:]
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }

    /// The reason for which SQLite refuses a row by itself, whatever other rows there are; `nil` where it does not.
    /// - Parameter values: without references; columns that are left out get their defaults.
    func refusal(of values: [(column: Int, value: FieldValue)], in table: PlainSchema.Table) throws -> String? {
        let statement = try insertion(values, table, into: "main")
        if try statement.runUnlessRefused() != nil { return String(cString: sqlite3_errmsg(handle)) }
        try empty(table, in: "main")
        return nil
    }

    /// The terms of a UNIQUE index for a row; `nil` where a partial index leaves the row out.
    func terms(
        of unique: PlainSchema.Unique, _ values: [(column: Int, value: FieldValue)], in table: PlainSchema.Table
    ) throws -> [FieldValue]? {
        try insertion(values, table, into: "bare").run()
        let terms = unique.terms.map { "(\($0.sql))" }.joined(separator: ", ")
        let found = try connection.rows(
            "SELECT \(terms) FROM bare.\(quoted(table.name)) WHERE \(unique.condition ?? "1")")
        try empty(table, in: "bare")
        return found.first
    }

    /// The value of a constant expression.
    func value(of sql: String) throws -> FieldValue { try connection.firstValue("SELECT \(sql)") ?? .null }

    /// The statement that inserts values into a table, ready to run.
    private func insertion(
        _ values: [(column: Int, value: FieldValue)], _ table: PlainSchema.Table, into database: String
    ) throws -> SQLStatement {
        let insertion = Insertion(target: "\(database).\(table.name)", columns: values.map(\.column))
        let statement: SQLStatement
        if let known = insertions[insertion] {
            statement = known
            statement.reset()
        } else {
            let names = values.map { quoted(table.columns[$0.column].name) }.joined(separator: ", ")
            let places = values.map { _ in "?" }.joined(separator: ", ")
            let what = values.isEmpty ? " DEFAULT VALUES" : "(\(names)) VALUES (\(places))"
            statement = try connection.makeStatement(
                "INSERT OR ABORT INTO \(database).\(quoted(table.name))\(what)")
            insertions[insertion] = statement
        }
        for (position, value) in values.enumerated() { statement.bind(value.value, Int32(position + 1)) }
        return statement
    }

    private func empty(_ table: PlainSchema.Table, in database: String) throws {
        let target = "\(database).\(table.name)"
        let statement =
            try deletions[target] ?? connection.makeStatement("DELETE FROM \(database).\(quoted(table.name))")
        deletions[target] = statement
        try statement.run()
    }
}
