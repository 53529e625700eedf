import FerryCore
import FerrySQL
import Foundation
import GRDB
import GRDBSQLite

/// Replacement of the open database file by a different file.
extension Store {
    /// True if the store opened the file itself, and so can open a replacement.
    package var canReopen: Bool { open != nil }

    /// True if the open file is no longer at its path: moved, deleted or replaced.
    /// https://www.sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlhasmoved
    package func hasMoved() throws -> Bool {
        if path.isEmpty { return false }
        return try Self.translating(path) {
            try onWriter { database in
                var hasMoved: Int32 = 0
                let code = sqlite3_file_control(
                    database.sqliteConnection, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
                // A custom file system (VFS) may not support the query.
                return code == SQLITE_OK && hasMoved != 0
            }
        }
    }

    /// The size of the file at the path, in bytes; `nil` without a file. The size grows while a program copies a file over
    /// the database.
    package var fileSize: UInt64? {
        // Without a file, the reason is told by whoever opens the file.
        (try? FileManager.default.attributesOfItem(atPath: path))?[.size] as? UInt64
    }

    /// Opens the file now at the path, and closes the former file.
    /// - Parameter check: throws if the new file is unsuitable. The store stays unchanged then.
    /// - Throws: `databaseReplaced` on a connection of the app's; `databaseMissing`, `notADatabase`, `busy`, and errors
    ///   of `check`.
    package func reopen(_ check: (SQLConnection) throws -> Void) throws {
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
                    let connection = SQLConnection(handle, openedBy: database)
                    defer { connection.finalizeStatements() }
                    try check(connection)
                }
            }
        } catch {
            try? next.close()  // nothing was done on this connection
            throw error
        }
        let former = writer
        former.writeWithoutTransaction { _ in
            kept?.clear()
            forgetWhatWasRead()
            opened.withLock { $0 = next }
        }
        try? former.close()  // nobody uses the former file any more
    }
}
