import FerryCore
import FerrySchema
import Foundation
import GRDB

/// A function of the app called in a replay's transaction, after rows are merged and before the commit.
///
/// Ferry calls the hook on the connection's own thread with GRDB's `Database`, inside the transaction. Read and write
/// as in `write { … }`; do not begin or end transactions. Ferry captures the hook's writes like any write of the app.
/// They go to remote devices with the next pass; `Replica.sync` makes that pass at once.
///
/// The app's triggers run, and foreign keys are enforced if the connection enforces them. An error thrown by the hook
/// rolls the replay back, and the pass throws `replayHookFailed`.
///
/// A replay without changed rows calls no hook. All devices replay the same changes. So a hook on several
/// devices should write equal values under equal keys everywhere, or nothing if the row exists already.
public typealias ReplayHook = @Sendable (Database, ReplayedChanges) throws -> Void

/// The rows changed by a replay, as found on this device.
public struct ReplayedChanges: Sendable {
    /// Maximum number of named rows.
    package static let maximumRows = 10_000

    /// The changed rows of a table.
    public struct Table: Sendable {
        public var name: String
        /// The primary keys of inserted or updated rows, in key order.
        public var written: [[FieldValue]]
        /// The primary keys without a row now.
        public var removed: [[FieldValue]]
    }

    /// The tables with changed rows, by name; includes tables of the key-value store.
    public var tables: [Table]
    /// True if more rows changed than are named. Then read all rows of the tables.
    public var isTruncated: Bool

    /// The changes of a table, by the name as SQLite compares names; `nil` if none of the table's rows changed.
    public subscript(table name: String) -> Table? { tables.first { equalNames($0.name, name) } }
}

/// Collects the rows Ferry writes during a replay.
struct RowChangeLog {
    private var rows: [Int: [[FieldValue]: Bool]] = [:]
    private var count = 0
    private(set) var isTruncated = false

    /// - Parameter isRemoved: true if no row has the key now.
    mutating func note(_ table: Int, _ key: [FieldValue], isRemoved: Bool) {
        if rows[table]?[key] == nil {
            if count >= ReplayedChanges.maximumRows {
                isTruncated = true
                // The table is named even without further rows.
                rows[table] = rows[table] ?? [:]
                return
            }
            count += 1
        }
        rows[table, default: [:]][key] = isRemoved
    }

    func summary(_ registry: Registry) -> ReplayedChanges {
        let tables = rows.map { number, keys in
            ReplayedChanges.Table(
                name: registry[number].name, written: keys.filter { !$0.value }.map(\.key).sorted(by: Self.precedes),
                removed: keys.filter(\.value).map(\.key).sorted(by: Self.precedes))
        }
        return ReplayedChanges(tables: tables.sorted { $0.name < $1.name }, isTruncated: isTruncated)
    }

    private static func precedes(_ left: [FieldValue], _ right: [FieldValue]) -> Bool {
        left.lexicographicallyPrecedes(right)
    }
}

extension FieldValue {
    /// The value as a GRDB argument; a reference becomes NULL.
    public var databaseValue: DatabaseValue {
        switch self {
        case .null, .reference: .null
        case .integer(let integer): integer.databaseValue
        case .real(let real): real.databaseValue
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }

    /// Converts a value read by GRDB.
    package init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let double): self = .real(double)
        case .string(let string): self = .text(string)
        case .blob(let data): self = .blob(Array(data)[...])
        }
    }
}
