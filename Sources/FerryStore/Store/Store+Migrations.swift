import FerryCore
import FerrySQL
import FerrySchema
import GRDB
import GRDBSQLite

/// What a watch asks while a program may be migrating the database.
extension Store {
    /// True if the schema is another one than at the last pass. Cheap, and writes nothing.
    package func hasOtherSchema() throws -> Bool {
        try read { connection in
            guard let known = try MetaTable(connection: connection).integer(.schemaVersion), known >= 0 else {
                return false
            }
            return try SchemaReader(connection: connection).version() != known
        }
    }

    /// SQLite's count of the schema's changes.
    package func schemaVersion() throws -> Int64 { try read { try SchemaReader(connection: $0).version() } }

    /// True if another connection holds the write lock at this moment, as while a statement copies a table.
    package func isBeingWritten() -> Bool {
        if path.isEmpty { return false }
        var handle: OpaquePointer?
        defer { sqlite3_close_v2(handle) }
        // A file that cannot be opened is a matter for the pass.
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK else { return false }
        let code = sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil)
        if code == SQLITE_OK { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
        return code == SQLITE_BUSY
    }
}
