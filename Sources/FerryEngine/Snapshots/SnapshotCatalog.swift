import FerryContainer
import FerryCore
import FerryLog

/// The snapshots of all devices in a container.
///
/// A manifest is skipped if damaged, of a different container or a newer Ferry, or if chunks are missing: the next
/// snapshot may do.
struct SnapshotCatalog {
    /// A snapshot with a whole manifest and all chunks present. Chunks are verified while they are read.
    struct Entry {
        var device: DeviceID
        var name: SnapshotName
        var checksum: Checksum
        /// The epoch of the sealed manifest and of all chunks; `nil` in an open container.
        var epoch: EpochID?
        var manifest: SnapshotManifest
        /// The length of the manifest's file.
        var manifestBytes: Int

        /// Bytes of the manifest and all chunks.
        var bytes: Int { manifest.chunkBytes + manifestBytes }
    }

    /// Maximum number of a device's manifests to read: the newest.
    private static let maximumPerDevice = 8

    let container: Container

    init(_ container: Container) { self.container = container }

    /// Returns the snapshot with the most changesets among whole snapshots; `nil` without any. Reads and verifies every
    /// chunk.
    /// - Throws: `containerMissing` and the like. A faulty snapshot is no error.
    func best() throws -> (device: DeviceID, name: SnapshotName, manifest: SnapshotManifest)? {
        for entry in try entries() where try isWhole(entry) { return (entry.device, entry.name, entry.manifest) }
        return nil
    }

    /// Returns all readable snapshots, the most changesets first.
    /// - Throws: as `best`.
    func entries() throws -> [Entry] {
        var entries: [Entry] = []
        for device in try container.devices() {
            guard let names = try reading({ try container.snapshots(of: device) }), !names.isEmpty,
                let chunks = try reading({ try container.chunks(of: device) })
            else { continue }
            for name in names.prefix(Self.maximumPerDevice) {
                guard let entry = try entry(name, of: device), try self.names(of: entry).isSubset(of: chunks) else {
                    continue
                }
                // Most snapshots have no large values, and then no directory is listed.
                let parts = try partNames(of: entry)
                guard try parts.isEmpty || reading({ try container.parts(of: device) })?.isSuperset(of: parts) ?? false
                else { continue }
                entries.append(entry)
            }
        }
        return entries.sorted(by: Self.coversMore)
    }

    /// Returns a snapshot if readable.
    func entry(_ name: SnapshotName, of device: DeviceID) throws -> Entry? {
        guard let (bytes, epoch) = try reading({ try container.readSnapshot(name, of: device) }) ?? nil,
            let (manifest, checksum) = try reading({
                try SnapshotManifestDecoder.decode(bytes, container: container.id)
            }), name.hash == (try container.snapshotName(name.time, checksum, of: device, under: epoch)).hash
        else { return nil }
        return Entry(
            device: device, name: name, checksum: checksum, epoch: epoch, manifest: manifest,
            manifestBytes: bytes.count)
    }

    /// The names of a snapshot's chunks.
    func names(of entry: Entry) throws -> Set<ChunkName> {
        var names: Set<ChunkName> = []
        for table in entry.manifest.tables {
            for chunk in table.chunks {
                names.insert(try container.chunkName(chunk.checksum, of: entry.device, under: entry.epoch))
            }
        }
        return names
    }

    /// The names of the parts of a snapshot's large values.
    func partNames(of entry: Entry) throws -> Set<PartName> {
        var names: Set<PartName> = []
        for part in entry.manifest.tables.lazy.flatMap(\.chunks).flatMap(\.parts) {
            names.insert(try container.partName(part.checksum, of: entry.device, under: entry.epoch))
        }
        return names
    }

    /// Reads and verifies every chunk, and the parts of all large values.
    func isWhole(_ entry: Entry) throws -> Bool {
        for table in entry.manifest.tables {
            for chunk in table.chunks {
                guard
                    let bytes = try reading({
                        try container.readChunk(chunk.checksum, of: entry.device, under: entry.epoch)
                    }) ?? nil, bytes.count == chunk.bytes,
                    try reading({ try SnapshotChunkDecoder.verify(bytes, container: container.id) }) == chunk.checksum
                else { return false }
                for part in chunk.parts where try !isWhole(part, of: entry) { return false }
            }
        }
        return true
    }

    private func isWhole(_ part: SnapshotManifest.Part, of entry: Entry) throws -> Bool {
        guard
            let bytes = try reading({
                try container.readPart(part.checksum, of: entry.device, under: entry.epoch)
            }) ?? nil
        else { return false }
        return try bytes.count == part.bytes
            && reading({ try PartFile.verify(bytes, container: container.id) }) == part.checksum
    }

    /// Orders snapshots by number of changesets, because of two snapshots neither may cover the rest.
    private static func coversMore(_ left: Entry, _ right: Entry) -> Bool {
        func changesets(_ entry: Entry) -> UInt64 {
            entry.manifest.positions.values.reduce(0) { $0 &+ $1.log.sequence }
        }
        let (a, b) = (changesets(left), changesets(right))
        if a != b { return a > b }
        return (right.name, right.device) < (left.name, left.device)
    }

    /// Returns `nil` for an error of a single file.
    private func reading<Result>(_ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch let error as FerryError where error.concernsOneFile {
            return nil
        }
    }
}
