import CFerrySQLite
import FerryCore

/// App writes inside a transaction of Ferry's. The transaction otherwise has triggers and foreign keys off. Changes are
/// captured like any write of the app.
extension SQLConnection {
    /// Runs `body` with triggers on, and with foreign keys enforced if `enforcingForeignKeys` is true.
    ///
    /// Before the call, rows must satisfy all foreign keys, as after every replay. SQLite counts broken foreign keys
    /// only while enforcing. After an error the transaction must be rolled back.
    /// - Throws: errors of `body`, and `database` if a deferred foreign key is left broken.
    package func writingAsApp<Result>(enforcingForeignKeys: Bool, _ body: () throws -> Result) throws -> Result {
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

    /// True if the transaction has left deferred foreign keys broken. SQLite would refuse to commit:
    /// https://www.sqlite.org/c3ref/c_dbstatus_options.html#sqlitedbstatusdeferredfks
    package func hasBrokenForeignKeys() throws -> Bool {
        var broken: Int32 = 0
        var highest: Int32 = 0
        let code = sqlite3_db_status(handle, SQLITE_DBSTATUS_DEFERRED_FKS, &broken, &highest, 0)
        if code != SQLITE_OK { throw error(code, while: "SQLITE_DBSTATUS_DEFERRED_FKS") }
        return broken != 0
    }

    /// Turns the enforcement of foreign keys on or off, also inside a transaction.
    package func setForeignKeysEnforced(_ enforced: Bool) throws {
        let code = ferry_sqlite3_enable_foreign_keys(handle, enforced ? 1 : 0, nil)
        if code != SQLITE_OK { throw error(code, while: "SQLITE_DBCONFIG_ENABLE_FKEY") }
    }
}
