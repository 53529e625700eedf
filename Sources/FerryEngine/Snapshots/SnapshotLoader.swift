import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads a snapshot into a store, a few chunks in memory at a time. What was merged before an interruption is not read
/// again.
struct SnapshotLoader {
    /// Objects, bytes of files, and bytes of what they hold, that are merged in one transaction; one chunk always fits.
    private static let maximumObjects = 10_000
    private static let maximumBytes = 16 << 20
    private static let maximumContentBytes = SegmentLimits.plannedContentBytes

    let store: Store
    let seal: SegmentSealer
    /// Reads a chunk of a table, verified.
    let read: (SnapshotManifest.Chunk, String) throws -> SnapshotChunk

    /// Reads a snapshot of a container's.
    init(_ entry: SnapshotShelf.Entry, _ container: Container, store: Store, seal: @escaping SegmentSealer) {
        self.store = store
        self.seal = seal
        read = { try Self.read($0, of: $1, entry, container) }
    }

    /// Reads one that was exported to a file.
    init(_ archive: SnapshotArchive, store: Store, seal: @escaping SegmentSealer) {
        self.store = store
        self.seal = seal
        read = { try archive.chunk($0, of: $1) }
    }

    /// Reads all of it, until the store has replayed what it covers.
    /// - Parameter body: is told of each transaction.
    /// - Throws: `damagedFile` and the like where a file is damaged or missing: try another snapshot. What else
    ///   `Store.mergeSnapshot` throws concerns this database.
    ///
    /// - Parameters:
    ///   - checksum: the manifest's, and whose snapshot it is: by both an interrupted load is known again.
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
            body(try store.mergeSnapshot(chunks, of: manifest, seal: seal))
        }
        FreedMemory.giveBack()
        while true {
            let (outcome, isDone) = try store.finishSnapshot(manifest, seal: seal)
            body(outcome)
            if isDone { return }
        }
    }

    /// A chunk of a snapshot, verified.
    /// - Throws: `fileNotThereYet`, `damagedFile`, `formatTooNew`, `foreignFile`, `inputOutput`.
    static func read(
        _ chunk: SnapshotManifest.Chunk, of table: String, _ entry: SnapshotShelf.Entry, _ container: Container
    ) throws -> SnapshotChunk {
        guard let bytes = try container.readChunk(chunk.checksum, of: entry.device) else {
            throw FerryError(
                .fileNotThereYet,
                "The snapshot \(entry.name) is not whole: the chunk \(chunk.checksum.hex) is missing.",
                device: entry.device)
        }
        do {
            let (content, checksum) = try SnapshotChunkDecoder.decode(bytes, container: container.id)
            guard checksum == chunk.checksum, content.table == table, content.objects.count == chunk.objects else {
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
