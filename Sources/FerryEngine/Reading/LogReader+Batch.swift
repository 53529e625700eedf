import FerryContainer
import FerryCore

extension LogReader {
    /// The result of a read.
    ///
    /// Invariants:
    /// - The changesets of a device are consecutive, and follow the device's position.
    /// - Every device in `gaps` is in `problems`.
    /// - No device in `abandoned` is in `problems` or `gaps`.
    struct Batch {
        var changesets: [Changeset] = []
        /// Number of segments read of each device.
        var segments: [DeviceID: Int] = [:]
        /// The files read of each device, each with its last changeset.
        var files: [DeviceID: [(last: UInt64, path: String?)]] = [:]
        /// The checksum of the last segment read of each device.
        var checksums: [DeviceID: Checksum] = [:]
        /// Devices whose logs cannot be read further, with the reason.
        var problems: [DeviceID: FerryError] = [:]
        /// Devices whose next changeset is removed or damaged, and the number from which the log is readable again: a
        /// snapshot of earlier changes helps. These devices are in `problems`, too.
        var gaps: [DeviceID: UInt64] = [:]
        /// Devices whose logs continue on a branch unreadable here. Nothing is lost: their successors have sent
        /// everything.
        var abandoned: Set<DeviceID> = []
        /// True if the batch is full, so the logs hold more.
        var isFull = false
        var heads: [DeviceID: Head] = [:]
        /// The devices with a directory, except this device.
        var devices: [DeviceID] = []
        /// Whether all looks as it did at the look before.
        var isQuiet = false
    }
}
