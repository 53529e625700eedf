import FerryCore
import FerryMerge
import FerrySQL

/// Records the values lost in concurrent writes, so a person can see and restore them.
struct ConflictLog {
    private let log: ConflictTable
    /// The batch of conflicts; `nil` if each conflict is written at once.
    private let gathered: Gathered?

    private final class Gathered {
        /// Number of conflicts written by a statement.
        let number: Int
        let statement: LazyStatement
        var entries: [Entry] = []

        init(_ table: ConflictTable, atOnce number: Int) {
            self.number = number
            statement = LazyStatement(ConflictTable.insertion(of: number), table.connection)
        }
    }

    fileprivate struct Entry {
        var kind: ConflictKind
        var object: RowToken
        var column: Int?
        var lost: (value: FieldValue?, stamp: Stamp)
        var kept: (value: FieldValue?, stamp: Stamp)
    }

    init(_ table: ConflictTable) {
        log = table
        gathered = nil
    }

    /// A log that writes several records by a statement, and the last records by `finish`. Nothing reads the records
    /// before.
    /// - Parameter number: the number of records written by a statement.
    init(gatheringIn table: ConflictTable, atOnce number: Int) {
        log = table
        gathered = Gathered(table, atOnce: number)
    }

    /// Records a conflict.
    /// - Parameters:
    ///   - column: the column's number; `nil` for a whole object.
    ///   - lost: the lost value with its stamp.
    ///   - kept: the winning value with its stamp.
    func record(
        _ kind: ConflictKind, of object: RowToken, column: Int?, lost: (value: FieldValue?, stamp: Stamp),
        kept: (value: FieldValue?, stamp: Stamp)
    ) throws {
        if log.silent.contains(object.table) { return }
        let entry = Entry(kind: kind, object: object, column: column, lost: lost, kept: kept)
        guard let gathered else { return try log.write(entry) }
        gathered.entries.append(entry)
        if gathered.entries.count < gathered.number { return }
        try log.write(gathered.entries, gathered.statement.prepared())
        gathered.entries.removeAll(keepingCapacity: true)
    }

    /// Writes the conflicts still in the batch.
    func finish() throws {
        guard let gathered else { return }
        for entry in gathered.entries { try log.write(entry) }
        gathered.entries.removeAll()
    }
}

/// The table `ferry_conflict`, for the writes of an access.
final class ConflictTable {
    fileprivate let connection: SQLConnection
    private let devices: DeviceNumbers
    private let clock: any WallClock
    private let insertion: LazyStatement
    /// Number of recorded conflicts. A rollback of a savepoint must restore the number.
    @exclusivity(unchecked) var recorded = 0
    /// The numbers of tables whose conflicts say nothing to anybody.
    @exclusivity(unchecked) var silent: Set<Int> = []

    init(_ connection: SQLConnection, _ devices: DeviceNumbers, _ clock: any WallClock) {
        self.connection = connection
        self.devices = devices
        self.clock = clock
        insertion = LazyStatement(Self.insertion(of: 1), connection)
    }

    static func insertion(of number: Int) -> String {
        """
        INSERT OR IGNORE INTO ferry_conflict(
            "table", object, "column", kind, lost_value, lost_device, lost_time, kept_value, kept_device, kept_time, noticed)
        VALUES \(Array(repeating: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", count: number).joined(separator: ", "))
        """
    }

    fileprivate func write(_ entry: ConflictLog.Entry) throws { try write([entry], insertion.prepared()) }

    fileprivate func write(_ entries: [ConflictLog.Entry], _ statement: SQLStatement) throws {
        let noticed = clock.milliseconds()
        var place: Int32 = 1
        for entry in entries {
            statement.bind(entry.object.table, place)
            statement.bind(entry.object.id, place + 1)
            statement.bind(entry.column ?? -1, place + 2)
            statement.bind(entry.kind.rawValue, place + 3)
            try bind(entry.lost, statement, place + 4)
            try bind(entry.kept, statement, place + 7)
            statement.bind(noticed, place + 10)
            place += 11
        }
        try statement.run()
        recorded += connection.changedRowCount
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
        statement.bind(try devices.number(of: side.stamp.device), place + 1)
        statement.bind(Int64(bitPattern: side.stamp.time.rawValue), place + 2)
    }

