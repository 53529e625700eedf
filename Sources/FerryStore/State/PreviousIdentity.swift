import FerryCore
import FerrySchema

/// A device ID of this database before the database was restored or copied.
package struct PreviousIdentity: Equatable, Sendable {
    package var device: DeviceID
    /// The last changeset of that device's log remembered as this database's own.
    package var sequence: UInt64
    /// The end of the branch this database published under that ID, if a different branch certainly parts behind
    /// `sequence`. Everything on the branch was written again.
    package var end: LogEnd?

    package init(device: DeviceID, sequence: UInt64, end: LogEnd? = nil) {
        self.device = device
        self.sequence = sequence
        self.end = end
    }
}

extension PreviousIdentity {
    /// The former IDs of a database, latest first.
    static func all(_ meta: MetaTable) throws -> [PreviousIdentity] {
        try (meta.string(.formerDevices) ?? "").split(separator: " ").compactMap { entry in
            let parts = entry.split(separator: ":").map(String.init)
            guard parts.count == 2 || parts.count == 4, let device = DeviceID(parts[0]), let sequence = UInt64(parts[1])
            else { return nil }
            var former = PreviousIdentity(device: device, sequence: sequence)
            if parts.count == 4, let last = UInt64(parts[2]), let checksum = Checksum(parts[3]) {
                former.end = LogEnd(sequence: last, checksum: checksum)
            }
            return former
        }
    }

    var text: String {
        "\(device.hex):\(sequence)" + (end.map { ":\($0.sequence):\($0.checksum.hex)" } ?? "")
    }
}
