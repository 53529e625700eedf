import GRDBSQLite
import Synchronization

/// Tells whether anything in the database can have changed since it was asked for before, by whomever.
///
/// Others' commits change SQLite's data version, the connection's own writes its count of changed rows, in whichever
/// transaction: https://www.sqlite.org/pragma.html#pragma_data_version, https://www.sqlite.org/c3ref/total_changes.html.
/// What changes no row, as a schema or a backup that is read in, changes the version of the schema.
struct ContentVersion: Equatable, Sendable {
    private let others: Int
    private let own: Int
    private let schema: Int

    init(_ connection: SQLConnection) throws {
        others = try connection.count("PRAGMA data_version")
        schema = try connection.count("PRAGMA schema_version")
        own = Int(sqlite3_total_changes(connection.handle))
    }
}

/// What was read of the whole database last, for as long as nothing in it has changed: a look that finds nothing new reads the
/// records of all devices several times.
///
/// For transactions that only read. What a transaction read after writing may be rolled back, and the count of changed rows
/// is not.
final class ReadingMemo<Value: Sendable>: Sendable {
    private let last = Mutex<(version: ContentVersion, value: Value)?>(nil)

    func value(_ connection: SQLConnection, _ read: (SQLConnection) throws -> Value) throws -> Value {
        let version = try ContentVersion(connection)
        if let last = last.withLock({ $0 }), last.version == version { return last.value }
        let value = try read(connection)
        last.withLock { $0 = (version, value) }
        return value
    }

    /// Forgets what was read: another connection counts its changes anew.
    func forget() { last.withLock { $0 = nil } }
}
