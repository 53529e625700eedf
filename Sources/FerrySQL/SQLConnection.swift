import CFerrySQLite
import FerryCore

/// SQLite's raw handle and prepared statements, for a single access to the database.
///
/// Statements are finalized at the end of the access: an unfinalized statement stops an app from closing its GRDB pool.
/// GRDB's own statements and these share the handle and its transaction.
@usableFromInline package final class SQLConnection {
    @usableFromInline package let handle: OpaquePointer
    /// The object that opened the connection, if another one did. An app's hook gets that object.
    package private(set) weak var opener: AnyObject?
    /// True if the app's connection enforces foreign keys, during a transaction of Ferry's.
    package var appEnforcesForeignKeys = false
    /// True while triggers and foreign keys are off, for Ferry's own writes.
    @usableFromInline package var isAsFerry = false
    private var statements: [String: SQLStatement] = [:]
    /// True if the database stores texts in UTF-16. Then texts are translated in both directions.
    package private(set) lazy var isUTF16 = Self.isUTF16(handle)

    package init(_ handle: OpaquePointer, openedBy opener: AnyObject? = nil) {
        self.handle = handle
        self.opener = opener
    }

    /// - Returns: false also for an unreadable database: then no text can be read.
    private static func isUTF16(_ handle: OpaquePointer) -> Bool {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard sqlite3_prepare_v2(handle, "PRAGMA encoding", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW, let name = sqlite3_column_text(statement, 0)
        else { return false }
        return String(cString: name).hasPrefix("UTF-16")
    }

    /// Returns a reset statement with nothing bound. Equal texts share a statement: do not nest two uses of the same
    /// text.
    @usableFromInline package func prepare(_ sql: String) throws -> SQLStatement {
        let key = exactKey(sql)
        if let statement = statements[key] {
            statement.reset()
            return statement
        }
        let statement = try SQLStatement(sql, on: self)
        statements[key] = statement
        return statement
    }

    /// Makes a statement owned by the caller. The statement must be gone before the database is closed: owners live
    /// inside a single access.
    @usableFromInline package func makeStatement(_ sql: String) throws -> SQLStatement {
        try SQLStatement(sql, on: self)
    }

    /// Finalizes all statements.
    package func finalizeStatements() { statements.removeAll() }

    /// Runs a statement with parameter values.
    @usableFromInline package func execute(_ sql: String, _ values: FieldValue...) throws {
        try execute(sql, values)
    }

    package func execute(_ sql: String, _ values: [FieldValue]) throws {
        let statement = try prepare(sql)
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        try statement.run()
    }

    /// Runs statements separated by semicolons.
    @usableFromInline package func executeScript(_ sql: String) throws {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        if code != SQLITE_OK { throw error(code, while: sql) }
    }

    /// All rows of a query.
    package func rows(_ sql: String, _ values: FieldValue...) throws -> [[FieldValue]] {
        try rows(sql, values: values)
    }

    package func rows(_ sql: String, values: [FieldValue]) throws -> [[FieldValue]] {
        var rows: [[FieldValue]] = []
        try forEachRow(sql, values) { row in
            rows.append((0..<row.columnCount).map { row.value($0) })
        }
        return rows
    }

    /// The first column of the first row; `nil` without a row.
    @inlinable package func firstValue(_ sql: String, _ values: FieldValue...) throws -> FieldValue? {
        let statement = try prepare(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        return try statement.step() ? statement.value(0) : nil
    }

    /// The first column of the first row as an integer; 0 without a row or for NULL.
    @inlinable package func count(_ sql: String, _ values: FieldValue...) throws -> Int {
        try count(sql, values: values)
    }

    @inlinable package func count(_ sql: String, values: [FieldValue]) throws -> Int {
        let statement = try prepare(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        return try statement.step() ? statement.int(0) : 0
    }

    @inlinable package func forEachRow(
        _ sql: String, _ values: [FieldValue] = [], _ body: (SQLStatement) throws -> Void
    ) throws {
        let statement = try prepare(sql)
        defer { statement.reset() }
        for (index, value) in values.enumerated() { statement.bind(value, Int32(index + 1)) }
        while try statement.step() { try body(statement) }
    }

    /// True if a table has a full index beginning with a column.
    /// - Parameter collation: the index's collation for the column; `nil` for any.
    package func hasIndex(on table: String, beginningWith column: String, collation: String? = nil) throws -> Bool {
        try count(
            """
            SELECT EXISTS(SELECT 1 FROM pragma_index_list(?1) AS list, pragma_index_xinfo(list.name) AS term
            WHERE term.seqno = 0 AND term.name = ?2 COLLATE NOCASE AND NOT list.partial
                AND (?3 IS NULL OR term.coll = ?3 COLLATE NOCASE))
            """, .text(table), .text(column), collation.map { .text($0) } ?? .null) != 0
    }

    /// The number of rows changed by the last statement.
    @inlinable package var changedRowCount: Int { Int(sqlite3_changes(handle)) }

    /// True if a transaction is open; false after SQLite rolled back on its own:
    /// https://www.sqlite.org/lang_transaction.html#response_to_errors_within_a_transaction
    @inlinable package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// The value of `last_insert_rowid()`. An app may share the connection, so Ferry's transactions restore the app's
    /// value. https://www.sqlite.org/c3ref/set_last_insert_rowid.html
    package var lastInsertedKey: Int64 {
        get { sqlite3_last_insert_rowid(handle) }
        set { sqlite3_set_last_insert_rowid(handle, newValue) }
    }

    /// Runs `body` inside a savepoint; rolls the savepoint back after an error.
    @inlinable package func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("SAVEPOINT ferry")
        do {
            let result = try body()
            try execute("RELEASE ferry")
            return result
        } catch {
            // If the disk fails, SQLite rolls back the whole transaction on its own, including savepoints.
            if isInTransaction { try executeScript("ROLLBACK TO ferry; RELEASE ferry") }
            throw error
        }
    }

    /// Runs `body`, which only reads, in a transaction of its own. The statements are kept: a pass reads some forty times.
    @inlinable package func reading<Result>(_ body: () throws -> Result) throws -> Result {
        try execute("BEGIN DEFERRED")
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // A failed disk may have ended the transaction.
            if isInTransaction { try executeScript("ROLLBACK") }
            throw error
        }
    }

    /// Runs `body`, outside of a transaction, with commits that survive a loss of power, whatever the connection's
    /// setting.
    ///
    /// Without this, a database in WAL mode may lose commits under `synchronous = NORMAL`. A database with a rollback
    /// journal may lose its last commit even under FULL, because nothing makes the journal's removal durable:
    /// https://www.sqlite.org/pragma.html#pragma_synchronous
    ///
    /// SQLite lets no other program write while a commit waits for the disk, which takes longer than the work of most passes. In WAL
    /// mode the wait comes behind the commit, and holds nobody up. Others see the commit meanwhile, and may lose it with a loss of
    /// power, like any commit of theirs under NORMAL. So nothing outside of the database may follow from a commit before `body` and
    /// this call have returned.
    /// - Throws: `inputOutput` if the disk fails behind the commit; the commit stands then.
    @inlinable package func durably<Result>(_ body: () throws -> Result) throws -> Result {
        let present = try count("PRAGMA synchronous")
        let waitsBehind = try synchronizesLater()
        let wanted = waitsBehind ? 1 : max(present, 3)
        if present != wanted { try executeScript("PRAGMA synchronous = \(wanted)") }
        let work = Swift.Result { try body() }
        if present != wanted { try executeScript("PRAGMA synchronous = \(present)") }
        let result = try work.get()
        if waitsBehind { try synchronizeLog() }
        return result
    }

    /// Lets commits of this connection not wait for the disk, where `durably` can make them durable later. For a connection of Ferry's
    /// own, in no transaction.
    package func relaxCommits() throws {
        if try synchronizesLater() { try executeScript("PRAGMA synchronous = NORMAL") }
    }

    /// True if a commit can be made durable behind its transaction: in WAL mode, on a file system where appended bytes do no harm to
    /// bytes that are already there.
    @usableFromInline func synchronizesLater() throws -> Bool {
        guard case .text(let mode)? = try firstValue("PRAGMA journal_mode"), mode.elementsEqual("wal".utf8) else {
            return false
        }
        return ferry_sqlite3_overwrites_safely(handle) != 0
    }

    /// Makes all commits so far survive a loss of power, those of other programs too. Does nothing for a database without a log.
    /// - Throws: `inputOutput`.
    @usableFromInline package func synchronizeLog() throws {
        let code = ferry_sqlite3_synchronize_log(handle)
        if code == SQLITE_OK { return }
        // No statement failed, so the connection has no message.
        throw Self.error(code, message: String(cString: sqlite3_errstr(code)), while: "xSync of the write-ahead log")
    }

    /// Turns all triggers of this connection on or off.
    @usableFromInline package func setTriggersEnabled(_ enabled: Bool) throws {
        let code = ferry_sqlite3_enable_triggers(handle, enabled ? 1 : 0, nil)
        if code != SQLITE_OK { throw error(code, while: "SQLITE_DBCONFIG_ENABLE_TRIGGER") }
    }

    /// Runs `body` with all triggers of this connection off, as for Ferry's writes.
    @inlinable package func withoutTriggers<Result>(_ body: () throws -> Result) throws -> Result {
        if isAsFerry { return try body() }
        try setTriggersEnabled(false)
        let result = Swift.Result { try body() }
        try setTriggersEnabled(true)
        return try result.get()
    }

    /// SQLite's message for the last failed call.
    package var lastMessage: String { String(cString: sqlite3_errmsg(handle)) }

    @usableFromInline package func error(_ code: Int32, while sql: String) -> FerryError {
        let message = String(cString: sqlite3_errmsg(handle))
        return Self.error(code, message: message, while: sql, number: sqlite3_system_errno(handle))
    }

    /// True if SQLite lacks a collation or function of the app. https://www.sqlite.org/appfunc.html
    private static func isMissingPart(_ message: String) -> Bool {
        // SQLite finds no way to read a table WITHOUT ROWID whose key has such a collation.
        ["no such collation sequence", "no such function", "unknown function", "no query solution"].contains {
            message.hasPrefix($0)
        }
    }

    /// - Parameter number: the system's error number behind SQLite's error; 0 where nobody knows.
    package static func error(_ code: Int32, message: String, while sql: String, number: Int32 = 0) -> FerryError {
        let number = number == 0 ? SystemLimit.number(behind: code) : number
        return switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL:
            FerryError(.busy, "The database is locked by another program. Try again when it is done.")
        case SQLITE_NOTADB:
            FerryError(.notADatabase, "The file is not an SQLite database (or it is encrypted).")
        case SQLITE_CORRUPT:
            FerryError(
                .databaseCorrupt,
                "SQLite finds the database damaged (\(message)). Nothing more is written to it. Move it away and run "
                    + "`ferry join` with a new file to get everything back from the container.", detail: message)
        case SQLITE_FULL:
            FerryError(
                .inputOutput,
                "There is no room left on the disk of the database. Make room and try again; what was there is unchanged.",
                detail: message)
        case SQLITE_IOERR where number == SystemLimit.fileSize:
            FerryError(
                .inputOutput,
                "A file of the database would be larger than a limit allows (\(message)): raise the limit of this process "
                    + "(ulimit -f, LimitFSIZE=). What was there is unchanged.", detail: message)
        case SQLITE_IOERR where number == SystemLimit.openFiles, SQLITE_CANTOPEN where number == SystemLimit.openFiles:
            FerryError(
                .inputOutput,
                "The database cannot be read or written: \(message). Too many open files: raise the limit (ulimit -n, "
                    + "LimitNOFILE=).", detail: message)
        case SQLITE_IOERR, SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM:
            FerryError(
                .inputOutput,
                "The database cannot be read or written: \(message). Check its disk and the permissions of its folder, "
                    + "and try again.", detail: message)
        case SQLITE_ERROR where isMissingPart(message):
            FerryError(
                .missingFunction,
                "The database's schema uses a collation or a function that this process does not have (\(message)). Sync "
                    + "from the app that has it. Statement: \(sql.prefix(300))", detail: message)
        default:
            FerryError(
                .database, "SQLite refused a statement: \(message). Statement: \(sql.prefix(300))",
                cause: SQLiteRefusal(message: message), detail: message)
        }
    }
}

