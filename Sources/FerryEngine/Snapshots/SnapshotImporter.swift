import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads a snapshot into a store, with a few chunks in memory at a time. After an interruption, merged chunks are not
/// read again.
struct SnapshotImporter {
    /// Maximum objects, bytes of files, and bytes of content merged in a transaction. A single chunk always fits.
    private static let maximumObjects = 10_000
    private static let maximumBytes = 16 << 20
    private static let maximumContentBytes = SegmentLimits.plannedContentBytes

    let store: Store
    let encode: SegmentEncoding
    /// Reads and verifies a chunk of a table.
    let read: (SnapshotManifest.Chunk, String) throws -> SnapshotChunk

    /// Reads a snapshot of a container.
    init(_ entry: SnapshotCatalog.Entry, _ container: Container, store: Store, encode: @escaping SegmentEncoding) {
        self.store = store
        self.encode = encode
        read = { try Self.read($0, of: $1, entry, container) }
    }

    /// Reads a snapshot exported to a file.
    init(_ archive: SnapshotArchive, store: Store, encode: @escaping SegmentEncoding) {
        self.store = store
        self.encode = encode
        read = { try archive.chunk($0, of: $1) }
    }

    /// Reads the whole snapshot, until the store has replayed the snapshot's vector.
    ///
    /// - Parameters:
    ///   - checksum: the manifest's checksum. With `device`, the checksum identifies an interrupted load.
    ///   - device: the snapshot's device.
    ///   - body: receives the outcome of each transaction.
    /// - Throws: `damagedFile` and the like for a damaged or missing file: try a different snapshot. Further errors of
    ///   `Store.mergeSnapshot` concern this database.
    func load(
        _ manifest: SnapshotManifest, checksum: Checksum, of device: DeviceID, _ body: (PassOutcome) -> Void
    ) throws {
        try store.beginSnapshot(manifest, checksum: checksum, of: device)
        var rest = try store.snapshotOrder(manifest)[...]
        while !rest.isEmpty {
            var chunks: [SnapshotChunk] = []
            var (objects, bytes, contentBytes) = (0, 0, 0)
            while let (table, chunk) = rest.first, objects < Self.maximumObjects, bytes < Self.maximumBytes,
                contentBytes < Self.maximumContentBytes
            {
                let content = try read(chunk, table)
                chunks.append(content)
                objects += chunk.objects
                bytes += chunk.bytes
                contentBytes += content.cells.reduce(0) { $0 + $1.content.byteCount }
                rest.removeFirst()
            }
            body(try store.mergeSnapshot(chunks, of: manifest, encode: encode))
        }
        FreedMemory.giveBack()
        while true {
            let (outcome, isDone) = try store.finishSnapshot(manifest, encode: encode)
            body(outcome)
            if isDone { return }
        }
    }

    /// Returns a verified chunk of a snapshot.
    /// - Throws: `fileNotThereYet`, `damagedFile`, `formatTooNew`, `foreignFile`, `inputOutput`.
    static func read(
        _ chunk: SnapshotManifest.Chunk, of table: String, _ entry: SnapshotCatalog.Entry, _ container: Container
    ) throws -> SnapshotChunk {
        guard let bytes = try container.readChunk(chunk.checksum, of: entry.device, under: entry.epoch) else {
            throw FerryError(
                .fileNotThereYet,
                "The snapshot \(entry.name) is not whole: the chunk \(chunk.checksum.hex) is missing.",
                device: entry.device)
        }
        do {
            let (content, checksum) = try SnapshotChunkDecoder.decode(
                bytes, container: container.id, parts: container.partSource(of: entry.device, under: entry.epoch))
            guard checksum == chunk.checksum, equalBytes(content.table, table), content.objects.count == chunk.objects
            else {
                throw ByteReader.malformed("it is not what the snapshot says")
            }
            return content
        } catch {
            guard var located = error as? FerryError else { throw error }
            located.message = "The chunk \(chunk.checksum.hex) of the snapshot \(entry.name): \(located.message)"
            located.device = entry.device
            throw located
        }
    }
}
