import FerryCore
import FerrySQL
import FerrySchema

/// The parts of the key-value store.
package enum KeyValueKind: Int64, CaseIterable, Hashable, Sendable {
    case value = 1
    case set = 2
    case counter = 3

    /// The part stored in a tracked table; `nil` for the app's own tables.
    init?(table: String) {
        guard table.hasPrefix("ferry_kv_"), let kind = Self.allCases.first(where: { $0.table == table }) else {
            return nil
        }
        self = kind
    }

    /// The tracked table of the part.
    var table: String {
        switch self {
        case .value: "ferry_kv_value"
        case .set: "ferry_kv_member"
        case .counter: "ferry_kv_counter"
        }
    }
}

/// The name of a changed key, set or counter.
package struct KeyValueName: Hashable, Sendable {
    package var kind: KeyValueKind
    package var name: String

    package init(_ kind: KeyValueKind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Collects a transaction's changes to the key-value store, and maintains the table `ferry_kv_change`. The table has a
/// row for each recently changed key, set and counter, numbered in the order of changes.
///
/// A reader with the last number seen finds new changes without comparing values, whichever process made them. Not safe
/// to share; lives inside a single transaction.
final class KeyValueChangeLog {
    /// Maximum number of rows. The rows with the oldest changes are forgotten first.
    static let maximumRows = 100_000

    private var names: Set<KeyValueName> = []

    var isEmpty: Bool { names.isEmpty }

    func note(_ kind: KeyValueKind, _ name: FieldValue?) {
        guard case .text(let bytes)? = name else { return }
        names.insert(KeyValueName(kind, String(decoding: bytes, as: UTF8.self)))
    }

    /// Writes the recorded changes, as changes of remote devices.
    func save(_ connection: SQLConnection) throws {
        if names.isEmpty { return }
        try Self.save(names, writer: nil, connection)
        names = []
    }

    /// - Parameter writer: the author of the changes; `nil` for remote devices.
    static func save(_ names: Set<KeyValueName>, writer: UniqueID<KeyValueWriter>?, _ connection: SQLConnection) throws
    {
        var revision = try revision(connection)
        for name in names {
            revision += 1
            try connection.execute(
                """
                INSERT INTO ferry_kv_change(kind, name, revision, writer) VALUES (?, ?, ?, ?)
                ON CONFLICT(kind, name) DO UPDATE SET revision = excluded.revision, writer = excluded.writer
                """, .integer(name.kind.rawValue), .text(name.name), .integer(revision),
                writer.map { .blob($0.bytes[...]) } ?? .null)
        }
        // Each change has its own revision, so this statement bounds the number of rows, and usually reads only the
        // index.
        try connection.execute(
            "DELETE FROM ferry_kv_change WHERE revision <= ?", .integer(revision - Int64(maximumRows)))
    }

    /// The number of the last change; 0 before the first.
    static func revision(_ connection: SQLConnection) throws -> Int64 {
        // No store counts further, and numbers behind can still be made.
        min(max(Int64(try connection.count("SELECT max(revision) FROM ferry_kv_change")), 0), 1 << 62)
    }
}

/// The kind of ID by which a key-value store recognizes its own changes.
package enum KeyValueWriter {}

extension SQLConnection {
    /// This device's ID as a value, for rows owned by a device.
    /// - Throws: `notTracked` if the database belongs to no container.
    package func thisDevice() throws -> FieldValue {
        guard let value = try DeviceTable(self).ownID() else { throw StoreIdentity.notTracked }
        return value
    }

    /// An upper bound of the rows in a part of the key-value store, without counting rows. The sum of living objects in
    /// the state and pending changes.
    package func largestKeyValueCount(_ kind: KeyValueKind) throws -> Int {
        let table = try RegisteredTables(self).generations(of: kind.table).first
        return try (table.map { try DigestTable(self).livingObjects(of: $0.number) } ?? 0) + PendingTable(self).span()
    }

    /// Records changes of keys, sets or counters in this transaction.
    package func recordKeyValueChanges(_ names: Set<KeyValueName>, by writer: UniqueID<KeyValueWriter>) throws {
        try KeyValueChangeLog.save(names, writer: writer, self)
    }

    /// The number of the last change to the key-value store; 0 before the first.
    package func keyValueRevision() throws -> Int64 { try KeyValueChangeLog.revision(self) }

    /// The changes after a revision, as far as remembered.
    /// - Returns: each change once, with its writer: `nil` for remote devices.
    package func keyValueChanges(
        after revision: Int64
    ) throws -> [(name: KeyValueName, writer: UniqueID<KeyValueWriter>?)] {
        var changes: [(name: KeyValueName, writer: UniqueID<KeyValueWriter>?)] = []
        try forEachRow(
            "SELECT kind, name, writer FROM ferry_kv_change WHERE revision > ? ORDER BY revision", [.integer(revision)]
        ) { row in
            guard let kind = KeyValueKind(rawValue: row.integer(0)) else { return }
            changes.append((KeyValueName(kind, row.string(1)), row.id(2)))
        }
        return changes
    }
}
