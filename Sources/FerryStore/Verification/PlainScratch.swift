import CFerrySQLite
import FerryCore

/// An empty copy of a schema in memory, in which SQLite says what it thinks of single rows: whether it refuses one, and
/// what an expression or partial index makes of one.
///
/// Functions and collations of an app's own are borrowed from the app's connection. A table that needs some which that
/// connection does not have either cannot be looked at here (`obstacles`). Not thread-safe.
final class PlainScratch {
    private let schema: PlainSchema
    private let handle: OpaquePointer
    private let connection: SQLConnection
    /// What the app registered with its own connection.
    private let lent: LentFunctions?
    /// By the table's place, what SQLite lacks for it here, in its own words.
    private(set) var obstacles: [Int: String] = [:]
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
    /// - Parameter lender: the connection of the database, with what an app registered; `nil`: SQLite's own functions only.
    init(_ schema: PlainSchema, borrowing lender: SQLConnection? = nil) throws {
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
        lent = try lender.map { try LentFunctions(of: $0, to: opened) }
        equality = try PlainEquality(connection)
        try connection.executeScript("PRAGMA foreign_keys = OFF; ATTACH ':memory:' AS bare")
        for (place, table) in schema.tables.enumerated() {
            do {
                try make(table)
                try probe(table)
            } catch let error as FerryError where error.code == .missingFunction {
                obstacles[place] = connection.lastMessage
            }
        }
        try connection.executeScript("BEGIN")
    }

    private func make(_ table: PlainSchema.Table) throws {
        for statement in table.statements { try connection.executeScript(statement) }
        let columns = table.columns.enumerated().map { place, column in
            // An index may name it `rowid`.
            if table.hasIntegerKey, place == table.key.first { return "\(quoted(column.name)) INTEGER PRIMARY KEY" }
            return "\(quoted(column.name)) \(column.scratchType) COLLATE \(quoted(column.collation))"
        }
        try connection.executeScript(
            "CREATE TABLE bare.\(quoted(table.name))(\((columns + table.generated).joined(separator: ", ")))")
    }

    /// Compiles what will be asked of a table.
    /// - Throws: `missingFunction` where SQLite lacks something for it.
    private func probe(_ table: PlainSchema.Table) throws {
        if table.isGiven { return }
        let everything = table.columns.indices.map { (column: $0, value: FieldValue.null) }
        for database in ["main", "bare"] { _ = try insertion(everything, table, into: database) }
        for unique in table.uniques { _ = try connection.makeStatement(question(unique, table)) }
        for collation in Set(table.keyCollations + table.uniques.flatMap { $0.terms.map(\.collation) }).sorted() {
            _ = try connection.rows("SELECT 'a' = 'b' COLLATE \(quoted(collation))")
        }
    }

    /// The first error that SQLite gave where nobody could be told.
    var failure: (any Error)? { lent?.failure ?? equality.failure }

    /// Whether values can be compared by a collation here.
    func hasCollation(_ name: String) throws -> Bool { try connection.hasCollation(name) }

    /// What gives the terms of a UNIQUE index for the rows of a table.
    private func question(_ unique: PlainSchema.Unique, _ table: PlainSchema.Table) -> String {
        let terms = unique.terms.map { "(\($0.sql))" }.joined(separator: ", ")
        return "SELECT \(terms) FROM bare.\(quoted(table.name)) WHERE \(unique.condition ?? "1")"
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
        if table.isGiven { return nil }
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
        let found = try connection.rows(question(unique, table))
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
