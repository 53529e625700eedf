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
    package func chunks(of device: DeviceID) throws -> Set<Checksum> {
        Set(try snapshotFiles(of: device).compactMap { ChunkName.checksum($0) })
    }

    private func snapshotFiles(of device: DeviceID) throws -> [String] {
        let directory = Self.snapshotsDirectory(of: device)
        return try locating(device, directory) { try backend.list(directory, after: nil) }
    }

    /// Reads the bytes of a manifest, unverified; `nil` if the manifest is not there (any more).
    /// - Throws: `limitExceeded` above `maximumSegmentBytes`, `damagedFile`, `inputOutput`.
    package func readSnapshot(_ name: SnapshotName, of device: DeviceID) throws -> [UInt8]? {
        try readSnapshotFile(name.fileName, of: device)
    }

    /// Reads the bytes of a chunk, unverified; as `readSnapshot(_:of:)`.
    package func readChunk(_ checksum: Checksum, of device: DeviceID) throws -> [UInt8]? {
        try readSnapshotFile(ChunkName.fileName(checksum), of: device)
    }

    private func readSnapshotFile(_ fileName: String, of device: DeviceID) throws -> [UInt8]? {
        let path = Self.snapshotsDirectory(of: device) + "/" + fileName
        return try locating(device, path) { try backend.read(path, maximumBytes: Self.maximumSegmentBytes) }
    }

    /// Writes a manifest into a device's own directory. Write its chunks first. Durable on return; writing again has no
    /// effect, and mends a file damaged since.
    /// - Throws: `invalidArgument` if the name is not the bytes' own; otherwise as `ContainerBackend.writeOnce`.
    package func publishSnapshot(_ manifest: [UInt8], name: SnapshotName, of device: DeviceID) throws {
        guard let checksum = ContentHash.verifiedTrailer(of: manifest), name.matches(checksum) else {
            throw FerryError(.invalidArgument, "The snapshot \(name) has another checksum than its name.")
        }
        try publishSnapshotFile(manifest, name.fileName, of: device)
    }

    /// Writes a chunk into a device's own directory; as `publishSnapshot(_:name:of:)`.
    package func publishChunk(_ chunk: [UInt8], checksum: Checksum, of device: DeviceID) throws {
        guard ContentHash.verifiedTrailer(of: chunk) == checksum else {
            throw FerryError(.invalidArgument, "The chunk \(checksum.hex) has another checksum than its name.")
        }
        try publishSnapshotFile(chunk, ChunkName.fileName(checksum), of: device)
    }

    private func publishSnapshotFile(_ bytes: [UInt8], _ fileName: String, of device: DeviceID) throws {
        guard bytes.count <= Self.maximumSegmentBytes else {
            throw FerryError(
                .limitExceeded, "\(fileName) is longer than \(Self.maximumSegmentBytes) bytes.", device: device)
        }
        let path = Self.snapshotsDirectory(of: device) + "/" + fileName
        do {
            try backend.writeOnce(path, bytes)
        } catch let error as FerryError where error.code == .damagedFile {
            // The name holds the checksum of these bytes, so other bytes under the name can only be damage.
            try backend.replace(path, bytes)
        }
    }

    /// Removes a manifest from a device's own directory, if present: for the author alone, once a newer manifest is
    /// durable.
    package func removeSnapshot(_ name: SnapshotName, of device: DeviceID) throws {
        try backend.remove(Self.snapshotsDirectory(of: device) + "/" + name.fileName)
    }

    /// Removes a chunk that no manifest in the device's own directory names any more, if present.
    package func removeChunk(_ checksum: Checksum, of device: DeviceID) throws {
        try backend.remove(Self.snapshotsDirectory(of: device) + "/" + ChunkName.fileName(checksum))
    }

    static func snapshotsDirectory(of device: DeviceID) -> String { directory(of: device) + "/snapshots" }
}
