import FerryCore
import FerryMerge

/// Records the values lost in concurrent writes, so a person can see and restore them.
struct ConflictLog {
    let access: StoreAccess
    /// The batch of conflicts; `nil` if each conflict is written at once.
    private let gathered: Gathered?
    private var connection: SQLConnection { access.connection }

    private final class Gathered {
        /// Number of conflicts written by a statement.
        let number: Int
        let statement: LazyStatement
        var entries: [Entry] = []

        init(_ access: StoreAccess) {
            number = access.newRowsAtOnce
            statement = LazyStatement(ConflictLog.insertion(of: number), access.connection)
        }
    }

    private struct Entry {
        var kind: Conflict.Kind
        var table: Int
        var object: ObjectID
        var column: Int?
        var lost: (value: FieldValue?, stamp: Stamp)
        var kept: (value: FieldValue?, stamp: Stamp)
    }

    init(_ access: StoreAccess) {
        self.access = access
        gathered = nil
    }

    /// Makes a log that writes several conflicts with a statement. `finish` writes the last ones. No caller reads
    /// conflicts before.
    init(gatheringIn access: StoreAccess) {
        self.access = access
        gathered = Gathered(access)
    }

    /// Records a conflict.
    /// - Parameters:
    ///   - column: the column's number; `nil` for a whole object.
    ///   - lost: the lost value with its stamp.
    ///   - kept: the winning value with its stamp.
    func record(
        _ kind: Conflict.Kind, table: Int, object: ObjectID, column: Int?, lost: (value: FieldValue?, stamp: Stamp),
        kept: (value: FieldValue?, stamp: Stamp)
    ) throws {
        let entry = Entry(kind: kind, table: table, object: object, column: column, lost: lost, kept: kept)
        guard let gathered else { return try write([entry], access.conflictInsertion.prepared()) }
        gathered.entries.append(entry)
        if gathered.entries.count < gathered.number { return }
        try write(gathered.entries, gathered.statement.prepared())
        gathered.entries.removeAll(keepingCapacity: true)
    }

    /// Writes the conflicts still in the batch.
    func finish() throws {
        guard let gathered else { return }
        for entry in gathered.entries { try write([entry], access.conflictInsertion.prepared()) }
        gathered.entries.removeAll()
    }

    static func insertion(of number: Int) -> String {
        """
        INSERT OR IGNORE INTO ferry_conflict(
            "table", object, "column", kind, lost_value, lost_device, lost_time, kept_value, kept_device, kept_time, noticed)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", count: number).joined(separator: ", "))
        """
    }

    private func write(_ entries: [Entry], _ statement: SQLStatement) throws {
        let noticed = access.clock.milliseconds()
        var place: Int32 = 1
        for entry in entries {
            statement.bind(entry.table, place)
            statement.bind(entry.object, place + 1)
            statement.bind(entry.column ?? -1, place + 2)
            statement.bind(entry.kind.rawValue, place + 3)
            try bind(entry.lost, statement, place + 4)
            try bind(entry.kept, statement, place + 7)
            statement.bind(noticed, place + 10)
            place += 11
        }
        try statement.run()
        access.recordedConflicts += connection.changedRowCount
    }

    private func bind(
        _ side: (value: FieldValue?, stamp: Stamp), _ statement: SQLStatement, _ place: Int32
    ) throws {
        let bytes = side.value.map { value in
            var writer = ByteWriter()
            writer.write(value)
            return writer.bytes
        }
        statement.bind(blob: bytes, place)
        statement.bind(try access.devices.number(of: side.stamp.device), place + 1)
        statement.bind(Int64(bitPattern: side.stamp.time.rawValue), place + 2)
    }

    /// Counts the conflicts no person has resolved.
    func unresolvedCount() throws -> Int {
        try connection.count("SELECT count(*) FROM ferry_conflict WHERE resolved IS NULL")
    }
}

/// The knowledge of authors at the time of writing. Determines whether an overwriting author knew a late-arriving
/// write.
struct ContextLog {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Records a changeset author's knowledge of logs where the knowledge grew. The entry counts from the time after
    /// the author's preceding changeset.
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

    /// Removes entries no query will need. Future changes of a device's log are later than everything replayed from the
    /// log. So an author with no more knowledge than this store cannot have known them.
    ///
    /// Call only after all replayed changes are merged.
    func prune() throws {
        try access.connection.execute(
            "DELETE FROM ferry_context WHERE seen <= (SELECT time FROM ferry_device WHERE number = other)")
    }

    /// True if the author of the write stamped `later` knew the write stamped `earlier`.
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
