import FerryContainer
import FerryCore
import FerryMembers

/// Which epochs a newcomer needs: those under which there may be files of devices whose files count. It gets no older one, so it cannot
/// read what was gone before it came.
///
/// A head tells the number of the oldest epoch under which a file of its device's is there. An old head tells an older epoch than there
/// may be still, never a later one: a device seals under the epochs that it knows, and those it knew at the head were as old or older.
/// Numbers of two sides of a partition may overlap, so a device may come to seal under an epoch with a lesser number. Then members hand
/// that one on later (`Replica.handEpochsOn`).
struct NeededEpochs {
    /// The number of the oldest epoch that is needed; 0 where nobody knows.
    let oldest: UInt32

    /// - Parameter container: with a seal that opens the heads.
    /// - Throws: as `Container.devices`.
    init(_ container: Container, _ membership: Membership) throws {
        var oldest = membership.roster.epoch?.number ?? membership.roster.greatestEpoch
        for device in try container.devices() {
            oldest = min(oldest, try Self.oldest(of: device, container) ?? oldest)
        }
        self.oldest = oldest
    }

    /// Whether newcomers get the epoch of a snapshot: its device's head tells of no later one as the oldest.
    static func isHandedOn(_ entry: SnapshotCatalog.Entry, _ container: Container) throws -> Bool {
        try container.number(of: entry.epoch) >= oldest(of: entry.device, container) ?? 0
    }

    /// The oldest epoch of a device's files: `nil` for a device without files, 0 where its head does not tell.
    private static func oldest(of device: DeviceID, _ container: Container) throws -> UInt32? {
        do {
            if let head = try container.readHead(of: device) { return head.sealed?.oldestEpoch ?? 0 }
            return try container.remains(of: device).files.isEmpty ? nil : 0
        } catch let error as FerryError where error.concernsOneFile {
            return 0
        }
    }
}