/// SQLite's own words about a refused statement.
package struct SQLiteRefusal: Error {
    package let message: String
}

extension FerryError {
    /// True if the statement, the schema or a trigger is the cause: file and disk are sound.
    package var isOfStatement: Bool { code == .database || code == .missingFunction }
}

/// Quotes an SQL identifier.
package func quoted(_ identifier: String) -> String {
    "\"" + doubling("\"", in: identifier) + "\""
}

/// Quotes an SQL string.
package func quotedText(_ text: String) -> String {
    "'" + doubling("'", in: text) + "'"
}

/// Doubles a quote wherever SQLite sees one, also before a combining mark: to Swift both are one character.
private func doubling(_ quote: Unicode.Scalar, in text: String) -> String {
    guard text.unicodeScalars.contains(quote) else { return text }
    var doubled = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
        if scalar == quote { doubled.append(quote) }
        doubled.append(scalar)
    }
    return String(doubled)
}

/// Returns a collation's name in capitals. SQLite ignores letter case in names of collations
/// (https://www.sqlite.org/datatype3.html#collating_sequences).
package func collationName(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x61...0x7a).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self)
}

extension SQLConnection {
    /// The collation of a column, by `sqlite3_table_column_metadata`.
    package func collation(ofColumn column: String, inTable table: String) throws -> String {
        var collation: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(handle, "main", table, column, nil, &collation, nil, nil, nil)
        if code != SQLITE_OK { throw error(code, while: "the collation of \(table).\(column)") }
        return collation.map { collationName(String(cString: $0)) } ?? "BINARY"
    }
}

/// A statement prepared at the first use, for a hot path. Saves a lookup by text.
@usableFromInline package final class LazyStatement {
    @usableFromInline let sql: String
    @usableFromInline let connection: SQLConnection
    @usableFromInline @exclusivity(unchecked) var statement: SQLStatement?

    package init(_ sql: String, _ connection: SQLConnection) {
        self.sql = sql
        self.connection = connection
    }

    /// The statement, ready to run. Bind every parameter: former bindings remain.
    @inlinable package func prepared() throws -> SQLStatement {
        if let statement {
            statement.rewind()
            return statement
        }
        let made = try connection.makeStatement(sql)
        statement = made
        return made
    }
}
