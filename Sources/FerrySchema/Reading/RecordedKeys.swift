import CFerrySQLite
import FerryCore
import FerrySQL

/// The columns of tables with integer keys, and the collations of other keys, by a container's schema.
///
/// A table's identity does not say which column holds the integers, and how keys are compared. The text of the table does.
package struct RecordedKeys {
    private var tables: [String: SchemaTable] = [:]
    /// The names of the columns of tables with renamed columns, in order and in lower case, by the table's travelling name in
    /// lower case.
    package private(set) var columns: [String: [String]] = [:]
    /// The collations under which key values derive the same ID, by the table's travelling name in lower case.
    package private(set) var collations: [String: [String]] = [:]

    /// Makes each table alone, in a database in memory. A table that cannot be made there says nothing.
    package init(_ record: SchemaRecord) throws {
        for tracked in record.tracked {
            let isKey = if case .key = tracked.identity { true } else { false }
            guard isKey || tracked.identity == .surrogate || !tracked.renamedColumns.isEmpty else { continue }
            let name = foldedName(tracked.statementName)
            guard let text = record.statements.first(where: { $0.type == "table" && foldedName($0.name) == name })
            else { continue }
            let table = try Self.table(tracked.statementName, text.sql)
            if !tracked.renamedColumns.isEmpty {
                columns[foldedName(tracked.name)] = table.map { $0.columns.map { foldedName($0.name) } }
            }
            if isKey {
                collations[foldedName(tracked.name)] =
                    tracked.keyCollations.isEmpty ? table.map(KeyEquality.identityCollations) : tracked.keyCollations
            } else if tracked.identity == .surrogate {
                tables[foldedName(tracked.name)] = table
            }
        }
    }

    private static func table(_ name: String, _ sql: String) throws -> SchemaTable? {
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        guard sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK, let handle else {
            return nil
        }
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        do {
            try connection.executeCreating(sql)
            return try SchemaReader(connection: connection).read().table(name)
        } catch let error as FerryError where [.damagedFile, .database, .missingFunction].contains(error.code) {
            return nil  // an app's own collation, or a newer SQLite's syntax
        }
    }

    /// The integer key of a database's own table, if the container's devices have their integers in another column.
    ///
    /// Where one of the two columns is missing on the other side, the column was renamed.
    package func movedKey(of table: SchemaTable) -> String? {
        guard table.isIntegerKey, let there = tables[foldedName(table.name)], there.isIntegerKey,
            let own = table.primaryKey.first, let theirs = there.primaryKey.first, !equalNames(own, theirs),
            there.column(own) != nil || table.column(theirs) != nil
        else { return nil }
        return own
    }
}
