import CFerrySQLite
import FerryCore
import FerrySQL

/// Records a database's schema, and creates the schema in an empty database of a joining device.
package struct SchemaRecorder {
    package let connection: SQLConnection

    /// Records the app's schema: `sqlite_schema` without the entries of Ferry, SQLite and virtual tables.
    package func record(_ tracked: [TrackedTableRecord], references: [UndeclaredReference]) throws -> SchemaRecord {
        var shadows: Set<String> = []
        try connection.forEachRow("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'shadow'") {
            shadows.insert(foldedName($0.string(0)))
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
            if isFerryName(name) || name.hasPrefix("sqlite_") || shadows.contains(name)
                || isFerryName(statement.table)
            {
                return
            }
            statements.append(statement)
        }
        return SchemaRecord(
            userVersion: Int64(try connection.count("PRAGMA user_version")),
            applicationID: Int64(try connection.count("PRAGMA application_id")), statements: statements,
            tracked: tracked, references: references, bookkeeping: try BookkeepingTables(connection).read())
    }

    /// Creates the parts of a record missing from the database.
    ///
    /// The record comes from the container. So SQLite's authorizer permits each statement to create and nothing else. A
    /// virtual table impossible to make here is left out, with the triggers and views naming the virtual table. An app
    /// could not write to a table with such a trigger.
    package func create(_ record: SchemaRecord) throws -> CreatedSchema {
        var present: Set<String> = []
        try connection.forEachRow("SELECT type || ' ' || name FROM sqlite_schema") {
            present.insert(foldedName($0.string(0)))
        }
        var created = CreatedSchema()
        // A renamed table that the database still has under its former name is there.
        let names = Set(record.tracked.map { foldedName($0.statementName) })
        let renamed = Set(
            record.tracked.filter { table in
                table.localName != nil && !names.contains(foldedName(table.name))
                    && present.contains(foldedName("table \(table.name)"))
            }.map { foldedName($0.statementName) })
        for statement in record.statements {
            if present.contains(foldedName("\(statement.type) \(statement.name)")) { continue }
            if renamed.contains(foldedName(statement.table)) { continue }
            if ["trigger", "view"].contains(statement.type),
                let table = renamed.first(where: { IndexText.mentions(statement.sql, $0) })
            {
                created.leftOut.append(
                    LeftOutTable(
                        name: statement.name,
                        reason: "a \(statement.type) that names \(foldedText(table)), which has its former name here"))
                continue
            }
            if let virtual = VirtualTableText(statement.sql) {
                if let reason = try create(virtual, statement.sql) {
                    created.leftOut.append(LeftOutTable(name: statement.name, reason: reason))
                    continue
                }
            } else if let missing = created.leftOut.first(where: { Self.needs(statement, $0.name) }) {
                created.leftOut.append(
                    LeftOutTable(name: statement.name, reason: "a \(statement.type) that names \(missing.name)"))
                continue
            } else if let reason = try create(statement, besides: present) {
                created.leftOut.append(LeftOutTable(name: statement.name, reason: reason))
                continue
            }
            if statement.type == "table" { created.tables.append(statement.name) }
        }
        try checkIdentities(record.tracked)
        created.filled = try BookkeepingTables(connection).fill(created.tables, from: record)
        if try connection.count("PRAGMA user_version") == 0 {
            try connection.executeScript("PRAGMA user_version = \(record.userVersion)")
        }
        if try connection.count("PRAGMA application_id") == 0 {
            try connection.executeScript("PRAGMA application_id = \(record.applicationID)")
        }
        return created
    }

    /// True if a statement cannot be run without a table that is left out.
    private static func needs(_ statement: SchemaRecord.Statement, _ missing: String) -> Bool {
        switch statement.type {
        case "trigger", "view": IndexText.mentions(statement.sql, missing)
        case "index": equalNames(statement.table, missing)
        default: false
        }
    }

    /// Creates a part of the schema. A database that has tables of its own may have them by an older schema, or other things by
    /// the names: what does not fit there is left out, and concerns nothing else.
    /// - Parameter present: what the database had before, as `table name`.
    /// - Returns: `nil` on success, or why the part is left out.
    private func create(_ statement: SchemaRecord.Statement, besides present: Set<String>) throws -> String? {
        let taken = ["table", "view", "index", "trigger"].first { kind in
            kind != statement.type && present.contains(foldedName("\(kind) \(statement.name)"))
        }
        if let taken, statement.type != "trigger", taken != "trigger" {
            return "a \(statement.type), and \(statement.name) is a \(taken) here; rename one of them"
        }
        do {
            try connection.executeCreating(statement.sql)
            return nil
        } catch let error as FerryError
            where statement.type == "index" && [.database, .damagedFile].contains(error.code)
            && present.contains(foldedName("table \(statement.table)"))
        {
            return
                "an index that the table \(statement.table) cannot have here: it has other columns, or rows that the index refuses"
        }
    }

    /// Makes sure that tables have the columns of their declared identities.
    /// - Throws: `damagedFile`.
    private func checkIdentities(_ tracked: [TrackedTableRecord]) throws {
        for table in tracked {
            guard case .declared(let columns) = table.identity else { continue }
            var present: Set<String> = []
            try connection.forEachRow("SELECT name FROM pragma_table_xinfo(?)", [.text(table.statementName)]) {
                present.insert(foldedName($0.string(0)))
            }
            // A column of the identity may have been renamed since, or dropped.
            let local = table.identityColumns.count == columns.count ? table.identityColumns : columns
            if present.isEmpty || local.allSatisfy({ $0.isEmpty || present.contains(foldedName($0)) }) { continue }
            throw FerryError(
                .damagedFile,
                "The container's schema identifies the rows of \(table.name) by \(columns.joined(separator: ", ")), and "
                    + "the table has no such columns.")
        }
    }

    /// True if a database can have the record's schema, as far as SQLite tells without an app's own collations,
    /// functions and modules. Makes the schema in a database in memory.
    package static func isPossible(_ record: SchemaRecord) throws -> Bool {
        do {
            _ = try DatabaseCreator.create(record, at: ":memory:")
            return true
        } catch let error as FerryError where [.damagedFile, .database].contains(error.code) {
            return ["no such collation", "no such function", "no such module"].contains { error.message.contains($0) }
        }
    }

    /// Creates a virtual table.
    /// - Returns: `nil` on success, or why the table cannot be made here. A failure leaves nothing behind.
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

    package init(connection: SQLConnection) {
        self.connection = connection
    }
}

