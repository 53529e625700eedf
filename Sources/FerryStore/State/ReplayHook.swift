import FerryCore
import Foundation
import GRDB

/// What an app does in the transaction of a replay, after the rows are merged and before they are committed.
///
/// It is called on the connection's own thread with GRDB's `Database`, inside the transaction: read and write by it as
/// in `write { … }`, and do not begin or end transactions. What it writes is captured like any write of the app's and
/// goes to the other devices with the next pass (`Replica.sync` makes it at once); the app's triggers run, and foreign keys are enforced if the
/// connection enforces them. An error that it throws rolls the replay back, and the pass throws `replayHookFailed`.
///
/// It is not called for a replay that changes no row. All devices replay the same changes, so a hook that runs on several of them should write what does not differ from
/// device to device under the same keys, or nothing where the row is there already.
public typealias ReplayHook = @Sendable (Database, ReplayedChanges) throws -> Void

/// The rows that a replay changed, as they are found on this device.
public struct ReplayedChanges: Sendable {
    /// The most rows that are named.
    public static let maximumRows = 10_000

    /// The changed rows of one table.
    public struct Table: Sendable {
        public var name: String
        /// The primary keys of rows that were inserted or updated, in key order.
        public var written: [[FieldValue]]
        /// The primary keys under which there is no row any more.
        public var removed: [[FieldValue]]
    }

    /// The tables with changed rows, by name; Ferry's key-value store's among them.
    public var tables: [Table]
    /// Whether more rows changed than are named. Look at all rows of the tables then.
    public var isTruncated: Bool

    /// The changes of one table, by its name as SQLite compares names; `nil` where none of its rows changed.
    public subscript(table name: String) -> Table? { tables.first { equalNames($0.name, name) } }
}

/// Collects the rows that Ferry writes during a replay.
struct ChangedRows {
    private var rows: [Int: [[FieldValue]: Bool]] = [:]
    private var count = 0
    private(set) var isTruncated = false

    /// - Parameter isRemoved: whether there is no row under the key now.
    mutating func note(_ table: Int, _ key: [FieldValue], isRemoved: Bool) {
        if rows[table]?[key] == nil {
            if count >= ReplayedChanges.maximumRows {
                isTruncated = true
                // The table is named all the same.
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
    /// The value as GRDB takes it for an argument; a reference has none and becomes NULL.
    public var databaseValue: DatabaseValue {
        switch self {
        case .null, .reference: .null
        case .integer(let integer): integer.databaseValue
        case .real(let real): real.databaseValue
        case .text(let bytes): String(decoding: bytes, as: UTF8.self).databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }

    /// A value as GRDB read it.
    public init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let integer): self = .integer(integer)
        case .double(let double): self = .real(double)
        case .string(let string): self = .text(string)
        case .blob(let data): self = .blob(Array(data)[...])
        }
    }
}

extension StoreAccess {
    /// Calls the app's hook with what was replayed, as a write of the app's.
    /// - Throws: `replayHookFailed`.
    func run(_ hook: ReplayHook, _ changes: ReplayedChanges) throws {
        guard let database = connection.database else {
            throw FerryError(.internalInconsistency, "The database was closed during a replay.")
        }
        do {
            try connection.writingAsApp(enforcingForeignKeys: connection.appEnforcesForeignKeys) {
                try hook(database, changes)
                if !database.isInsideTransaction {
                    throw FerryError(.invalidArgument, "It ended the transaction, which is not its own.")
                }
            }
        } catch {
            let reason = (error as? FerryError)?.message ?? "\(error)"
            throw FerryError(
                .replayHookFailed,
                "The app's willCommitReplay failed, so nothing was replayed: \(reason) "
                    + "It is tried again with the next pass.", cause: error)
        }
    }
}
