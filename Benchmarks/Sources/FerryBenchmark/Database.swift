import CSQLiteSession

/// One SQLite connection, used as an app in C would: prepared statements, one row each.
final class Database {
    /// The page cache that Ferry has for itself (`Store`), for whoever stands beside it.
    static let pageCache = "PRAGMA cache_size = -50000"

    let handle: OpaquePointer
    private var statements: [String: Statement] = [:]
    /// Whether every transaction is recorded by SQLite's session extension, the baseline for capture.
    var recordsSessions = false
    private var session: OpaquePointer?
    /// The changesets that sessions recorded since they were last taken.
    private var changesets: [RecordedChangeset] = []
    /// While it is not `nil`, statements are not run: their text, with the values that are bound, is added to it.
    var script: String?

    /// Opens a database in write-ahead mode, synchronous NORMAL, foreign keys on.
    init(path: String) throws {
        var opened: OpaquePointer?
        let code = sqlite3_open_v2(path, &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let opened else { throw BenchmarkError("cannot open \(path)") }
        handle = opened
        sqlite3_busy_timeout(handle, 10_000)
        try execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON")
    }

    deinit {
        for statement in statements.values { statement.finalize() }
        sqlite3_close_v2(handle)
    }

    func execute(_ sql: String) throws { try check(sqlite3_exec(handle, sql, nil, nil, nil)) }

    /// The statement for a text; prepared once.
    func prepare(_ sql: String) throws -> Statement {
        if let known = statements[sql] { return known }
        var pointer: OpaquePointer?
        try check(sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil))
        guard let pointer else { throw BenchmarkError("empty statement") }
        let statement = Statement(pointer, self)
        statements[sql] = statement
        return statement
    }

    func integer(_ sql: String) throws -> Int { try prepare(sql).integer() }

    /// Runs `body` for each number below `count`, in transactions of `size`.
    func inTransactions(of size: Int, count: Int, _ body: (Int) throws -> Void) throws {
        let begin = try prepare("BEGIN IMMEDIATE")
        let commit = try prepare("COMMIT")
        var index = 0
        while index < count {
            if recordsSessions { try beginSession() }
            try begin.run()
            for _ in 0..<min(size, count - index) {
                try body(index)
                index += 1
            }
            try commit.run()
            if recordsSessions { try endSession() }
        }
    }

    /// Puts the log into the database file, and tells how many bytes of it are in use.
    func usedBytes() throws -> Int {
        try execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let pages = try integer("PRAGMA page_count") - integer("PRAGMA freelist_count")
        return try pages * integer("PRAGMA page_size")
    }

    func check(_ code: Int32) throws {
        guard code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE else {
            throw BenchmarkError("SQLite: " + String(cString: sqlite3_errmsg(handle)))
        }
    }

    private func beginSession() throws {
        try check(sqlite3session_create(handle, "main", &session))
        try check(sqlite3session_attach(session, nil))
    }

    private func endSession() throws {
        var size: Int32 = 0
        var buffer: UnsafeMutableRawPointer?
        try check(sqlite3session_changeset(session, &size, &buffer))
        if let buffer { changesets.append(RecordedChangeset(bytes: buffer, count: size)) }
        sqlite3session_delete(session)
        session = nil
    }

    /// The changesets recorded since the last call.
    func takeChangesets() -> [RecordedChangeset] {
        defer { changesets = [] }
        return changesets
    }

    /// A database of which the session extension records every transaction, and another one to which its changesets are
    /// applied. There foreign keys are off, because a changeset holds what cascades did as well, and the page cache is as large
    /// as that of Ferry's own connection.
    static func recording(
        _ workload: any Workload, in place: Place
    ) throws -> (recorded: Database, applied: Database) {
        let recorded = try Database(path: place.database("session"))
        try recorded.execute(workload.schema)
        recorded.recordsSessions = true
        let applied = try Database(path: place.database("applied"))
        try applied.execute(workload.schema)
        try applied.execute("PRAGMA foreign_keys = OFF; \(Self.pageCache)")
        return (recorded, applied)
    }

    /// Applies changesets by the session extension, in one transaction, as Ferry replays in one. None of them may be in
    /// conflict.
    func apply(_ changesets: [RecordedChangeset]) throws {
        try prepare("BEGIN IMMEDIATE").run()
        for changeset in changesets {
            try check(
                sqlite3changeset_apply(
                    handle, changeset.count, changeset.bytes, nil, { _, _, _ in SQLITE_CHANGESET_ABORT }, nil))
        }
        try prepare("COMMIT").run()
    }
}

/// One changeset of the session extension.
final class RecordedChangeset {
    let bytes: UnsafeMutableRawPointer
    let count: Int32

    /// - Parameter bytes: allocated by SQLite; freed with this.
    init(bytes: UnsafeMutableRawPointer, count: Int32) {
        self.bytes = bytes
        self.count = count
    }

    deinit { sqlite3_free(bytes) }
}

struct BenchmarkError: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}
