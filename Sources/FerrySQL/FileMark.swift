import CFerrySQLite
import FerryCore

/// The start and the size of a database's file, as read at the beginning of a transaction.
///
/// A program that copies another file over the database takes no locks. While a transaction of Ferry's is under way, the
/// file's start may not change: then nothing is written into a half copied file.
package struct FileMark: Equatable {
    private var start: [UInt8]
    private var size: Int64

    /// The length of SQLite's header. https://www.sqlite.org/fileformat2.html#the_database_header
    private static let length: Int32 = 100
    /// The bytes that a checkpoint leaves as they are: the magic words and the size of a page.
    private static let lasting = 18

    /// - Returns: `nil` for a database in memory.
    package init?(_ connection: SQLConnection) throws {
        var bytes = [UInt8](repeating: 0, count: Int(Self.length))
        var count = Self.length
        var size: Int64 = 0
        let code = bytes.withUnsafeMutableBytes {
            ferry_sqlite3_read_start(connection.handle, $0.baseAddress, &count, &size)
        }
        if code == SQLITE_NOTFOUND || code == SQLITE_OK && size == 0 && connection.isInMemory { return nil }
        if code != SQLITE_OK { throw connection.error(code, while: "the file's header") }
        start = Array(bytes.prefix(Int(max(count, 0))))
        self.size = size
    }

    /// Throws if another program wrote over the file since.
    /// - Throws: `databaseReplaced`; the caller rolls back.
    package func check(_ connection: SQLConnection) throws {
        guard let present = try FileMark(connection) else { return }
        if present.start == start, present.size >= size { return }
        // With a write-ahead log, another process may put commits into the file at any time.
        if present.start.prefix(Self.lasting) == start.prefix(Self.lasting), present.size > 0,
            try connection.firstValue("PRAGMA main.journal_mode") == .text("wal")
        {
            return
        }
        throw FerryError(
            .databaseReplaced,
            "Another program wrote over the database's file while changes were being merged. Nothing was written. Wait "
                + "until the program is done, and sync again.")
    }
}

extension SQLConnection {
    /// True for a database without a file.
    package var isInMemory: Bool { sqlite3_db_filename(handle, "main").map { $0.pointee == 0 } ?? true }

    /// Runs `body` inside a transaction. Before the commit, throws if another program wrote over the file since.
    package func guardingFile<Result>(_ body: () throws -> Result) throws -> Result {
        let mark = try FileMark(self)
        let result = try body()
        try mark?.check(self)
        return result
    }
}
