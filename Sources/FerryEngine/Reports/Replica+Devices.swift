import FerryContainer
import FerryCore
import FerryStore

/// The devices of a container, for `devices`. The JSON keys are fixed.
package struct DevicesReport: Codable, Equatable, Sendable {
    package struct Device: Codable, Equatable, Sendable {
        package var id: String
        package var name: String
        package var isThisDevice: Bool
        /// Silent and retired devices hold nothing back.
        package var activity: StatusReport.Peer.Activity
        /// When the device's last head was written, by the device's clock, in milliseconds since the Unix epoch; `nil`
        /// without a head.
        package var lastSeenMilliseconds: Int64?
        /// Number of changesets in the device's log not replayed here, according to its head.
        package var behind: Int
        /// Number of this device's changesets that the device has not replayed, according to its head.
        package var unacknowledged: Int
        /// Files of this device's log that stay for the device: a snapshot covers them, and the device has not replayed
        /// them. With their size.
        package var holdsBackSegments: Int
        package var holdsBackBytes: Int
        /// True if some log no longer reaches back to the device's position: after its return the device starts from a
        /// snapshot.
        package var isLeftBehind: Bool
        /// The IDs of successors, also of copies; `nil` without any. A device restored from a backup, or gone, writes
        /// no more and can be retired.
        package var successors: [String]?
        /// In a sealed container `founder`, `member`, `copy`, `left` or `removed`; `nil` in an open one.
        package var membership: String?
        /// How it was let in: `code`, `words`, `recovery` or `copy`.
        package var way: String?
        /// The ID of the device that let it in; `nil`: the recovery key, or nobody.
        package var admittedBy: String?
        package var admittedMilliseconds: Int64?
        /// The ID of the device that removed it; `nil`: the recovery key, or nobody.
        package var removedBy: String?
    }

    package var devices: [Device]
    /// True if the folder was present, so the report is current.
    package var reachable: Bool
}

extension Replica {
    /// Lists the devices of the container, this device first. Changes nothing, and works while the container is away.
    package func devices() throws -> DevicesReport {
        var look = ContainerView()
        var isReachable = true
        do {
            look = try ContainerView(openContainerAfresh(), except: identity.device)
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || error.code == .notSealed {
            isReachable = false
        }
        let reading = try store.reading()
        let segments = try store.ownSegments()
        let activity = try presentActivity(look, reading).activity
        let own = reading.vector[identity.device].sequence
        let name = try store.identity()?.deviceName ?? identity.deviceName
        let successors = Successors(look.heads, self: identity.device, reading.formerDevices).all
        var devices = [
            DevicesReport.Device(
                id: identity.device.description, name: name, isThisDevice: true,
                activity: .active, behind: 0, unacknowledged: 0, holdsBackSegments: 0,
                holdsBackBytes: 0, isLeftBehind: false)
        ]
        for peer in activity.peers {
            let held = heldBack(by: peer, segments, reading)
            devices.append(
                DevicesReport.Device(
                    id: peer.record.id.description, name: peer.head?.deviceName ?? peer.record.name,
                    isThisDevice: false, activity: peer.state,
                    lastSeenMilliseconds: peer.head?.writtenMilliseconds ?? peer.record.writtenMilliseconds,
                    behind: Self.difference(peer.position(of: peer.record.id).sequence, peer.record.position.sequence),
                    unacknowledged: Self.difference(own, peer.position(of: identity.device).sequence),
                    holdsBackSegments: held.segments, holdsBackBytes: held.bytes,
                    isLeftBehind: activity.isLeftBehind(peer, logStart: reading.logStart),
                    successors: successors[peer.record.id]?.keys.sorted().map(\.description)))
        }
        try addMembership(to: &devices, reading)
        return DevicesReport(devices: devices, reachable: isReachable)
    }

    private static func difference(_ left: UInt64, _ right: UInt64) -> Int { left > right ? Int(left - right) : 0 }

    /// Gives this device a new name. The next sync announces the name.
    /// - Throws: `invalidArgument` for an empty or too long name; `busy`.
    package func rename(_ name: String) throws {
        let name = try Self.checkedName(name)
        try lock.withLock {
            try refreshIdentity()
            try store.rename(name)
            try refreshIdentity()
        }
    }

    /// Marks a device as gone for good, or for long: nothing is kept for the device any more. The next sync announces
    /// the retirement. A retired device in use again counts again from then on.
    /// - Parameter word: the device's ID, the beginning of the ID (at least four digits), or a name that only a single
    ///   device has.
    /// - Returns: the device's name.
    /// - Throws: `nothingFound` if no device matches; `invalidArgument` if several match, or this device matches;
    ///   `busy`.
    @discardableResult
    package func retire(_ word: String) throws -> String {
        try lock.withLock {
            try refreshIdentity()
            let report = try devices()
            let meant = try Self.device(word, in: report.devices)
            guard !meant.isThisDevice, let device = DeviceID(meant.id) else {
                throw FerryError(
                    .invalidArgument, "A device cannot retire itself. Run `ferry leave` on it, or name another one.")
            }
            try retire(device, named: meant.name, heardMilliseconds: meant.lastSeenMilliseconds)
            return meant.name
        }
    }

    /// Retires a device.
    /// - Parameter heardMilliseconds: the wall-clock time in the device's present head.
    func retire(_ device: DeviceID, named name: String, heardMilliseconds: Int64?) throws {
        var record = try store.reading().devices.first { $0.id == device } ?? DeviceRecord(id: device, name: name)
        record.retiredMilliseconds = max(heardMilliseconds ?? 0, record.writtenMilliseconds ?? 0)
        try store.recordLastSeen([record])
    }

    /// The device that a word names.
    private static func device(
        _ word: String, in devices: [DevicesReport.Device]
    ) throws -> DevicesReport.Device {
        try DeviceWord(word).choose(among: devices, calledBy: "device", id: \.id) { $0.name }
    }
}
