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
    /// A virtual table that cannot be made here is left out, and so are the triggers and views that name it: an app could
    /// not write to its tables beside such a trigger.
    func create(_ record: SchemaRecord) throws -> CreatedSchema {
        var present: Set<String> = []
        try connection.forEachRow("SELECT type || ' ' || name FROM sqlite_schema") {
            present.insert(foldedName($0.string(0)))
        }
        var created = CreatedSchema()
        for statement in record.statements {
            if present.contains(foldedName("\(statement.type) \(statement.name)")) { continue }
            if let virtual = VirtualTableText(statement.sql) {
                if let reason = try create(virtual, statement.sql) {
                    created.leftOut.append(LeftOutTable(name: statement.name, reason: reason))
                    continue
                }
            } else if ["trigger", "view"].contains(statement.type),
                let missing = created.leftOut.first(where: { IndexText.mentions(statement.sql, $0.name) })
            {
                created.leftOut.append(
                    LeftOutTable(name: statement.name, reason: "a \(statement.type) that names \(missing.name)"))
                continue
            } else {
                try connection.executeCreating(statement.sql)
            }
            if statement.type == "table" { created.tables.append(statement.name) }
        }
        if try connection.count("PRAGMA user_version") == 0 {
            try connection.executeScript("PRAGMA user_version = \(record.userVersion)")
        }
        if try connection.count("PRAGMA application_id") == 0 {
            try connection.executeScript("PRAGMA application_id = \(record.applicationID)")
        }
        return created
    }

    /// Creates a virtual table.
    /// - Returns: `nil`, or why it cannot be made here. Nothing is left of it then.
    private func create(_ virtual: VirtualTableText, _ sql: String) throws -> String? {
        if !virtual.isOfKnownModule {
            return "a virtual table of the module \(virtual.module), which Ferry does not make; let the app make it"
        }
        do {
            try connection.savepoint { try connection.executeCreating(sql, isVirtual: true) }
            return nil
        } catch let error as FerryError where [.database, .damagedFile].contains(error.code) {
            return "a virtual table of the module \(virtual.module), which cannot be made here; let the app make it"
        }
    }
}

/// What was made of a container's schema.
public struct CreatedSchema: Equatable, Sendable {
    /// The names of the tables created.
    public var tables: [String] = []
    /// Virtual tables that could not be made, and the triggers and views that name them.
    public var leftOut: [LeftOutTable] = []

    public init() {}
}

extension SQLConnection {
    /// Runs one CREATE statement from outside, under an authorizer that denies everything else: other databases,
    /// reading or writing rows, PRAGMAs, dropping. Only modules of virtual tables look into tables of their own meanwhile:
    /// a `CREATE TABLE … AS SELECT` could go on for ever, and no schema holds one.
    ///
    /// Not for a connection of GRDB's, which has an authorizer of its own.
    /// - Parameter isVirtual: whether it makes a virtual table of a module that is known to do no harm.
    func executeCreating(_ sql: String, isVirtual: Bool = false) throws {
        // What the authorizer is given in place of a context: whether a SELECT is a module's own.
        let maySelect = isVirtual ? UnsafeMutableRawPointer(bitPattern: 1) : nil
        sqlite3_set_authorizer(
            handle,
            { maySelect, action, first, second, database, _ in
                let name = first.map { String(cString: $0) } ?? ""
                let isSchema = name == "sqlite_master" || name == "sqlite_schema" || name == "sqlite_sequence"
                switch action {
                case SQLITE_CREATE_VTABLE:
                    return maySelect == nil ? SQLITE_DENY : SQLITE_OK
                case SQLITE_CREATE_TABLE, SQLITE_CREATE_INDEX, SQLITE_CREATE_TRIGGER, SQLITE_CREATE_VIEW,
                    SQLITE_REINDEX,
                    SQLITE_FUNCTION, SQLITE_READ:
                    return database.map { String(cString: $0) } == "temp" ? SQLITE_DENY : SQLITE_OK
                case SQLITE_SELECT, SQLITE_RECURSIVE:
                    return maySelect == nil ? SQLITE_DENY : SQLITE_OK
                case SQLITE_INSERT, SQLITE_UPDATE, SQLITE_DELETE:
                    // Virtual tables fill shadow tables of their own when they are created.
                    return isSchema || name.contains("_") ? SQLITE_OK : SQLITE_DENY
                case SQLITE_PRAGMA, SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
                    // What modules ask: read, and never set.
                    let isAsked = (name == "data_version" || name == "page_size") && second == nil
                    return action == SQLITE_PRAGMA ? (isAsked ? SQLITE_OK : SQLITE_DENY) : SQLITE_OK
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
    public static func create(_ record: SchemaRecord, at path: String) throws -> CreatedSchema {
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