/// The outcome of creating a container's schema.
package struct CreatedSchema: Equatable, Sendable {
    /// The names of the created tables.
    package var tables: [String] = []
    /// Those of the created tables that have the rows of the container's record (`BookkeepingTables`).
    package var filled: [String] = []
    /// What cannot be made here, and the triggers and views naming it.
    package var leftOut: [LeftOutTable] = []

    package init() {}
}

extension SQLConnection {
    /// Runs a CREATE statement from outside, under a strict authorizer. The authorizer denies everything except
    /// creation: no attached databases, no reading or writing of rows, no PRAGMAs, no dropping.
    ///
    /// Only modules of virtual tables may read and write their own tables meanwhile. A `CREATE TABLE … AS SELECT` could
    /// run forever, and no recorded schema holds such a statement.
    ///
    /// Do not call this for a GRDB connection: GRDB installs its own authorizer.
    /// - Parameter isVirtual: true for a virtual table of a module known to be harmless.
    package func executeCreating(_ sql: String, isVirtual: Bool = false) throws {
        // The authorizer's context: non-nil if a SELECT is the module's own.
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
                    // A virtual table fills its own shadow tables on creation.
                    return isSchema || name.contains("_") ? SQLITE_OK : SQLITE_DENY
                case SQLITE_PRAGMA, SQLITE_TRANSACTION, SQLITE_SAVEPOINT:
                    // The PRAGMAs modules read and never set.
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
        // SQLite stores every schema statement beginning with CREATE. Any different statement could write rows where a
        // creation is permitted to.
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

/// Creates a database file, or the missing parts of a file, from a container's record.
package enum DatabaseCreator {
    /// Opens `path` on a temporary connection and creates the missing parts. Closes the connection.
    package static func create(_ record: SchemaRecord, at path: String) throws -> CreatedSchema {
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
            // WAL suits two programs at the same time, so a new database starts in WAL mode.
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
