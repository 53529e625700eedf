import CFerrySQLite
import FerryCore

/// Records a database's schema so that a device can join with an empty database, and creates it there.
struct SchemaRecorder {
    let connection: SQLConnection

    /// The app's schema: all that `sqlite_schema` holds but for Ferry's, SQLite's and virtual tables' own entries.
    func record(_ tracked: [TrackedTableRecord], references: [UndeclaredReference]) throws -> SchemaRecord {
        var shadows: Set<String> = []
        try connection.forEachRow("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'") {
            shadows.insert($0.string(0))
        }
        var statements: [SchemaRecord.Statement] = []
        try connection.forEachRow(
            """
            SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE sql IS NOT NULL
            ORDER BY CASE type WHEN 'table' THEN 0 WHEN 'index' THEN 1 WHEN 'view' THEN 2 ELSE 3 END, rowid
            """
        ) { row in
            let statement = SchemaRecord.Statement(
                type: row.string(0), name: row.string(1), table: row.string(2), sql: row.string(3))
            let name = foldedName(statement.name)
            if isFerryName(name) || name.hasPrefix("sqlite_") || shadows.contains(statement.name)
                || isFerryName(statement.table)
            {
                return
            }
            statements.append(statement)
        }
        return SchemaRecord(
            userVersion: Int64(try connection.count("PRAGMA user_version")),
            applicationID: Int64(try connection.count("PRAGMA application_id")), statements: statements,
            tracked: tracked, references: references)
    }

    /// Creates what a record holds and the database lacks.
    ///
    /// The record comes from the container, so SQLite's authorizer lets each statement do nothing but create.
    /// - Returns: the names of the tables created.
    func create(_ record: SchemaRecord) throws -> [String] {
        var present: Set<String> = []
        try connection.forEachRow("SELECT type || ' ' || name FROM sqlite_schema") {
            present.insert(foldedName($0.string(0)))
        }
        var created: [String] = []
        for statement in record.statements {
            if present.contains(foldedName("\(statement.type) \(statement.name)")) { continue }
            try connection.executeCreating(statement.sql)
            if statement.type == "table" { created.append(statement.name) }
        }
        if try connection.count("PRAGMA user_version") == 0 {
            try connection.executeScript("PRAGMA user_version = \(record.userVersion)")
        }
        if try connection.count("PRAGMA application_id") == 0 {
            try connection.executeScript("PRAGMA application_id = \(record.applicationID)")
        }
        return created
    }
}

extension SQLConnection {
    /// Runs one CREATE statement from outside, under an authorizer that denies everything else: other databases,
    /// reading or writing rows, PRAGMAs, dropping. Only modules of virtual tables look into tables of their own meanwhile:
    /// a `CREATE TABLE … AS SELECT` could go on for ever, and no schema holds one.
    ///
    /// Not for a connection of GRDB's, which has an authorizer of its own.
    func executeCreating(_ sql: String) throws {
        let virtual = "CREATE VIRTUAL TABLE "
        // What the authorizer is given in place of a context: whether a SELECT is a module's own.
        let maySelect = sql.prefix(virtual.count).uppercased() == virtual ? UnsafeMutableRawPointer(bitPattern: 1) : nil
        sqlite3_set_authorizer(
            handle,
            { maySelect, action, first, _, database, _ in
                let name = first.map { String(cString: $0) } ?? ""
                let isSchema = name == "sqlite_master" || name == "sqlite_schema" || name == "sqlite_sequence"
                switch action {
                case SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW,
                    SQLITE_CREATE_VTABLE, SQLITE_REINDEX, SQLITE_FUNCTION, SQLITE_READ:
                    return database.map { String(cString: $0) } == "temp" ? SQLITE_DENY : SQLITE_OK
                case SQLITE_SELECT, SQLITE_RECURSIVE:
                    return maySelect == nil ? SQLITE_DENY : SQLITE_OK
                case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                    // Virtual tables fill shadow tables of their own when they are created.
                    return isSchema || name.contains("_") ? SQLITE_OK : SQLITE_DENY
                case SQLITE_PRAGMA, SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
                    return action == SQLITE_PRAGMA ? (name == "data_version" ? SQLITE_OK : SQLITE_DENY) : SQLITE_OK
                default:
                    return SQLITE_DENY
                }
            }, maySelect)
        defer { sqlite3_set_authorizer(handle, nil, nil) }
        var statement: OpaquePointer?
        var bytes = Array(sql.utf8CString)
        let (code, isOne) = bytes.withUnsafeMutableBufferPointer { buffer -> (Int32, Bool) in
            var tail: UnsafePointer<CChar>?
            let code = sqlite3_prepare_v2(handle, buffer.baseAddress, -1, &statement, &tail)
            return (code, tail.map { $0.pointee == 0 } ?? true)
        }
        defer { sqlite3_finalize(statement) }
        // SQLite keeps every statement as one that begins so; others could write rows where a creation must be able to.
        guard code == SQLITE_OK, isOne, sql.prefix(7).uppercased() == "CREATE " else {
            throw FerryError(
                .damagedFile,
                "The container's schema holds a statement that cannot be run: "
                    + (code == SQLITE_OK
                        ? "it is not one that creates something" : String(cString: sqlite3_errmsg(handle)))
                    + ". Update Ferry on this device, or create the tables yourself.")
        }
        let result = sqlite3_step(statement)
        if result != SQLITE_DONE { throw error(result, while: sql) }
    }
}

/// Creates a database file, or what it lacks, from a record of the container's.
public enum DatabaseCreator {
    /// Opens `path` on a connection of its own, which is closed again, and creates what is missing.
    /// - Returns: the names of the tables created.
    public static func create(_ record: SchemaRecord, at path: String) throws -> [String] {
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nil)
        guard code == SQLITE_OK, let handle else {
            sqlite3_close(handle)
            throw FerryError(
                .inputOutput, "The database \(path) cannot be opened or made. Check the folder and its permissions.",
                path: path)
        }
        defer { sqlite3_close_v2(handle) }
        sqlite3_busy_timeout(handle, 10_000)
        let connection = SQLConnection(handle)
        defer { connection.finalizeStatements() }
        if try connection.count("SELECT count(*) FROM sqlite_schema") == 0 {
            // A new database gets the journal mode that suits two programs at once.
            try connection.executeScript("PRAGMA journal_mode = WAL")
        }
        try connection.executeScript("BEGIN IMMEDIATE")
        do {
            let created = try SchemaRecorder(connection: connection).create(record)
            connection.finalizeStatements()
            try connection.executeScript("COMMIT")
            return created
        } catch {
            connection.finalizeStatements()
            if connection.isInTransaction { try connection.executeScript("ROLLBACK") }
            throw error
        }
    }
}
