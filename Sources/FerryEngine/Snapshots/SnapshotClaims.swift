import FerryContainer
import FerryCore

/// Checks that a snapshot's claims are possible: no more of any log than announced by the author, no more of this
/// device's log than exists. A reader that accepted a larger claim would never read the changesets still to come.
struct SnapshotClaims {
    private let container: Container
    private let own: DeviceID
    private let ownPosition: LogPosition
    private let undelivered: Set<DeviceID>

    /// - Parameters:
    ///   - own: this device.
    ///   - ownPosition: the end of this device's log.
    ///   - undelivered: logs with files that never arrived, though further devices know the logs (`Undelivered`). Their
    ///     authors' claims do not count.
    init(_ container: Container, own: DeviceID, _ ownPosition: LogPosition, undelivered: Set<DeviceID> = []) {
        self.undelivered = undelivered
        self.container = container
        self.own = own
        self.ownPosition = ownPosition
    }

    /// Returns the objection to a snapshot's claims; `nil` if the claims are possible. A log without any file in the
    /// container proves nothing.
    func objection(to entry: SnapshotCatalog.Entry) throws -> FerryError? {
        for (device, position) in entry.manifest.positions.sorted(by: { $0.key < $1.key }) {
            if undelivered.contains(device) { continue }
            guard let end = try end(of: device) else { continue }
            if position.log.sequence <= end { continue }
            return FerryError(
                .fileNotThereYet,
                "A snapshot of its claims to cover \(position.log.sequence) changesets of \(device), and the container tells of "
                    + "\(end). It is not read before the rest has arrived.", device: entry.device)
        }
        return nil
    }

    /// The last changeset of a device by the container; `nil` without a readable file of the device.
    private func end(of device: DeviceID) throws -> UInt64? {
        if device == own { return ownPosition.sequence }
        do {
            let told = try container.readHead(of: device)?.position.sequence
            let last = try container.segments(of: device).map(\.last).max()
            return [told, last].compactMap { $0 }.max()
        } catch let error as FerryError where error.concernsOneFile {
            return nil
        }
    }
}
