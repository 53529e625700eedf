import FerryCore
import FerrySchema

/// The snapshot being read and the progress, stored in `ferry_meta`, so reading continues after an interruption.
struct ImportProgress: Codable, Equatable {
    /// The ID of the snapshot's author in hexadecimal.
    var device: String
    /// The manifest's checksum in hexadecimal.
    var manifest: String
    /// True if the store had no object at the beginning, and has only the snapshot's objects since.
    var isFresh: Bool
    /// By table (`key`): the number of merged chunks, and the ID of the last merged object in hexadecimal.
    var done: [String: Int] = [:]
    var last: [String: String] = [:]

    init(device: DeviceID, manifest: Checksum, isFresh: Bool) {
        self.device = device.hex
        self.manifest = manifest.hex
        self.isFresh = isFresh
    }

    /// The snapshot's author, and the manifest's checksum.
    var source: (device: DeviceID, manifest: Checksum)? {
        guard let device = DeviceID(device), let manifest = Checksum(manifest) else { return nil }
        return (device, manifest)
    }

    /// Names a generation of a table.
    static func key(_ table: String, _ identity: TableIdentity) -> String {
        exactKey("\(foldedText(table)) \(IdentityText.format(identity.folded))")
    }

    static func read(_ meta: MetaTable) throws -> ImportProgress? {
        guard var progress: Self = try meta.json(.snapshot) else { return nil }
        // An earlier version of Ferry wrote names in place of their keys.
        progress.done = progress.done.byExactKeys
        progress.last = progress.last.byExactKeys
        return progress
    }

    func save(_ meta: MetaTable) throws { try meta.set(.snapshot, json: self) }
}
