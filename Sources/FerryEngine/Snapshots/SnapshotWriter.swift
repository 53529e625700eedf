import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Writes a snapshot of a store into its device's directory: chunks first, then the manifest that names them.
///
/// A chunk that is there already is left as it is, so a writer that was interrupted goes on where it stopped, and what has
/// not changed since the last snapshot is not written again.
struct SnapshotWriter {
    let container: Container
    let store: Store
    let identity: StoreIdentity

    /// Writes a snapshot of all that the store has replayed and published.
    /// - Throws: `busy` where changes wait to be packed or published: try again after the next sync. Otherwise as
    ///   `ContainerBackend.writeOnce`; what was written stays for the next attempt.
    func write() throws -> WrittenSnapshot {
        let present = try container.chunks(of: identity.device)
        var bytesWritten = 0
        let manifest = try store.readSnapshot { chunk in
            let (bytes, checksum) = try SnapshotChunkEncoder.encode(chunk, container: container.id)
            try container.publishChunk(bytes, checksum: checksum, of: identity.device)
            if !present.contains(checksum) { bytesWritten += bytes.count }
            return .init(checksum: checksum, bytes: bytes.count, objects: chunk.objects.count)
        }
        let (bytes, checksum) = try SnapshotManifestEncoder.encode(manifest)
        let name = SnapshotName(time: manifest.time, checksum: checksum)
        try container.publishSnapshot(bytes, name: name, of: identity.device)
        return WrittenSnapshot(
            name: name, manifest: manifest, bytesWritten: bytesWritten + bytes.count,
            bytes: manifest.chunkBytes + bytes.count)
    }
}

/// A snapshot that is in the container, whole and durable.
struct WrittenSnapshot {
    var name: SnapshotName
    var manifest: SnapshotManifest
    /// Bytes of files that were not there before.
    var bytesWritten: Int
    /// Bytes of the manifest and all chunks.
    var bytes: Int
    /// What it covers.
    var vector: VersionVector { manifest.vector }
}
