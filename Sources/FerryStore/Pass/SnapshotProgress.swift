import FerryCore

/// Which snapshot a store is reading in, and how far it has come: kept in `ferry_meta`, so that it goes on where it
/// stopped.
struct SnapshotProgress: Codable, Equatable {
    /// Whose it is: the device's ID in hexadecimal.
    var device: String
    /// The checksum of its manifest, in hexadecimal.
    var manifest: String
    /// Whether the store had no object when it began, and has none but the snapshot's since.
    var isFresh: Bool
    /// By table (`key`): the number of chunks merged, and the ID of the last object in them, in hexadecimal.
    var done: [String: Int] = [:]
    var last: [String: String] = [:]

    init(device: DeviceID, manifest: Checksum, isFresh: Bool) {
        self.device = device.hex
        self.manifest = manifest.hex
        self.isFresh = isFresh
    }

    /// Whose snapshot it is, and the checksum of its manifest.
    var source: (device: DeviceID, manifest: Checksum)? {
        guard let device = DeviceID(device), let manifest = Checksum(manifest) else { return nil }
        return (device, manifest)
    }

    /// Names a generation of a table.
    static func key(_ table: String, _ identity: TableIdentity) -> String {
        "\(table) \(IdentityText.format(identity.folded))"
    }

    static func read(_ meta: StoreMeta) throws -> SnapshotProgress? { try meta.json(.snapshot) }

    func save(_ meta: StoreMeta) throws { try meta.set(.snapshot, json: self) }
}
