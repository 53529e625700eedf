import FerryCore
import FerrySQL

/// Maps devices to small numbers, as used by stamps in the state. Caches `ferry_device` for a single access.
final class DeviceNumbers {
    private let connection: SQLConnection
    @exclusivity(unchecked) private var numbers: [DeviceID: Int] = [:]
    /// The last device looked up by ID, and the last looked up by number. Repeated lookups are the common case.
    @exclusivity(unchecked) private var lastNumbered: (device: DeviceID, number: Int)?
    @exclusivity(unchecked) private var lastNamed: (device: DeviceID, number: Int)?
    @exclusivity(unchecked) private var devices: [Int: DeviceID] = [:]

    init(_ connection: SQLConnection) throws {
        self.connection = connection
        try load()
    }

    private func load() throws {
        try connection.forEachRow("SELECT number, id FROM ferry_device") { row in
            if let id: DeviceID = row.id(1) {
                numbers[id] = row.int(0)
                devices[row.int(0)] = id
            }
        }
    }

    /// The number of a device; registers a device met for the first time.
    func number(of device: DeviceID, name: String = "") throws -> Int {
        if let last = lastNumbered, last.device == device { return last.number }
        let number = try find(device, name: name)
        lastNumbered = (device, number)
        return number
    }

    private func find(_ device: DeviceID, name: String) throws -> Int {
        if let number = numbers[device] { return number }
        // A different process may have registered the device.
        try load()
        if let number = numbers[device] { return number }
        try connection.execute(
            "INSERT INTO ferry_device(id, name, sequence, time) VALUES (?, ?, 0, 0)", .blob(device.bytes[...]),
            .text(name))
        let number = Int(connection.lastInsertedKey)
        numbers[device] = number
        devices[number] = device
        return number
    }

    func device(_ number: Int) throws -> DeviceID {
        if let last = lastNamed, last.number == number { return last.device }
        let device = try find(number)
        lastNamed = (device, number)
        return device
    }

    private func find(_ number: Int) throws -> DeviceID {
        if let device = devices[number] { return device }
        try load()
        guard let device = devices[number] else {
            throw FerryError(.internalInconsistency, "The state names a device that the store does not know.")
        }
        return device
    }
}
