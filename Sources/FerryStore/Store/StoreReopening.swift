import FerryCore
import GRDB
import GRDBSQLite

/// Another file in the place of the one that the store has open.
extension Store {
    /// Whether the store opened the file itself, so that it can open another one that was put in its place.
    public var canReopen: Bool { open != nil }

    /// Whether the file that is open lies at its path no more: it was moved or deleted, or another one was put in its place.
    /// https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlhasmoved
    public func hasMoved() throws -> Bool {
        if path.isEmpty { return false }
        return try Self.translating(path) {
            writer.writeWithoutTransaction { database in
                var hasMoved: Int32 = 0
                let code = sqlite3_file_control(
                    database.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
                // A file system of somebody's own (VFS) need not know.
                return code == SQLITE_OK && hasMoved != 0
            }
        }
    }

    /// Goes on with the file that lies at the path now. The one that was open is closed.
    /// - Parameter check: throws where that file will not do. The store stays as it was then.
    /// - Throws: `databaseReplaced` on a connection of the app's; `databaseMissing`, `notADatabase`, `busy`, and what
    ///   `check` throws.
    public func reopen(_ check: (SQLConnection) throws -> Void) throws {
        guard let open else {
            throw FerryError(
                .databaseReplaced,
                "The database's file was deleted, or another one was put in its place, while the app had it open. What is "
                    + "written to this connection is lost. Close it and open the file again.", path: path)
        }
        let next = try open()
        do {
            try Self.translating(path) {
                try next.inDatabase { database in
                    guard let handle = database.sqliteConnection else {
                        throw FerryError(.database, "The database is closed.")
                    }
                    let connection = SQLConnection(handle, of: database)
                    defer { connection.finalizeStatements() }
                    try check(connection)
                }
            }
        } catch {
            try? next.close()  // nothing was done on it
            throw error
        }
        let former = writer
        former.writeWithoutTransaction { _ in
            kept?.clear()
            forgetWhatWasRead()
            opened.withLock { $0 = next }
        }
        try? former.close()  // its file is nobody's any more
    }
}
