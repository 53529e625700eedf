import FerryCore

/// Snapshots of a device (Docs/Format.md, "Snapshots"): manifests, and chunks that are named by their content. Chunks
/// are written before their manifest, and removed after the manifest.
extension Container {
    /// Lists a device's snapshots, the newest first. Names that are not exactly a snapshot's are ignored.
    /// - Throws: `limitExceeded` for an absurd number of files, `damagedFile`, `inputOutput`: skip the device this
    ///   time.
    package func snapshots(of device: DeviceID) throws -> [SnapshotName] {
        try snapshotFiles(of: device).compactMap { SnapshotName($0) }.sorted(by: >)
    }

    /// The chunks in a device's directory, whole or not.
    /// - Throws: as `snapshots(of:)`.
    package func chunks(of device: DeviceID) throws -> Set<ChunkName> {
        Set(try snapshotFiles(of: device).compactMap { ChunkName($0) })
    }

    private func snapshotFiles(of device: DeviceID) throws -> [String] {
        guard try counts(device) else { return [] }
        let directory = Self.snapshotsDirectory(of: device)
        return try locating(device, directory) { try backend.list(directory, after: nil) }
    }

    /// Reads the bytes of a manifest, unverified; `nil` if the manifest is not there (any more). Of a sealed manifest the content,
    /// whose writer, name and wholeness are proved, and the epoch: all chunks of the manifest are sealed under the same.
    /// - Throws: `limitExceeded` above `maximumSegmentBytes`, `damagedFile`, `inputOutput`; in a sealed container also what
    ///   `FileSealing.open` throws.
    package func readSnapshot(
        _ name: SnapshotName, of device: DeviceID
    ) throws -> (bytes: [UInt8], epoch: EpochID?)? {
        let path = Self.snapshotsDirectory(of: device) + "/" + name.fileName
        return try readFile(path, .manifest, of: device) { name.matches($0) }.map { ($0.content, $0.epoch) }
    }

    /// Reads the bytes of a chunk, unverified; as `readSnapshot(_:of:)`.
    /// - Parameter epoch: that of the manifest; `nil` in an open container.
    package func readChunk(_ checksum: Checksum, of device: DeviceID, under epoch: EpochID? = nil) throws -> [UInt8]? {
        let name = try chunkName(checksum, of: device, under: epoch)
        let path = Self.snapshotsDirectory(of: device) + "/" + name.fileName
        return try readFile(path, .chunk, of: device) { name.hash == $0 }?.content
    }

    /// Writes a manifest into a device's own directory. Write its chunks first. Durable on return; writing again has no
    /// effect, and mends a file damaged since.
    /// - Parameter epoch: that of all chunks; `nil` in an open container.
    /// - Throws: `invalidArgument` if the name is not the bytes' own; otherwise as `ContainerBackend.writeOnce`.
    package func publishSnapshot(
        _ manifest: [UInt8], name: SnapshotName, of device: DeviceID, under epoch: EpochID? = nil
    ) throws {
        guard let checksum = ContentHash.verifiedTrailer(of: manifest),
            name.matches(try nameHash(checksum, .manifest, of: device, under: epoch))
        else {
            throw FerryError(.invalidArgument, "The snapshot \(name) has another checksum than its name.")
        }
        try publishSnapshotFile(manifest, .manifest, name.fileName, of: device, under: epoch)
    }

    /// Writes a chunk into a device's own directory; as `publishSnapshot(_:name:of:under:)`.
    package func publishChunk(
        _ chunk: [UInt8], checksum: Checksum, of device: DeviceID, under epoch: EpochID? = nil
    ) throws {
        guard ContentHash.verifiedTrailer(of: chunk) == checksum else {
            throw FerryError(.invalidArgument, "The chunk \(checksum.hex) has another checksum than its name.")
        }
        let name = try chunkName(checksum, of: device, under: epoch)
        try publishSnapshotFile(chunk, .chunk, name.fileName, of: device, under: epoch)
    }

    private func publishSnapshotFile(
        _ bytes: [UInt8], _ kind: FileKind, _ fileName: String, of device: DeviceID, under epoch: EpochID?
    ) throws {
        guard bytes.count <= Self.maximumSegmentBytes else {
            throw FerryError(
                .limitExceeded, "\(fileName) is longer than \(Self.maximumSegmentBytes) bytes.", device: device)
        }
        try writeFile(Self.snapshotsDirectory(of: device) + "/" + fileName, bytes, kind, of: device, under: epoch)
    }

    /// Removes a manifest from a device's own directory, if present: for the author alone, once a newer manifest is
    /// durable.
    package func removeSnapshot(_ name: SnapshotName, of device: DeviceID) throws {
        try backend.remove(Self.snapshotsDirectory(of: device) + "/" + name.fileName)
    }

    /// Removes a chunk that no manifest in the device's own directory names any more, if present.
    package func removeChunk(_ name: ChunkName, of device: DeviceID) throws {
        try backend.remove(Self.snapshotsDirectory(of: device) + "/" + name.fileName)
    }

    static func snapshotsDirectory(of device: DeviceID) -> String { directory(of: device) + "/snapshots" }
}
