import FerryCore

/// The parts of the key-value store.
public enum KeyValueKind: Int64, CaseIterable, Hashable, Sendable {
    case value = 1
    case set = 2
    case counter = 3

    /// The part that a tracked table holds; `nil` for the app's own tables.
    init?(table: String) {
        guard table.hasPrefix("ferry_kv_"), let kind = Self.allCases.first(where: { $0.table == table }) else {
            return nil
        }
        self = kind
    }

    /// The tracked table that holds it.
    var table: String {
        switch self {
        case .value: "ferry_kv_value"
        case .set: "ferry_kv_member"
        case .counter: "ferry_kv_counter"
        }
    }
}

/// A key, a set or a counter that changed.
public struct KeyValueName: Hashable, Sendable {
    public var kind: KeyValueKind
    public var name: String

    public init(_ kind: KeyValueKind, _ name: String) {
        self.kind = kind
        self.name = name
    }
}

/// Collects what a transaction of Ferry's changes in the key-value store, and keeps the table `ferry_kv_change`: one
/// row for each key, set and counter that changed lately, numbered in the order of the changes.
///
/// Whoever remembers the last number it has seen finds what is new without comparing values, in whatever process the
/// change was made. Not safe to share; lives inside one transaction.
final class KeyValueChanges {
    /// Rows that are kept: those beyond it that changed first are forgotten.
    static let maximumRows = 100_000

    private var names: Set<KeyValueName> = []

    func note(_ kind: KeyValueKind, _ name: FieldValue?) {
        guard case .text(let bytes)? = name else { return }
        names.insert(KeyValueName(kind, String(decoding: bytes, as: UTF8.self)))
    }

    /// Writes down what was noted, as other devices' doing.
    func save(_ connection: SQLConnection) throws {
        if names.isEmpty { return }
        try Self.save(names, writer: nil, connection)
        names = []
    }

    /// - Parameter writer: who changed it; `nil` for other devices.
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
        // Revisions are handed out one by one, so that this keeps at most so many rows, and mostly asks the index.
        try connection.execute(
            "DELETE FROM ferry_kv_change WHERE revision <= ?", .integer(revision - Int64(maximumRows)))
    }

    /// The number of the last change; 0 before the first.
    static func revision(_ connection: SQLConnection) throws -> Int64 {
        Int64(try connection.count("SELECT max(revision) FROM ferry_kv_change"))
    }
}

/// The kind of ID by which a key-value store knows its own changes.
public enum KeyValueWriter {}

extension SQLConnection {
    /// This device's ID as a value, for rows that belong to one device.
    /// - Throws: `notTracked` where the database belongs to no container.
    public func thisDevice() throws -> FieldValue {
        let value = try firstValue(
            "SELECT id FROM ferry_device WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')")
        guard let value else { throw Store.notTracked }
        return value
    }

    /// The most rows that a part of the key-value store can have, told without counting them: the living objects that the
    /// state knows of, and as many as there are notes that are not packed yet.
    public func largestKeyValueCount(_ kind: KeyValueKind) throws -> Int {
        try count(
            """
            SELECT count FROM ferry_digest
            WHERE "table" = (SELECT number FROM ferry_table WHERE name = ?)
            """, .text(kind.table))
            + count("SELECT max(sequence) FROM ferry_pending") - count("SELECT min(sequence) FROM ferry_pending") + 1
    }

    /// Writes down that keys, sets or counters change in this transaction.
    public func noteKeyValueChanges(_ names: Set<KeyValueName>, by writer: UniqueID<KeyValueWriter>) throws {
        try KeyValueChanges.save(names, writer: writer, self)
    }

    /// The number of the last change to the key-value store; 0 before the first.
    public func keyValueRevision() throws -> Int64 { try KeyValueChanges.revision(self) }

    /// What changed after a revision; at most what is remembered.
    /// - Returns: each change once, with its writer: `nil` for other devices.
    public func keyValueChanges(
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
