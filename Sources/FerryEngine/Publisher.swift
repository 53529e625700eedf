import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Puts staged segments into the container, and keeps this device's head.
///
/// Every step can be repeated: a segment that is there already is left as it is, and one that was published but not
/// forgotten is published again.
struct Publisher {
    let container: Container
    let store: Store
    let identity: StoreIdentity
    let clock: any WallClock

    /// Publishes all that waits.
    func publish(_ report: inout SyncReport, _ progress: ProgressHandler?, total: Int?) throws {
        while let entry = try store.outboxEntry() {
            let name = try SegmentName(first: entry.first, last: entry.last, checksum: entry.checksum)
            try container.publish(entry.bytes, name: name, of: identity.device)
            try writeHead(lastSegment: entry)
            try store.removeFromOutbox(first: entry.first)
            report.published.segments += 1
            report.published.changes += entry.changes
            progress?(Progress(phase: .publishing, completed: report.published.changes, total: total))
        }
    }

    /// Writes the head where it does not say what is true now.
    func refreshHead() throws {
        let present = try? container.readHead(of: identity.device)  // damaged or foreign: it is written anew
        let (vector, digests) = try store.statePosition()
        if let present, present.acknowledgements == acknowledgements(vector), present.deviceName == identity.deviceName,
            present.position.sequence >= vector[identity.device].sequence,
            present.position.sequence > vector[identity.device].sequence || present.digests == digests
        {
            return
        }
        try writeHead(lastSegment: nil)
    }

    private func acknowledgements(_ vector: VersionVector) -> [DeviceID: LogPosition] {
        vector.positions.filter { $0.key != identity.device }
    }

    /// - Parameter lastSegment: the segment just published; `nil`: what the store knows.
    private func writeHead(lastSegment: OutboxEntry?) throws {
        let (vector, digests) = try store.statePosition()
        let own = vector[identity.device]
        let last = lastSegment?.last ?? own.sequence
        let checksum = try lastSegment?.checksum ?? store.knownChecksums()[identity.device]
        var head =
            Head(
                container: container.id, device: identity.device, deviceName: identity.deviceName,
                position: LogPosition(sequence: last, time: own.time),
                lastSegmentFirst: lastSegment?.first ?? 0, lastSegmentChecksum: checksum ?? Checksum(high: 0, low: 0),
                acknowledgements: acknowledgements(vector), writtenMilliseconds: clock.milliseconds(),
                softwareVersion: FerryVersion.current,
                // They tell of all that is packed: while segments still wait, nobody could compare them.
                digests: last == own.sequence ? digests : [:])
        head.predecessor = try store.formerDevices().first.map { .init(device: $0.device, sequence: $0.sequence) }
        try container.writeHead(head)
    }
}

/// Which Ferry this is.
public enum FerryVersion {
    public static let current = "0.1.0"
}
