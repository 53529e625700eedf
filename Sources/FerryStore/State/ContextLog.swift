import FerryCore
import FerrySQL
import FerrySchema

/// The knowledge of authors at the time of writing. Determines whether an overwriting author knew a late-arriving
/// write.
final class ContextLog {
    private let connection: SQLConnection
    private let devices: DeviceNumbers
    private let selection: LazyStatement

    init(_ connection: SQLConnection, _ devices: DeviceNumbers) {
        self.connection = connection
        self.devices = devices
        selection = LazyStatement(
            "SELECT seen FROM ferry_context WHERE author = ? AND other = ? AND time <= ? ORDER BY time DESC LIMIT 1",
            connection)
    }

    /// Records a changeset author's knowledge of logs where the knowledge grew. The entry counts from the time after
    /// the author's preceding changeset.
    func record(_ context: VersionVector, of device: DeviceID, after preceding: HybridTime) throws {
        let author = try devices.number(of: device)
        for (device, position) in context.positions.sorted(by: { $0.key < $1.key }) {
            let other = try devices.number(of: device)
            try connection.execute(
                """
                INSERT OR IGNORE INTO ferry_context
                SELECT ?1, ?2, ?3, ?4 WHERE ?4 > coalesce((
                    SELECT seen FROM ferry_context WHERE author = ?1 AND other = ?2 AND time <= ?3
                    ORDER BY time DESC LIMIT 1), -1)
                """, .integer(Int64(author)), .integer(Int64(other)),
                .integer(Int64(bitPattern: preceding.next.rawValue)),
                .integer(Int64(bitPattern: position.time.rawValue)))
        }
    }

    /// An entry: the author had seen the other device's log up to `seen` at a time.
    struct Entry {
        var author: DeviceID
        var other: DeviceID
        var time: HybridTime
        var seen: HybridTime
    }

    /// Adds an entry of a snapshot.
    func add(_ entry: Entry) throws {
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_context VALUES (?, ?, ?, ?)",
            .integer(Int64(try devices.number(of: entry.author))), .integer(Int64(try devices.number(of: entry.other))),
            .integer(Int64(bitPattern: entry.time.rawValue)), .integer(Int64(bitPattern: entry.seen.rawValue)))
    }

    /// The knowledge of logs beyond their replayed positions; the rest answers no query any more.
    func entriesBeyondReplay() throws -> [Entry] {
        var entries: [Entry] = []
        try connection.forEachRow(
            """
            SELECT author, other, time, seen FROM ferry_context WHERE seen > \(DeviceTable.time(ofNumber: "other"))
            """
        ) { row in
            entries.append(
                Entry(
                    author: try devices.device(row.int(0)), other: try devices.device(row.int(1)),
                    time: HybridTime(rawValue: UInt64(bitPattern: row.integer(2))),
                    seen: HybridTime(rawValue: UInt64(bitPattern: row.integer(3)))))
        }
        return entries.sorted { ($0.author, $0.other, $0.time) < ($1.author, $1.other, $1.time) }
    }

    /// Removes entries no query will need. Future changes of a device's log are later than everything replayed from the
    /// log. So an author with no more knowledge than this store cannot have known them.
    ///
    /// Call only after all replayed changes are merged.
    func prune() throws {
        try connection.execute(
            "DELETE FROM ferry_context WHERE seen <= \(DeviceTable.time(ofNumber: "other"))")
    }

    /// True if the author of the write stamped `later` knew the write stamped `earlier`.
    func knew(_ later: Stamp, of earlier: Stamp) throws -> Bool {
        if later.device == earlier.device { return true }
        let statement = try selection.prepared()
        defer { statement.rewind() }
        statement.bind(try devices.number(of: later.device), 1)
        statement.bind(try devices.number(of: earlier.device), 2)
        statement.bind(Int64(bitPattern: later.time.rawValue), 3)
        return try statement.step() && Int64(bitPattern: earlier.time.rawValue) <= statement.integer(0)
    }
}
