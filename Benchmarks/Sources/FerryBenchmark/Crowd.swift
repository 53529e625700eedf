import FerryContainer
import FerryCore
import FerryLog
import Foundation

/// A container with many devices: two that work, and others that joined, replayed all there is, and sleep.
///
/// The sleepers have no databases. Their directories are made by the library's own publisher, and are what such devices
/// leave there: a log of one segment, and a head that acknowledges every other device's log.
struct Crowd {
    let place: Place
    let first: Device
    let second: Device
    let workload = Songs(rows: 1000)

    /// - Parameter count: the devices in the container, the two that work among them.
    init(_ count: Int, below folder: String) throws {
        place = try Place(below: folder)
        first = try Device.first(workload, in: place)
        _ = try workload.insert(first.app)
        try first.sync()
        let container = try Container.open(at: place.container)
        let sleepers = try (2..<max(count, 2)).map { try Self.publishLog(number: $0, container) }
        try first.sync()
        second = try Device.joining(place)
        for device in [first, second] { try device.sync() }
        let heads = try [first, second].compactMap { try container.readHead(of: $0.replica.identity.device) }
        guard heads.count == 2, heads[0].acknowledgements.count == count - 1 else {
            throw BenchmarkError("the first device does not acknowledge all \(count - 1) others")
        }
        var positions = heads[0].acknowledgements
        for head in heads { positions[head.device] = head.position }
        for sleeper in sleepers { try Self.writeHead(of: sleeper, positions, heads[0].digests, container) }
        for device in [first, second, first] { try device.sync() }
    }

    private struct Sleeper {
        var device: DeviceID
        var segment: Segment
        var time: HybridTime
    }

    private static func publishLog(number: Int, _ container: Container) throws -> Sleeper {
        let device: DeviceID = SystemRandom().makeID()
        let time = HybridTime(milliseconds: SystemClock().milliseconds())
        let changeset = Changeset(device: device, sequence: 1, time: time, context: VersionVector(), tables: [])
        let segment = try SegmentEncoder.encode([changeset], container: container.id, previous: nil)
        try container.publish(
            segment.bytes, name: SegmentName(first: 1, last: 1, checksum: segment.checksum), of: device)
        let sleeper = Sleeper(device: device, segment: segment, time: time)
        try writeHead(of: sleeper, [:], [:], container)
        return sleeper
    }

    private static func writeHead(
        of sleeper: Sleeper, _ positions: [DeviceID: LogPosition], _ digests: [UInt32: UInt64], _ container: Container
    ) throws {
        var others = positions
        others[sleeper.device] = nil
        try container.writeHead(
            Head(
                container: container.id, device: sleeper.device, deviceName: "sleeper",
                position: LogPosition(sequence: 1, time: sleeper.time), lastSegmentFirst: 1,
                lastSegmentChecksum: sleeper.segment.checksum, acknowledgements: others,
                writtenMilliseconds: SystemClock().milliseconds(), softwareVersion: "benchmark", digests: digests))
    }
}
