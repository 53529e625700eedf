import CFerrySQLite
import FerryCore
import FerrySQL

/// Reads a single table of a container's schema: SQLite makes the table in a database in memory.
package enum RecordedTable {
    /// - Parameters:
    ///   - name: the table's name in the statements.
    ///   - statements: the table's statement, and then those of its indexes.
    /// - Returns: `nil` for a table that cannot be made here, such as with an app's own collation or a newer SQLite's syntax. An
    ///   index that cannot be made is left out.
    package static func read(_ name: String, _ statements: [String]) throws -> SchemaTable? {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
            return nil
        }
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        for (place, statement) in statements.enumerated() {
            do {
                try connection.executeCreating(statement)
            } catch let error as FerryError where [.damagedFile, .database, .missingFunction].contains(error.code) {
                if place == 0 { return nil }
            }
        }
        return try SchemaReader(connection: connection).read().table(name)
    }
}

extension SchemaRecord {
    /// The statement that makes a table.
    func statement(of table: TrackedTableRecord) -> Statement? {
        statements.first { $0.type == "table" && equalNames($0.name, table.statementName) }
    }

    /// The statements of the indexes of a table that have a statement.
    func indexStatements(of table: TrackedTableRecord) -> [Statement] {
        statements.filter { $0.type == "index" && equalNames($0.table, table.statementName) }
    }
}
