import FerryCore
import FerryMerge

/// Keeps what concurrent writes lost, so that a person can see it and bring it back.
struct ConflictLog {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// - Parameters:
    ///   - column: the field's number; `nil` for a whole object.
    ///   - lost: the value that lost, and its stamp.
    ///   - kept: the value that is shown instead, and its stamp.
    func record(
        _ kind: Conflict.Kind, table: Int, object: ObjectID, column: Int?, lost: (value: FieldValue?, stamp: Stamp),
        kept: (value: FieldValue?, stamp: Stamp)
    ) throws {
        let statement = try access.conflictInsertion.prepared()
        statement.bind(table, 1)
        statement.bind(object, 2)
        if let column { statement.bind(column, 3) } else { statement.bind(-1, 3) }
        statement.bind(kind.rawValue, 4)
        try bind(lost, statement, 5)
        try bind(kept, statement, 8)
        statement.bind(access.clock.milliseconds(), 11)
        try statement.run()
    }

    static let insertion = """
        INSERT OR IGNORE INTO ferry_conflict(
            "table", object, "column", kind, lost_value, lost_device, lost_time, kept_value, kept_device, kept_time, noticed)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """

    private func bind(
        _ side: (value: FieldValue?, stamp: Stamp), _ statement: SQLStatement, _ place: Int32
    ) throws {
        if let value = side.value {
            var writer = ByteWriter()
            writer.write(value)
            statement.bind(blob: writer.bytes, place)
        } else {
            statement.bindNull(place)
        }
        statement.bind(try access.devices.number(of: side.stamp.device), place + 1)
        statement.bind(Int64(bitPattern: side.stamp.time.rawValue), place + 2)
    }

    func count() throws -> Int { try connection.count("SELECT count(*) FROM ferry_conflict") }

    /// Those that nobody has looked at yet.
    func unresolvedCount() throws -> Int {
        try connection.count("SELECT count(*) FROM ferry_conflict WHERE resolved IS NULL")
    }
}

/// What authors had seen when they wrote: tells whether a write that arrives late was known to what overwrote it.
struct ContextLog {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Notes what a changeset's author had seen of other logs, where that is more than before: from the time after its
    /// preceding changeset on.
    func record(_ context: VersionVector, of device: DeviceID, after preceding: HybridTime) throws {
        let author = try access.devices.number(of: device)
        for (device, position) in context.positions.sorted(by: { $0.key < $1.key }) {
            let other = try access.devices.number(of: device)
            try access.connection.execute(
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

    /// Forgets what nothing will ask for any more: what is still to come of a device's log is later than all that was
    /// replayed of it, so that an author who had seen no more of it cannot have known it.
    ///
    /// Only after everything that was replayed is merged.
    func prune() throws {
        try access.connection.execute(
            "DELETE FROM ferry_context WHERE seen <= (SELECT time FROM ferry_device WHERE number = other)")
    }

    /// Whether the author of the write stamped `later` had seen the one stamped `earlier`.
    func knew(_ later: Stamp, of earlier: Stamp) throws -> Bool {
        if later.device == earlier.device { return true }
        let statement = try access.contextSelection.prepared()
        defer { statement.rewind() }
        statement.bind(try access.devices.number(of: later.device), 1)
        statement.bind(try access.devices.number(of: earlier.device), 2)
        statement.bind(Int64(bitPattern: later.time.rawValue), 3)
        return try statement.step() && Int64(bitPattern: earlier.time.rawValue) <= statement.integer(0)
    }

    static let selection = """
        SELECT seen FROM ferry_context WHERE author = ? AND other = ? AND time <= ? ORDER BY time DESC LIMIT 1
        """
}
