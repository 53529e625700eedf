import FerryCore

/// The store's record of a device: how far the device's log is replayed here, and when the device was last seen.
public struct DeviceRecord: Equatable, Sendable {
    public var id: DeviceID
    public var name: String
    /// The replayed end of the device's log; for this device the packed end of its own log.
    public var position: LogPosition
    /// The writing time of the device's last head seen here, by the device's own clock. Milliseconds since the Unix
    /// epoch; `nil` if no head was seen.
    public var writtenMilliseconds: Int64?
    /// The time this device first saw that head, by this device's clock.
    public var heardMilliseconds: Int64?
    /// The checksum of the last packed or replayed segment of the log; `nil` if unknown.
    public var checksum: Checksum?
    /// The reason for the log to wait at the last sync.
    public var waiting: WaitingReason?
    /// For a retired device: the writing time of its last head at the moment of retirement. A later head means the
    /// device is back.
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
    /// All devices known to a store, in the order of their numbers.
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
    /// Saves when devices were last seen and retired. Registers unknown devices; leaves names and positions of known
    /// devices unchanged.
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

    /// Renames this device. Remote devices learn the name from the next head.
    public func rename(_ name: String) throws {
        try note { connection in
            try connection.execute(
                "UPDATE ferry_device SET name = ? WHERE number = (SELECT value FROM ferry_meta WHERE name = 'device')",
                .text(name))
        }
    }
}

extension Store {
    /// Moves the beginning of the log forward. Write a head with the new beginning before removing anything.
    public func beginLog(at sequence: UInt64) throws {
        try note(durably: true) { connection in
            let meta = StoreMeta(connection: connection)
            if try UInt64(clamping: meta.integer(.logStart) ?? 0) < sequence {
                try meta.set(.logStart, Int64(sequence))
            }
        }
    }

    /// Saves compaction's notes: the plan under way, and its findings.
    public func setCompactionNotes(_ text: String) throws {
        try note { try StoreMeta(connection: $0).set(.compaction, text) }
    }
}
