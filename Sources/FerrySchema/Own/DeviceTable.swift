import FerryCore
import FerrySQL

/// The table `ferry_device`: every device of the container, and how far its log is replayed here. For this device, how
/// far its own log is packed.
///
/// `State/DeviceRecords.swift` has what heads and people say of devices, `State/DeviceNumbers.swift` their numbers.
package struct DeviceTable {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// The end of a device's log, as known here.
    package struct LogEnd: Equatable {
        package var position = LogPosition.none
        /// The checksum of the last segment; `nil` if unknown.
        package var checksum: Checksum?

        package init(position: LogPosition = .none, checksum: Checksum? = nil) {
            self.position = position
            self.checksum = checksum
        }

        /// True if two ends certainly belong to different branches of a log: a log's time grows with its numbers. An unknown end or time
        /// contradicts nothing.
        package func contradicts(_ other: LogEnd) -> Bool {
            let (here, there) = (position, other.position)
            if here.sequence == 0 || there.sequence == 0 || here.time == .zero || there.time == .zero { return false }
            if here.sequence != there.sequence {
                return here.sequence < there.sequence ? here.time > there.time : here.time < there.time
            }
            if here.time != there.time { return true }
            guard let checksum, let told = other.checksum else { return false }
            return checksum != told
        }
    }

    /// A device as people know it.
    package struct Entry: Equatable {
        package var id: DeviceID
        @ComparedByBytes package var name: String
        package var position: LogPosition
    }

    // MARK: Entering

    /// Enters the first device: this one.
    package func begin(_ device: DeviceID, name: String) throws {
        try connection.execute(
            "INSERT INTO ferry_device(number, id, name, sequence, time) VALUES (1, ?, ?, 0, 0)",
            .blob(device.bytes[...]), .text(name))
    }

    /// Enters a device with another device's name.
    /// - Returns: the number of the new device.
    package func enter(_ device: DeviceID, namedAs former: DeviceID) throws -> Int64 {
        try connection.execute(
            "INSERT INTO ferry_device(id, name, sequence, time) SELECT ?, name, 0, 0 FROM ferry_device WHERE id = ?",
            .blob(device.bytes[...]), .blob(former.bytes[...]))
        return connection.lastInsertedKey
    }

    // MARK: Reading

    /// The device with a number; `nil` without one, or with an unreadable one.
    package func entry(_ number: Int64) throws -> (id: DeviceID, name: String)? {
        let row = try connection.rows("SELECT id, name FROM ferry_device WHERE number = ?", .integer(number)).first
        guard case .blob(let bytes)? = row?[0], let device = DeviceID(bytes: bytes), case .text(let name)? = row?[1]
        else { return nil }
        return (device, String(decoding: name, as: UTF8.self))
    }

    /// This device's ID as a value; `nil` if the database belongs to no container.
    package func ownID() throws -> FieldValue? {
        try connection.firstValue("SELECT id FROM ferry_device WHERE number = \(MetaTable.expression(.device))")
    }

    /// All devices, in the order of their numbers.
    package func entries() throws -> [Entry] {
        var entries: [Entry] = []
        try connection.forEachRow("SELECT id, name, sequence, time FROM ferry_device ORDER BY number") { row in
            guard let id: DeviceID = row.id(0) else { return }
            entries.append(Entry(id: id, name: row.string(1), position: Self.position(row, 2)))
        }
        return entries
    }

    /// The devices with replayed or packed changesets, with the ends of their logs.
    package func forEachLog(_ body: (DeviceID, LogEnd) throws -> Void) throws {
        try connection.forEachRow("SELECT id, sequence, time, checksum FROM ferry_device WHERE sequence > 0") { row in
            guard let id: DeviceID = row.id(0) else { return }
            try body(id, LogEnd(position: Self.position(row, 1), checksum: row.id(3)))
        }
    }

    /// The end of a device's log; `nil` for an unknown device.
    package func end(of device: DeviceID) throws -> LogEnd? {
        try end(where: "id = ?", .blob(device.bytes[...]))
    }

    /// The end of this device's log.
    package func ownEnd() throws -> LogEnd? { try end(where: "number = \(MetaTable.expression(.device))") }

    private func end(where condition: String, _ values: FieldValue...) throws -> LogEnd? {
        var end: LogEnd?
        try connection.forEachRow("SELECT sequence, time, checksum FROM ferry_device WHERE \(condition)", values) {
            end = LogEnd(position: Self.position($0, 0), checksum: $0.id(2))
        }
        return end
    }

    /// The time of the replayed end of a log; zero for an unknown number.
    package func time(ofNumber number: Int) throws -> HybridTime {
        let time = try connection.count("SELECT time FROM ferry_device WHERE number = ?", .integer(Int64(number)))
        return HybridTime(rawValue: UInt64(clamping: time))
    }

    /// An SQL expression: the time of the replayed end of the log of the device with a number.
    package static func time(ofNumber number: String) -> String {
        "(SELECT time FROM ferry_device WHERE number = \(number))"
    }

    private static func position(_ row: SQLStatement, _ column: Int32) -> LogPosition {
        LogPosition(
            sequence: UInt64(clamping: row.integer(column)),
            time: HybridTime(rawValue: UInt64(bitPattern: row.integer(column + 1))))
    }

    // MARK: Moving on

    /// Saves the end of a device's log.
    package func set(_ end: LogEnd, of device: DeviceID) throws {
        try connection.execute(
            "UPDATE ferry_device SET sequence = ?, time = ?, checksum = ? WHERE id = ?",
            .integer(Int64(clamping: end.position.sequence)),
            .integer(Int64(bitPattern: end.position.time.rawValue)),
            end.checksum.map { .blob($0.bytes[...]) } ?? .null, .blob(device.bytes[...]))
    }

    /// Saves the checksum of the last segment of a device's log.
    package func setChecksum(_ checksum: Checksum?, of device: DeviceID) throws {
        try connection.execute(
            "UPDATE ferry_device SET checksum = ? WHERE id = ?", checksum.map { .blob($0.bytes[...]) } ?? .null,
            .blob(device.bytes[...]))
    }

    /// Saves the replayed end of a log. The checksum stays.
    package func advance(_ number: Int, to position: LogPosition) throws {
        try connection.execute(
            "UPDATE ferry_device SET sequence = ?, time = ? WHERE number = ?",
            .integer(Int64(clamping: position.sequence)), .integer(Int64(bitPattern: position.time.rawValue)),
            .integer(Int64(number)))
    }

    /// Counts a log as replayed up to the end that a snapshot covers. The time never goes back.
    /// - Parameter isAhead: true if the snapshot has more of the log than this store.
    package func cover(_ number: Int, upTo end: LogEnd, isAhead: Bool) throws {
        if isAhead {
            try connection.execute(
                "UPDATE ferry_device SET sequence = ?, checksum = ? WHERE number = ?",
                .integer(Int64(clamping: end.position.sequence)),
                end.checksum.map { .blob($0.bytes[...]) } ?? .null, .integer(Int64(number)))
        }
        try connection.execute(
            "UPDATE ferry_device SET time = max(time, ?) WHERE number = ?",
            .integer(Int64(bitPattern: end.position.time.rawValue)), .integer(Int64(number)))
    }
}
