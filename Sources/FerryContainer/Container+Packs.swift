import FerryCore

/// Packs of a device (Docs/Format.md, "Packs"): files with chunks of contents, read by ranges. Rows tell the packs and
/// their lengths, so finding a chunk needs no listing. A pack is durable here before the segment with the pack's name.
extension Container {
    /// Lists a device's packs in ascending order, for maintenance of a container.
    /// - Throws: as `snapshots(of:)`.
    package func packs(of device: DeviceID) throws -> [PackName] {
        guard try counts(device) else { return [] }
        let directory = Self.packsDirectory(of: device)
        return try locating(device, directory) { try backend.list(directory, after: nil) }.compactMap { PackName($0) }
            .sorted()
    }

    /// Reads a range of a pack, unverified, fewer bytes where the pack ends before; `nil` if the pack is not there (any more).
    ///
    /// A removed device's packs are read, too: an accepted row names each, and the ID verifies every chunk.
    /// - Throws: `damagedFile`, `inputOutput`; `keyMissing` for a sealed container without a seal.
    package func readPack(_ id: PackID, of device: DeviceID, range: Range<Int>) throws -> [UInt8]? {
        _ = try requiredSeal()
        let name = Self.packName(id, of: device)
        return try locating(device, name) { try backend.read(name, range: range) }
    }

    /// The path of a pack, as people see it.
    package func packPath(_ id: PackID, of device: DeviceID) -> String {
        backend.describe(Self.packName(id, of: device))
    }

    /// How long a pack is, without reading; `nil` if the pack is not there, or nobody knows.
    package func packByteCount(_ id: PackID, of device: DeviceID) throws -> Int? {
        let name = Self.packName(id, of: device)
        return try locating(device, name) { try backend.version(of: name) }?.size
    }

    /// Moves a pack into a device's own directory. Durable on return; a second call has no effect.
    /// - Parameter path: the durable pack beside the database; the caller removes this file afterwards.
    /// - Throws: as `ContainerBackend.writeOnce(_:movingIn:of:)`.
    package func publishPack(
        _ id: PackID, of device: DeviceID, movingIn path: String, of files: any FileSystem = PosixFileSystem()
    ) throws {
        try backend.writeOnce(Self.packName(id, of: device), movingIn: path, of: files)
    }

    /// Removes a pack from a device's own directory, if present: for the author alone, once the removal of the pack's
    /// row is published.
    package func removePack(_ id: PackID, of device: DeviceID) throws {
        try backend.remove(Self.packName(id, of: device))
    }

    static func packsDirectory(of device: DeviceID) -> String { directory(of: device) + "/packs" }

    private static func packName(_ id: PackID, of device: DeviceID) -> String {
        packsDirectory(of: device) + "/" + PackName(id).fileName
    }
}
