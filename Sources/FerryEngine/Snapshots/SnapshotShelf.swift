import FerryContainer
import FerryCore
import FerryLog

/// The snapshots that a container holds, of all devices.
///
/// A manifest that is damaged, of another container or a newer Ferry, and one that names chunks which are not there, is
/// passed over: the next one may do.
struct SnapshotShelf {
    /// A snapshot whose manifest is whole and whose chunks are there; they are verified as they are read.
    struct Entry {
        var device: DeviceID
        var name: SnapshotName
        var checksum: Checksum
        var manifest: SnapshotManifest
        /// The length of the manifest's file.
        var manifestBytes: Int

        /// Bytes of the manifest and all chunks.
        var bytes: Int { manifest.chunkBytes + manifestBytes }
    }

    /// Manifests looked at of one device: its newest.
    private static let maximumPerDevice = 8

    let container: Container

    init(_ container: Container) { self.container = container }

    /// The snapshot that covers most, whole and verified down to its last chunk, which reads all of it; `nil` where there
    /// is none.
    /// - Throws: `containerMissing` and the like. What is wrong with one snapshot is no error.
    func best() throws -> (device: DeviceID, name: SnapshotName, manifest: SnapshotManifest)? {
        for entry in try entries() where try isWhole(entry) { return (entry.device, entry.name, entry.manifest) }
        return nil
    }

    /// All readable snapshots, those that cover most first.
    /// - Throws: as `best`.
    func entries() throws -> [Entry] {
        var entries: [Entry] = []
        for device in try container.devices() {
            guard let names = try reading({ try container.snapshots(of: device) }), !names.isEmpty,
                let chunks = try reading({ try container.chunks(of: device) })
            else { continue }
            for name in names.prefix(Self.maximumPerDevice) {
                guard let entry = try entry(name, of: device),
                    entry.manifest.tables.allSatisfy({ $0.chunks.allSatisfy { chunks.contains($0.checksum) } })
                else { continue }
                entries.append(entry)
            }
        }
        return entries.sorted(by: Self.coversMore)
    }

    /// One snapshot, where it is readable.
    func entry(_ name: SnapshotName, of device: DeviceID) throws -> Entry? {
        guard let bytes = try reading({ try container.readSnapshot(name, of: device) }) ?? nil,
            let (manifest, checksum) = try reading({
                try SnapshotManifestDecoder.decode(bytes, container: container.id)
            }), name.matches(checksum)
        else { return nil }
        return Entry(
            device: device, name: name, checksum: checksum, manifest: manifest, manifestBytes: bytes.count)
    }

    /// Reads and verifies every chunk.
    func isWhole(_ entry: Entry) throws -> Bool {
        for table in entry.manifest.tables {
            for chunk in table.chunks {
                guard let bytes = try reading({ try container.readChunk(chunk.checksum, of: entry.device) }) ?? nil,
                    bytes.count == chunk.bytes,
                    try reading({ try SnapshotChunkDecoder.verify(bytes, container: container.id) }) == chunk.checksum
                else { return false }
            }
        }
        return true
    }

    /// Of two snapshots neither of which covers the other, the one with more changesets.
    private static func coversMore(_ left: Entry, _ right: Entry) -> Bool {
        func changesets(_ entry: Entry) -> UInt64 {
            entry.manifest.positions.values.reduce(0) { $0 &+ $1.log.sequence }
        }
        let (a, b) = (changesets(left), changesets(right))
        if a != b { return a > b }
        return (right.name, right.device) < (left.name, left.device)
    }

    /// `nil` for what concerns one file only.
    private func reading<Result>(_ body: () throws -> Result) throws -> Result? {
        do {
            return try body()
        } catch let error as FerryError where error.concernsOneFile {
            return nil
        }
    }
}
