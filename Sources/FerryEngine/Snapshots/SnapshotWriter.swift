import FerryContainer
import FerryCore
import FerryLog
import FerrySchema
import FerryStore

/// Writes a snapshot of a store into the device's directory: chunks first, then the manifest with their names.
///
/// A present chunk stays as it is. So a writer continues after an interruption, and unchanged chunks of the last
/// snapshot are not written again.
struct SnapshotWriter {
    let container: Container
    let store: Store
    let identity: StoreIdentity
    var largeValues = LargeValueSettings()

    /// Writes a snapshot of all replayed and published changes.
    /// - Throws: `busy` if changes wait to be packed or published: try again after the next sync. Otherwise as
    ///   `ContainerBackend.writeOnce`; written chunks stay for the next attempt.
    func write() throws -> WrittenSnapshot {
        // All of a snapshot is sealed under one epoch, so the first snapshot after a new epoch is written whole.
        let epoch = try container.sealingEpoch()
        let present = try container.chunks(of: identity.device)
        let presentParts = try container.parts(of: identity.device)
        var bytesWritten = 0
        let manifest = try store.readSnapshot { chunk in
            let parts = WrittenParts()
            let publish: PartOutput.Sink = { part, file in
                guard parts.note(part.checksum, file.count) else { return }
                try container.publishPart(file, checksum: part.checksum, of: identity.device, under: epoch)
                let name = try container.partName(part.checksum, of: identity.device, under: epoch)
                if !presentParts.contains(name) { bytesWritten += file.count }
            }
            let (bytes, checksum) = try PartOutput.keeping(largeValues, in: publish) {
                try SnapshotChunkEncoder.encode(chunk, container: container.id, parts: $0)
            }
            try container.publishChunk(bytes, checksum: checksum, of: identity.device, under: epoch)
            let name = try container.chunkName(checksum, of: identity.device, under: epoch)
            if !present.contains(name) { bytesWritten += bytes.count }
            return .init(checksum: checksum, bytes: bytes.count, objects: chunk.objects.count, parts: parts.all)
        }
        let (bytes, checksum) = try SnapshotManifestEncoder.encode(manifest)
        let name = try container.snapshotName(manifest.time, checksum, of: identity.device, under: epoch)
        try container.publishSnapshot(bytes, name: name, of: identity.device, under: epoch)
        return WrittenSnapshot(
            name: name, epoch: epoch, manifest: manifest, bytesWritten: bytesWritten + bytes.count,
            bytes: manifest.chunkBytes + bytes.count)
    }
}

/// Collects the parts of a chunk's large values while the chunk is encoded.
final class WrittenParts {
    /// In the order of their first use; each once.
    private(set) var all: [SnapshotManifest.Part] = []
    private var known: Set<Checksum> = []

    /// - Returns: true for a new part.
    func note(_ checksum: Checksum, _ byteCount: Int) -> Bool {
        guard known.insert(checksum).inserted else { return false }
        all.append(SnapshotManifest.Part(checksum: checksum, bytes: byteCount))
        return true
    }
}

/// A snapshot in the container, whole and durable.
struct WrittenSnapshot {
    var name: SnapshotName
    /// The epoch of the sealed snapshot; `nil` in an open container.
    var epoch: EpochID?
    var manifest: SnapshotManifest
    /// Bytes of newly written files.
    var bytesWritten: Int
    /// Bytes of the manifest and all chunks.
    var bytes: Int
    /// The vector covered by the snapshot.
    var vector: VersionVector { manifest.vector }
}
