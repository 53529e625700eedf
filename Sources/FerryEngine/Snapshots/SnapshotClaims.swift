import FerryContainer
import FerryCore

/// Whether what a snapshot claims to cover can be there: no more of any log than its author has told of, and no more of this
/// device's than there is. Who believed a larger claim would never read what comes.
struct SnapshotClaims {
    private let container: Container
    private let own: DeviceID
    private let ownPosition: LogPosition

    /// - Parameters:
    ///   - own: this device, and how far its log goes.
    init(_ container: Container, own: DeviceID, _ ownPosition: LogPosition) {
        self.container = container
        self.own = own
        self.ownPosition = ownPosition
    }

    /// - Returns: what is wrong with a snapshot's claims; `nil` where they can be right. A log of which nothing is in the
    ///   container tells nothing.
    func objection(to entry: SnapshotShelf.Entry) throws -> FerryError? {
        for (device, position) in entry.manifest.positions.sorted(by: { $0.key < $1.key }) {
            guard let end = try end(of: device) else { continue }
            if position.log.sequence <= end { continue }
            return FerryError(
                .fileNotThereYet,
                "A snapshot of its claims to cover \(position.log.sequence) changesets of \(device), and the folder tells of "
                    + "\(end). It is not read before the folder's syncer has brought the rest.", device: entry.device)
        }
        return nil
    }

    /// The last changeset of a device's that the container tells of; `nil` where there is nothing of it, or nothing that can be
    /// read.
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
