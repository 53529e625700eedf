import CFerrySQLite
import FerryCore
import FerryReferenceModel
import FerrySQL

/// An empty copy of a schema in memory, where SQLite judges single rows: refuses them, or computes expression and
/// partial indexes.
///
/// The app's own functions and collations are borrowed from the app's connection. A table needing a function that
/// connection lacks cannot be checked here (`obstacles`). Not thread-safe.
///
/// Invariant: all tables are empty between calls.
final class ScratchDatabase: ModelScratch {
    private let schema: ModelSchema
    private let handle: OpaquePointer
    private let connection: SQLConnection
    /// The borrowed functions of the app's connection.
    private let lent: LentFunctions?
    /// The part SQLite lacks for a table here, in SQLite's words, by the table's position.
    private(set) var obstacles: [Int: String] = [:]
    /// SQLite's equality of values.
    let equality: ModelEquality
    /// Statements inserting some columns into a table.
    private var insertions: [Insertion: SQLStatement] = [:]
    /// Statements emptying a table.
    private var deletions: [String: SQLStatement] = [:]

    private struct Insertion: Hashable {
        var target: String
        var columns: [Int]
    }

    /// Makes the tables and UNIQUE indexes, without triggers and with foreign keys off. A second database gets each
    /// table's columns without any constraint.
    /// - Parameter lender: the database's connection, with the app's functions; `nil` for SQLite's own functions only.
    init(_ schema: ModelSchema, borrowing lender: SQLConnection? = nil) throws {
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
        equality = try ModelEquality(connection)
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

    /// Makes a copy of all tables.
    /// - Throws: `missingFunction` where the schema needs functions that neither SQLite nor the app has.
    static func whole(_ schema: ModelSchema, borrowing lender: SQLConnection?) throws -> ScratchDatabase {
        let scratch = try ScratchDatabase(schema, borrowing: lender)
        if let obstacle = scratch.obstacles.min(by: { $0.key < $1.key }) {
            throw FerryError(
                .missingFunction,
                "The table \(schema.tables[obstacle.key].spelling) cannot be computed: \(obstacle.value).")
        }
        return scratch
    }

    private func make(_ table: ModelSchema.Table) throws {
        for statement in table.statements { try connection.executeScript(statement) }
        let columns = table.columns.enumerated().map { place, column in
            // An index may call the key `rowid`.
            if table.hasIntegerKey, place == table.key.first {
                return "\(quoted(foldedText(column.name))) INTEGER PRIMARY KEY"
            }
            return "\(quoted(foldedText(column.name))) \(column.scratchType) COLLATE \(quoted(column.collation))"
        }
        try connection.executeScript(
            "CREATE TABLE bare.\(quoted(table.spelling))(\((columns + table.generated).joined(separator: ", ")))")
    }

    /// Compiles the statements a table will need.
    /// - Throws: `missingFunction` if SQLite lacks a part.
    private func probe(_ table: ModelSchema.Table) throws {
        if table.isGiven { return }
        let everything = table.columns.indices.map { (column: $0, value: FieldValue.null) }
        for database in ["main", "bare"] { _ = try insertion(everything, table, into: database) }
        for unique in table.uniques { _ = try connection.makeStatement(question(unique, table)) }
        for collation in Set(
            (table.keyCollations + table.uniques.flatMap { $0.terms.map(\.collation) }).map(exactKey)
        ).sorted().map(plainText) {
            _ = try connection.rows("SELECT 'a' = 'b' COLLATE \(quoted(collation))")
        }
    }

    /// SQLite's first error that no caller received.
    var failure: (any Error)? { lent?.failure ?? equality.failure }

    /// True if values can be compared by a collation here.
    func hasCollation(_ name: String) throws -> Bool { try connection.hasCollation(name) }

    /// The query for the terms of a UNIQUE index.
    private func question(_ unique: ModelSchema.Unique, _ table: ModelSchema.Table) -> String {
        let terms = unique.terms.map { "(\($0.sql))" }.joined(separator: ", ")
        return "SELECT \(terms) FROM bare.\(quoted(table.spelling)) WHERE \(unique.condition ?? "1")"
    }

    deinit {
        insertions = [:]
        deletions = [:]
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }

    /// SQLite's reason to refuse a row regardless of further rows; `nil` if SQLite accepts the row.
    /// - Parameter values: values without references; missing columns get their defaults.
    func refusal(of values: [(column: Int, value: FieldValue)], in table: ModelSchema.Table) throws -> String? {
        if table.isGiven { return nil }
        let statement = try insertion(values, table, into: "main")
        if try statement.runUnlessRefused() != nil { return String(cString: sqlite3_errmsg(handle)) }
        try empty(table, in: "main")
        return nil
    }

    /// The terms of a UNIQUE index for a row; `nil` if a partial index omits the row.
    func terms(
        of unique: ModelSchema.Unique, _ values: [(column: Int, value: FieldValue)], in table: ModelSchema.Table
    ) throws -> [FieldValue]? {
        try insertion(values, table, into: "bare").run()
        let found = try connection.rows(question(unique, table))
        try empty(table, in: "bare")
        return found.first
    }

    /// The value of a constant expression.
    func value(of sql: String) throws -> FieldValue { try connection.firstValue("SELECT \(sql)") ?? .null }

    /// The statement inserting values into a table, ready to run.
    private func insertion(
        _ values: [(column: Int, value: FieldValue)], _ table: ModelSchema.Table, into database: String
    ) throws -> SQLStatement {
        let insertion = Insertion(target: "\(database).\(table.name)", columns: values.map(\.column))
        let statement: SQLStatement
        if let known = insertions[insertion] {
            statement = known
            statement.reset()
        } else {
            let names = values.map { quoted(foldedText(table.columns[$0.column].name)) }.joined(separator: ", ")
            let places = values.map { _ in "?" }.joined(separator: ", ")
            let what = values.isEmpty ? " DEFAULT VALUES" : "(\(names)) VALUES (\(places))"
            statement = try connection.makeStatement(
                "INSERT OR ABORT INTO \(database).\(quoted(table.spelling))\(what)")
            insertions[insertion] = statement
        }
        for (position, value) in values.enumerated() { statement.bind(value.value, Int32(position + 1)) }
        return statement
    }

    private func empty(_ table: ModelSchema.Table, in database: String) throws {
        let target = "\(database).\(table.name)"
        let statement =
            try deletions[target] ?? connection.makeStatement("DELETE FROM \(database).\(quoted(table.spelling))")
        deletions[target] = statement
        try statement.run()
    }
}

extension SQLConnection: ModelDatabase {}

extension RowModel {
    /// Asks a copy of the schema in memory.
    /// - Parameter lender: the connection of the database, with what an app registered of its own.
    /// - Throws: `missingFunction` where the schema needs functions that neither SQLite nor the app has.
    convenience init(
        _ schema: ModelSchema, policies: ModelPolicies = ModelPolicies(), borrowing lender: SQLConnection? = nil
    ) throws {
        self.init(schema, policies: policies, asking: try ScratchDatabase.whole(schema, borrowing: lender))
    }
}

/// A database in memory without anything of an app's. Not thread-safe.
final class PlainMemory: ModelDatabase {
    private let handle: OpaquePointer
    private let connection: SQLConnection

    init() throws {
        var opened: OpaquePointer?
        guard sqlite3_open(":memory:", &opened) == SQLITE_OK, let opened else {
            sqlite3_close_v2(opened)
            throw FerryError(.database, "SQLite cannot open a database in memory: there may be no memory left.")
        }
        handle = opened
        connection = SQLConnection(opened)
    }

    deinit {
        connection.finalizeStatements()
        sqlite3_close_v2(handle)
    }

    func executeScript(_ sql: String) throws { try connection.executeScript(sql) }

    func rows(_ sql: String, values: [FieldValue]) throws -> [[FieldValue]] {
        try connection.rows(sql, values: values)
    }
}
