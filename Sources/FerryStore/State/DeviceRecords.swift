import FerryCore

/// What this store remembers of a device: how far its log is replayed here, and when it was heard of.
public struct DeviceRecord: Equatable, Sendable {
    public var id: DeviceID
    public var name: String
    /// What is replayed of its log here; of this device's own, what is packed.
    public var position: LogPosition
    /// When its last head seen here was written, by its own clock, in milliseconds since the Unix epoch; `nil` where none
    /// was seen.
    public var writtenMilliseconds: Int64?
    /// When that head was first seen here, by this device's clock.
    public var heardMilliseconds: Int64?
    /// The checksum of the last segment packed or replayed of its log; `nil` where it is not known.
    public var checksum: Checksum?
    /// What its log waited for at the last sync.
    public var waiting: WaitingReason?
    /// Where somebody retired it, when the head was written that it had then; a later one says that it is back.
    public var retiredMilliseconds: Int64?

    public init(
        id: DeviceID, name: String = "", position: LogPosition = .none, writtenMilliseconds: Int64? = nil,
        heardMilliseconds: Int64? = nil, retiredMilliseconds: Int64? = nil
    ) {
        self.id = id
        self.name = name
        self.position = position
        self.writtenMilliseconds = writtenMilliseconds
        self.heardMilliseconds = heardMilliseconds
        self.retiredMilliseconds = retiredMilliseconds
    }
}

extension DeviceRecord {
    /// All devices that a store knows, in the order of their numbers.
    static func all(_ connection: SQLConnection) throws -> [DeviceRecord] {
        var records: [DeviceRecord] = []
        try connection.forEachRow(
            """
            SELECT id, name, sequence, time, written, heard, retired, checksum, code, problem, since FROM ferry_device
            ORDER BY number
            """
        ) { row in
            guard let id: DeviceID = row.id(0) else { return }
            var record = DeviceRecord(
                id: id, name: row.string(1),
                position: LogPosition(
                    sequence: UInt64(clamping: row.integer(2)),
                    time: HybridTime(rawValue: UInt64(bitPattern: row.integer(3)))),
                writtenMilliseconds: row.isNull(4) ? nil : row.integer(4),
                heardMilliseconds: row.isNull(5) ? nil : row.integer(5),
                retiredMilliseconds: row.isNull(6) ? nil : row.integer(6))
            record.checksum = row.id(7)
            if !row.isNull(8) {
                record.waiting = WaitingReason(
                    FerryError(FerryError.Code(rawValue: row.string(8)), row.string(9)), since: row.integer(10))
            }
            records.append(record)
        }
        return records
    }
}

extension Store {
    /// Keeps when devices were heard of and whether they are retired. Names and positions are left as they are; a device
    /// that is not known is entered.
    public func noteHeard(_ records: [DeviceRecord]) throws {
        if records.isEmpty { return }
        try note { connection in
            for record in records {
                let times = [record.writtenMilliseconds, record.heardMilliseconds, record.retiredMilliseconds]
                try connection.execute(
                    """
                    INSERT INTO ferry_device(id, name, sequence, time, written, heard, retired)
                    VALUES (?1, ?2, 0, 0, ?3, ?4, ?5)
                    ON CONFLICT(id) DO UPDATE SET written = ?3, heard = ?4, retired = ?5
                    """,
                    [.blob(record.id.bytes[...]), .text(record.name)]
                        + times.map { $0.map { .integer($0) } ?? .null })
            }
        }
    }

    /// Gives this device another name; the others hear of it with its next head.
    public func rename(_ name: String) throws {
        try note { connection in
            try connection.execute(
                "UPDATE ferry_device SET name = ? WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')",
                .text(name))
        }
    }
}

extension Store {
    /// Moves the beginning of the log forward. Write the head that says so before anything is removed.
    public func beginLog(at sequence: UInt64) throws {
        try note(durably: true) { connection in
            let meta = StoreMeta(connection: connection)
            if try UInt64(clamping: meta.integer(.logStart) ?? 0) < sequence {
                try meta.set(.logStart, Int64(sequence))
            }
        }
    }

    /// Keeps what compaction has to remember: its plan while it is under way, and what it found.
    public func setCompactionNotes(_ text: String) throws {
        try note { try StoreMeta(connection: $0).set(.compaction, text) }
    }
}
