import CFerrySQLite
import Synchronization

/// A version of the database's content: equal versions prove nothing has changed in between, by any connection.
///
/// Commits of further connections change SQLite's data version. Own writes change the count of changed rows, in any
/// transaction: https://www.sqlite.org/pragma.html#pragma_data_version,
/// https://www.sqlite.org/c3ref/total_changes.html. Changes without changed rows, such as a schema or a restored
/// backup, change the schema version.
package struct ContentVersion: Equatable, Sendable {
    /// SQLite's data version, which commits of further connections change.
    package let others: Int
    private let own: Int
    private let schema: Int

    package init(_ connection: SQLConnection) throws {
        others = try connection.count("PRAGMA data_version")
        schema = try connection.count("PRAGMA schema_version")
        own = Int(sqlite3_total_changes(connection.handle))
    }
}

/// Caches a value read from the whole database while nothing has changed. A sync with nothing new reads the records of
/// all devices several times.
///
/// Use only in transactions that only read. Content read after a write may be rolled back, but the count of changed
/// rows is not.
package final class QueryMemo<Value: Sendable>: Sendable {
    private let last = Mutex<(version: ContentVersion, value: Value)?>(nil)

    package init() {}

    package func value(_ connection: SQLConnection, _ read: (SQLConnection) throws -> Value) throws -> Value {
        let version = try ContentVersion(connection)
        if let last = last.withLock({ $0 }), last.version == version { return last.value }
        let value = try read(connection)
        last.withLock { $0 = (version, value) }
        return value
    }

    /// The version of the last access; `nil` before an access.
    package var version: ContentVersion? { last.withLock { $0?.version } }

    /// Forgets the cached value: a new connection counts its changes anew.
    package func forget() { last.withLock { $0 = nil } }
}
