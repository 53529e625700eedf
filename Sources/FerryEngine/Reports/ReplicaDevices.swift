import FerryContainer
import FerryCore
import FerryStore

/// The devices of a container, as `devices` tells them. Its JSON keys are fixed.
public struct DevicesReport: Codable, Equatable, Sendable {
    public struct Device: Codable, Equatable, Sendable {
        public var id: String
        public var name: String
        public var isThisDevice: Bool
        /// `active`, `silent` (nothing was heard of it for long) or `retired`; the latter two hold nothing back.
        public var activity: String
        /// When its last head was written, by its own clock, in milliseconds since the Unix epoch; `nil` where it has none.
        public var lastHeardMilliseconds: Int64?
        /// Changesets of its log that are not replayed here, as far as its head tells.
        public var behind: Int
        /// Changesets of this device that it has not replayed, as far as its head tells.
        public var unacknowledged: Int
        /// Files of this device's log that stay for it: it has not replayed them, and a snapshot covers them. With their
        /// size.
        public var holdsBackSegments: Int
        public var holdsBackBytes: Int
        /// Whether some log does not reach back any more to where it stopped: when it returns it starts from a snapshot.
        public var isLeftBehind: Bool
        /// The IDs under which it goes on, or copies of it do; `nil` where there are none. One that was restored from a
        /// backup or is gone writes no more: it can be retired.
        public var successors: [String]?
    }

    public var devices: [Device]
    /// Whether the folder was there, so that this is what it says now.
    public var reachable: Bool
}

extension Replica {
    /// Tells the devices of the container, this one first. Changes nothing, and works while the container is away.
    public func devices() throws -> DevicesReport {
        var look = ContainerLook()
        var isReachable = true
        do {
            look = try ContainerLook(openContainer(), except: identity.device)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) {
            isReachable = false
        }
        let reading = try store.reading()
        let segments = try store.ownSegments()
        let activity = presentActivity(look, reading).activity
        let own = reading.vector[identity.device].sequence
        let name = try store.identity()?.deviceName ?? identity.deviceName
        let successors = Successors(look.heads, self: identity.device, reading.formerDevices).all
        var devices = [
            DevicesReport.Device(
                id: identity.device.description, name: name, isThisDevice: true,
                activity: DeviceActivity.State.active.rawValue, behind: 0, unacknowledged: 0, holdsBackSegments: 0,
                holdsBackBytes: 0, isLeftBehind: false)
        ]
        for peer in activity.peers {
            let held = heldBack(by: peer, segments, reading)
            devices.append(
                DevicesReport.Device(
                    id: peer.record.id.description, name: peer.head?.deviceName ?? peer.record.name,
                    isThisDevice: false, activity: peer.state.rawValue,
                    lastHeardMilliseconds: peer.head?.writtenMilliseconds ?? peer.record.writtenMilliseconds,
                    behind: Self.difference(peer.position(of: peer.record.id).sequence, peer.record.position.sequence),
                    unacknowledged: Self.difference(own, peer.position(of: identity.device).sequence),
                    holdsBackSegments: held.segments, holdsBackBytes: held.bytes,
                    isLeftBehind: activity.isLeftBehind(peer, logStart: reading.logStart),
                    successors: successors[peer.record.id]?.keys.sorted().map(\.description)))
        }
        return DevicesReport(devices: devices, reachable: isReachable)
    }

    private static func difference(_ left: UInt64, _ right: UInt64) -> Int { left > right ? Int(left - right) : 0 }

    /// Gives this device another name. The others hear of it with the next sync.
    /// - Throws: `invalidArgument` where the name is empty or too long; `busy`.
    public func rename(_ name: String) throws {
        let name = try Self.checkedName(name)
        try lock.withLock {
            try refreshIdentity()
            try store.rename(name)
            try refreshIdentity()
        }
    }

    /// Says that a device will not come back, or not soon: nothing is kept for it any more. The others hear of it with the
    /// next sync. A device that was retired and is used again after all counts again from then on.
    /// - Parameter word: its ID, the beginning of its ID (at least four digits), or its name where only one device has it.
    /// - Returns: its name.
    /// - Throws: `nothingFound` where no device is meant; `invalidArgument` where several are, or this one; `busy`.
    @discardableResult
    public func retire(_ word: String) throws -> String {
        try lock.withLock {
            try refreshIdentity()
            let report = try devices()
            let meant = try Self.device(word, in: report.devices)
            guard !meant.isThisDevice, let device = DeviceID(meant.id) else {
                throw FerryError(
                    .invalidArgument, "A device cannot retire itself. Run `ferry leave` on it, or name another one.")
            }
            try retire(device, named: meant.name, heardMilliseconds: meant.lastHeardMilliseconds)
            return meant.name
        }
    }

    /// - Parameter heardMilliseconds: the wall-clock time in the head that it has.
    func retire(_ device: DeviceID, named name: String, heardMilliseconds: Int64?) throws {
        var record = try store.reading().devices.first { $0.id == device } ?? DeviceRecord(id: device, name: name)
        record.retiredMilliseconds = max(heardMilliseconds ?? 0, record.writtenMilliseconds ?? 0)
        try store.noteHeard([record])
    }

    /// The device that people mean by a word.
    private static func device(
        _ word: String, in devices: [DevicesReport.Device]
    ) throws -> DevicesReport.Device {
        let digits = word.lowercased().replacing("-", with: "")
        func hasID(_ device: DevicesReport.Device) -> Bool {
            digits.count >= 4 && device.id.replacing("-", with: "").hasPrefix(digits)
        }
        let named = devices.filter { $0.name == word }
        let meant = named.isEmpty ? devices.filter(hasID) : named
        guard let device = meant.first else {
            throw FerryError(
                .nothingFound, "No device has the name or ID \"\(word)\". `ferry devices` lists them.")
        }
        if meant.count > 1 {
            throw FerryError(
                .invalidArgument,
                "\(meant.count) devices are meant by \"\(word)\". Say which by its ID: "
                    + meant.map(\.id).joined(separator: ", ") + ".")
        }
        return device
    }
}
