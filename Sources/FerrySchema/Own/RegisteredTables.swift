import FerryCore
import FerrySQL

/// The tables `ferry_table` and `ferry_column`: every table that ever travelled, by number, and its columns.
///
/// Invariants:
/// - A number is never used again, neither a table's nor a column's.
/// - The columns of a table are numbered from 0, without a gap.
package struct RegisteredTables {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// A generation of a table, with the text of its identity.
    package struct Entry: Equatable {
        package var number: Int
        @ComparedByBytes package var name: String
        @ComparedByBytes package var identity: String
    }

    /// An SQL expression: how many tables and columns are registered.
    package static let counts = "(SELECT count(*) FROM ferry_table), (SELECT count(*) FROM ferry_column)"

    // MARK: Tables

    /// All generations of all tables, in the order of their numbers.
    package func all() throws -> [Entry] { try entries("ORDER BY number") }

    /// All generations of a table, in the order of their numbers. Names are compared as SQLite compares names.
    package func generations(of name: String) throws -> [Entry] {
        try entries("WHERE name = ? COLLATE NOCASE ORDER BY number", .text(plainText(name)))
    }

    private func entries(_ rest: String, _ values: FieldValue...) throws -> [Entry] {
        var entries: [Entry] = []
        try connection.forEachRow("SELECT number, name, identity FROM ferry_table \(rest)", values) { row in
            entries.append(Entry(number: row.int(0), name: row.string(1), identity: row.string(2)))
        }
        return entries
    }

    package func numbers() throws -> [Int] {
        var numbers: [Int] = []
        try connection.forEachRow("SELECT number FROM ferry_table ORDER BY number") { numbers.append($0.int(0)) }
        return numbers
    }

    /// A number above all registered numbers.
    package func nextNumber() throws -> Int {
        try connection.count("SELECT coalesce(max(number), 0) + 1 FROM ferry_table")
    }

    package func enter(_ entry: Entry) throws {
        try connection.execute(
            "INSERT INTO ferry_table(number, name, identity) VALUES (?, ?, ?)", .integer(Int64(entry.number)),
            .text(entry.name), .text(entry.identity))
    }

    // MARK: Columns

    /// Calls `body` with each column: the table's number, the column's own number, and the name.
    package func forEachColumn(_ body: (_ table: Int, _ number: Int, _ name: String) throws -> Void) throws {
        try connection.forEachRow("SELECT \"table\", number, name FROM ferry_column ORDER BY \"table\", number") {
            try body($0.int(0), $0.int(1), $0.string(2))
        }
    }

    /// The names of a table's columns, in the order of their numbers.
    package func columns(of table: Int) throws -> [String] {
        try connection.rows("SELECT name FROM ferry_column WHERE \"table\" = ? ORDER BY number", .integer(Int64(table)))
            .map { $0[0].text }
    }

    package func hasColumn(_ name: String, in table: Int) throws -> Bool {
        try connection.count(
            "SELECT count(*) FROM ferry_column WHERE \"table\" = ? AND name = ? COLLATE NOCASE",
            .integer(Int64(table)), .text(name)) != 0
    }

    /// Enters a column under the next number; ignores a known name.
    package func enterColumn(_ name: String, in table: Int) throws {
        try connection.execute(
            """
            INSERT INTO ferry_column("table", number, name)
            SELECT ?1, coalesce((SELECT max(number) + 1 FROM ferry_column WHERE "table" = ?1), 0), ?2
            WHERE NOT EXISTS (SELECT 1 FROM ferry_column WHERE "table" = ?1 AND name = ?2 COLLATE NOCASE)
            """, .integer(Int64(table)), .text(name))
    }
}
