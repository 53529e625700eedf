import FerryContainer
import FerryCore
import FerryMembers

/// The epochs for a newcomer: epochs with possible files of readable devices. The newcomer gets no older epoch, and so
/// cannot read files removed before the admission.
///
/// A head tells the number of the oldest epoch among the device's files. An old head may tell too old an epoch, never
/// too late an epoch. The device seals under epochs known to it, and the epochs known at the time of the head were as
/// old or older.
///
/// Numbers of two sides of a partition may overlap, so a device may later seal under an epoch with a lesser number.
/// Then members hand this epoch on later (`Replica.handEpochsOn`).
struct NeededEpochs {
    /// The number of the oldest needed epoch; 0 if unknown.
    let oldest: UInt32

    /// - Parameter container: with a seal for opening the heads.
    /// - Throws: as `Container.devices`.
    init(_ container: Container, _ membership: Membership) throws {
        var oldest = membership.roster.epoch?.number ?? membership.roster.greatestEpoch
        for device in try container.devices() {
            oldest = min(oldest, try Self.oldest(of: device, container) ?? oldest)
        }
        self.oldest = oldest
    }

    /// Whether newcomers get the epoch of a snapshot: the head of the snapshot's device tells no later epoch as the
    /// oldest.
    static func isHandedOn(_ entry: SnapshotCatalog.Entry, _ container: Container) throws -> Bool {
        try container.number(of: entry.epoch) >= oldest(of: entry.device, container) ?? 0
    }

    /// The oldest epoch of a device's files: `nil` for a device without files, 0 without word from the device's head.
    private static func oldest(of device: DeviceID, _ container: Container) throws -> UInt32? {
        do {
            if let head = try container.readHead(of: device) { return head.sealed?.oldestEpoch ?? 0 }
            return try container.remains(of: device).hasPublished ? 0 : nil
        } catch let error as FerryError where error.concernsOneFile {
            return 0
        }
    }
}
