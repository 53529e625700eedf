import CFerrySQLite
import FerryCore

/// Writes of an app's kind inside a transaction of Ferry's, which otherwise has triggers and foreign keys off: what they
/// change is captured like anything that the app writes.
extension SQLConnection {
    /// Runs `body` with triggers on, and with foreign keys enforced where `enforcingForeignKeys` says so.
    ///
    /// Before it the rows must satisfy all foreign keys, as they do after every replay, because SQLite counts what a
    /// transaction breaks and mends only while it enforces. Where this throws the transaction must be rolled back.
    /// - Throws: what `body` throws, and `database` where a deferred foreign key is left broken.
    func writingAsApp<Result>(enforcingForeignKeys: Bool, _ body: () throws -> Result) throws -> Result {
        if enforcingForeignKeys { try setForeignKeysEnforced(true) }
        try setTriggersEnabled(true)
        let result = try body()
        if enforcingForeignKeys, try hasBrokenForeignKeys() {
            throw FerryError(.database, "FOREIGN KEY constraint failed: a row refers to one that is not there.")
        }
        try setTriggersEnabled(false)
        if enforcingForeignKeys { try setForeignKeysEnforced(false) }
        return result
    }

    /// Whether the transaction has left deferred foreign keys broken, for which SQLite would refuse to commit it:
    /// https://www.sqlite.org/c3ref/c_dbstatus_options.html#sqlitedbstatusdeferredfks
    func hasBrokenForeignKeys() throws -> Bool {
        var broken: Int32 = 0
        var highest: Int32 = 0
        let code = sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &broken, &highest, 0)
        if code != SQLITE_OK { throw error(code, while: "SQLITE_DBSTATUS_DEFERRED_FKS") }
        return broken != 0
    }

    /// Turns the enforcement of foreign keys on or off, inside a transaction too.
    func setForeignKeysEnforced(_ enforced: Bool) throws {
        let code = ferry_sqlite3_enable_foreign_keys(handle, enforced ? 1 : 0, nil)
        if code != SQLITE_OK { throw error(code, while: "SQLITE_DBCONFIG_ENABLE_FKEY") }
    }
}
