import FerryCore
import FerrySQL

/// An encoded segment waiting to be published.
package struct OutboxEntry: Sendable {
    package var first: UInt64
    package var last: UInt64
    /// Number of operations.
    package var changes: Int
    package var checksum: Checksum
    package var bytes: [UInt8]
    /// The numbers of its changesets, whatever the table says.
    package var numbers: ClosedRange<UInt64> { first...max(first, last) }

    package init(first: UInt64, last: UInt64, changes: Int, checksum: Checksum, bytes: [UInt8]) {
        self.first = first
        self.last = last
        self.changes = changes
        self.checksum = checksum
        self.bytes = bytes
    }
}

/// An outbox entry without its bytes.
package struct OutboxSize: Equatable, Sendable {
    package var first: UInt64
    package var last: UInt64
    /// Number of operations.
    package var changes: Int
    package var bytes: Int
    /// True if the entry has large values. Such an entry stays as it is.
    package var hasParts: Bool

    package init(first: UInt64, last: UInt64, changes: Int, bytes: Int, hasParts: Bool = false) {
        self.first = first
        self.last = last
        self.changes = changes
        self.bytes = bytes
        self.hasParts = hasParts
    }
}

/// The packed segments not in the container yet. Staged in the packing transaction, removed after publication.
/// Publishing a segment twice writes the same file.
///
/// Invariant: entries cover consecutive changesets without overlap.
struct Outbox {
    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    func stage(_ entry: OutboxEntry) throws {
        try connection.execute(
            "INSERT INTO ferry_outbox VALUES (?, ?, ?, ?, ?)", .integer(Int64(entry.first)),
            .integer(Int64(entry.last)),
            .integer(Int64(entry.changes)), .blob(entry.checksum.bytes[...]), .blob(entry.bytes[...]))
    }

    /// The oldest entry beginning after `sequence`.
    func entry(after sequence: UInt64) throws -> OutboxEntry? {
        let rows = try connection.rows(
            "SELECT first, last, changes, checksum, bytes FROM ferry_outbox WHERE first > ? ORDER BY first LIMIT 1",
            .integer(Int64(sequence)))
        guard let row = rows.first else { return nil }
        guard case .integer(let first) = row[0], case .integer(let last) = row[1], case .integer(let changes) = row[2],
            case .blob(let checksum) = row[3], let id = Checksum(bytes: checksum), case .blob(let bytes) = row[4]
        else { throw FerryError(.internalInconsistency, "The outbox holds an unreadable entry.") }
        return OutboxEntry(
            first: UInt64(clamping: first), last: UInt64(clamping: last), changes: Int(changes), checksum: id,
            bytes: Array(bytes))
    }

    func remove(first: UInt64) throws {
        try connection.execute("DELETE FROM ferry_outbox WHERE first = ?", .integer(Int64(first)))
    }

    func sizes() throws -> [OutboxSize] {
        var sizes: [OutboxSize] = []
        let large = try PartTable(connection).segments()
        try connection.forEachRow("SELECT first, last, changes, length(bytes) FROM ferry_outbox ORDER BY first") {
            let (first, last) = (UInt64(clamping: $0.integer(0)), UInt64(clamping: $0.integer(1)))
            sizes.append(
                OutboxSize(
                    first: first, last: last, changes: $0.int(2), bytes: $0.int(3),
                    hasParts: large.contains([first, last])))
        }
        return sizes
    }

    func gather(_ entry: OutboxEntry) throws {
        try connection.execute(
            "DELETE FROM ferry_outbox WHERE first >= ? AND last <= ?", .integer(Int64(entry.first)),
            .integer(Int64(entry.last)))
        try stage(entry)
    }

    func count() throws -> Int { try connection.count("SELECT count(*) FROM ferry_outbox") }

    /// The number of operations in all entries.
    func changeCount() throws -> Int { try connection.count("SELECT coalesce(sum(changes), 0) FROM ferry_outbox") }

    /// The first changeset in the outbox; `nil` for an empty outbox.
    func first() throws -> UInt64? {
        guard case .integer(let first)? = try connection.firstValue("SELECT min(first) FROM ferry_outbox")
        else { return nil }
        return UInt64(clamping: first)
    }

    /// The checksum of the entry that ends with a changeset; `nil` without such an entry.
    func checksum(endingWith sequence: UInt64) throws -> Checksum? {
        let value = try connection.firstValue(
            "SELECT checksum FROM ferry_outbox WHERE last = ?", .integer(Int64(clamping: sequence)))
        guard case .blob(let bytes)? = value else { return nil }
        return Checksum(bytes: bytes)
    }

    func removeAll() throws { try connection.execute("DELETE FROM ferry_outbox") }
}