    /// The number of the last recorded conflict; 0 without any.
    static func lastNumber(_ connection: SQLConnection) throws -> Int64 {
        Int64(try connection.count("SELECT max(number) FROM ferry_conflict"))
    }

    /// The number of fields that differed, in rows and in unified rows.
    static func differingFieldCount(_ connection: SQLConnection) throws -> Int {
        try connection.count("SELECT count(*) FROM ferry_conflict WHERE kind IN ('field', 'joined')")
    }

    /// True if any conflict is unresolved.
    func hasUnresolved() throws -> Bool {
        try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_conflict WHERE resolved IS NULL)") != 0
    }

    /// True if a conflict of an object is unresolved.
    func isUnresolved(_ object: RowToken) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM ferry_conflict WHERE \"table\" = ? AND object = ? AND resolved IS NULL)",
            .integer(Int64(object.table)), .blob(object.id.bytes[...])) != 0
    }

    /// The objects of a table with fields that differed between a device's rows of a time and other rows.
    func differingObjects(in table: Int, of device: DeviceID, at time: HybridTime) throws -> Set<ObjectID> {
        var objects: Set<ObjectID> = []
        try connection.forEachRow(
            """
            SELECT DISTINCT object FROM ferry_conflict WHERE "table" = ?1 AND kind IN ('field', 'joined')
            AND (lost_device = ?2 AND lost_time = ?3 OR kept_device = ?2)
            """,
            [
                .integer(Int64(table)), .integer(Int64(try devices.number(of: device))),
                .integer(Int64(bitPattern: time.rawValue)),
            ]
        ) { if let id: ObjectID = $0.id(0) { objects.insert(id) } }
        return objects
    }

    /// The lost values of unresolved conflicts in columns of a table.
    func unresolvedValues(in table: Int, _ columns: [Int]) throws -> [FieldValue] {
        let list = columns.map { String($0) }.joined(separator: ", ")
        return try connection.rows(
            """
            SELECT lost_value FROM ferry_conflict
            WHERE resolved IS NULL AND lost_value IS NOT NULL AND "table" = ? AND "column" IN (\(list))
            """, .integer(Int64(table))
        ).map { row in
            guard case .blob(let bytes) = row[0] else { return .null }
            var reader = ByteReader(bytes)
            return try reader.readValue()
        }
    }

    /// Removes the conflicts of a kind that a device's write of a time lost.
    func forget(_ object: RowToken, _ kind: String, lost: Stamp) throws {
        try connection.execute(
            "DELETE FROM ferry_conflict WHERE \"table\" = ? AND object = ? AND kind = ? AND lost_device = ? AND lost_time = ?",
            .integer(Int64(object.table)), .blob(object.id.bytes[...]), .text(kind),
            .integer(Int64(try devices.number(of: lost.device))), .integer(Int64(bitPattern: lost.time.rawValue)))
    }

    /// Removes the conflicts about a field of an object that a write lost.
    func forget(_ object: RowToken, column: Int, lost: Stamp) throws {
        try connection.execute(
            """
            DELETE FROM ferry_conflict WHERE "table" = ? AND object = ? AND "column" = ? AND kind IN ('field', 'joined')
            AND lost_device = ? AND lost_time = ?
            """,
            .integer(Int64(object.table)), .blob(object.id.bytes[...]), .integer(Int64(column)),
            .integer(Int64(try devices.number(of: lost.device))), .integer(Int64(bitPattern: lost.time.rawValue)))
    }

    /// Number of unresolved conflicts.
    static func unresolvedCount(_ connection: SQLConnection) throws -> Int {
        try connection.count("SELECT count(*) FROM ferry_conflict WHERE resolved IS NULL")
    }
}

/// The kind of a conflict (the column `kind` of `ferry_conflict`).
public enum ConflictKind: String, CaseIterable, Codable, Sendable {
    /// Two devices wrote the same field.
    case field
    /// A write lost to a concurrent deletion.
    case deleted
    /// A deletion lost to a concurrent write.
    case revived
    /// Two rows with the same UNIQUE value were unified, and the row shows a value different from one of theirs.
    case joined
}
