import FerryCore
import FerrySQL
import FerrySchema

/// The store's record of a device: how far the device's log is replayed here, and when the device was last seen.
package struct DeviceRecord: Equatable, Sendable {
    package var id: DeviceID
    package var name: String
    /// The replayed end of the device's log; for this device the packed end of its own log.
    package var position: LogPosition
    /// The writing time of the device's last head seen here, by the device's own clock. Milliseconds since the Unix
    /// epoch; `nil` if no head was seen.
    package var writtenMilliseconds: Int64?
    /// The time this device first saw that head, by this device's clock.
    package var heardMilliseconds: Int64?
    /// The checksum of the last packed or replayed segment of the log; `nil` if unknown.
    package var checksum: Checksum?
    /// The reason for the log to wait at the last sync.
    package var waiting: StallReason?
    /// For a retired device: the writing time of its last head at the moment of retirement. A later head means the
    /// device is back.
    package var retiredMilliseconds: Int64?

    package init(
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
                record.waiting = StallReason(
                    FailureNote(code: row.string(8), arguments: row.string(9)), since: row.integer(10))
            }
            records.append(record)
        }
        return records
    }
}

/// News from heads and people.
extension DeviceTable {
    /// Saves when devices were last seen, and whether they are retired. An unknown device is entered.
    func enter(_ records: [DeviceRecord]) throws {
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

    /// Gives this device a new name.
    func rename(_ name: String) throws {
        try connection.execute(
            "UPDATE ferry_device SET name = ? WHERE number = \(MetaTable.expression(.device))",
            .text(name))
    }

    /// Saves the name by which a device presents itself. An unknown device is entered.
    func setName(_ name: String, of device: DeviceID) throws {
        try connection.execute(
            """
            INSERT INTO ferry_device(id, name, sequence, time) VALUES (?1, ?2, 0, 0)
            ON CONFLICT(id) DO UPDATE SET name = excluded.name WHERE name <> excluded.name
            """, .blob(device.bytes[...]), .text(name))
    }

    /// Saves the reasons why devices' logs wait, in place of the former reasons.
    func setWaiting(_ reasons: [DeviceID: StallReason], known: [DeviceID: StallReason]) throws {
        for device in Set(known.keys).subtracting(reasons.keys) {
            try connection.execute(
                "UPDATE ferry_device SET code = NULL, problem = NULL, since = NULL WHERE id = ?",
                .blob(device.bytes[...]))
        }
        for (device, reason) in reasons where known[device] != reason {
            try connection.execute(
                """
                INSERT INTO ferry_device(id, name, sequence, time, code, problem, since)
                VALUES (?1, '', 0, 0, ?2, ?3, ?4)
                ON CONFLICT(id) DO UPDATE SET code = ?2, problem = ?3, since = ?4
                """, .blob(device.bytes[...]), .text(reason.note.code.rawValue), .text(reason.note.arguments),
                .integer(reason.sinceMilliseconds))
        }
    }
}
