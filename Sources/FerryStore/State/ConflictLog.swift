import FerryCore
import FerryMerge

/// Keeps what concurrent writes lost, so that a person can see it and bring it back.
struct ConflictLog {
    let access: StoreAccess
    /// What is written with more; `nil` where each is written at once.
    private let gathered: Gathered?
    private var connection: SQLConnection { access.connection }

    private final class Gathered {
        /// How many are written by one statement.
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

    /// A log of which several records are written by one statement, the last ones by `finish`. Nobody asks for any before.
    init(gatheringIn access: StoreAccess) {
        self.access = access
        gathered = Gathered(access)
    }

    /// - Parameters:
    ///   - column: the field's number; `nil` for a whole object.
    ///   - lost: the value that lost, and its stamp.
    ///   - kept: the value that is shown instead, and its stamp.
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

    /// Writes what was gathered.
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
