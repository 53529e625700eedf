import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Reads a snapshot into a store, a few chunks in memory at a time. What was merged before an interruption is not read
/// again.
struct SnapshotLoader {
    /// Objects, and bytes of files, that are merged in one transaction; one chunk always fits.
    private static let maximumObjects = 100_000
    private static let maximumBytes = 16 << 20

    let container: Container
    let store: Store
    let seal: SegmentSealer

    /// Reads all of it, until the store has replayed what it covers.
    /// - Parameter body: is told of each transaction.
    /// - Throws: `damagedFile` and the like where a file is damaged or missing: try another snapshot. What else
    ///   `Store.mergeSnapshot` throws concerns this database.
    func load(_ entry: SnapshotShelf.Entry, _ body: (PassOutcome) -> Void) throws {
        let manifest = entry.manifest
        try store.beginSnapshot(manifest, checksum: entry.checksum, of: entry.device)
        var rest = try store.snapshotOrder(manifest)[...]
        while !rest.isEmpty {
            var chunks: [SnapshotChunk] = []
            var (objects, bytes) = (0, 0)
            while let (table, chunk) = rest.first, objects < Self.maximumObjects, bytes < Self.maximumBytes {
                chunks.append(try read(chunk, of: table, entry))
                objects += chunk.objects
                bytes += chunk.bytes
                rest.removeFirst()
            }
            body(try store.mergeSnapshot(chunks, of: manifest, seal: seal))
        }
        while true {
            let (outcome, isDone) = try store.finishSnapshot(manifest, seal: seal)
            body(outcome)
            if isDone { return }
        }
    }

    /// A chunk, verified.
    private func read(
        _ chunk: SnapshotManifest.Chunk, of table: String, _ entry: SnapshotShelf.Entry
    ) throws -> SnapshotChunk {
        try Self.read(chunk, of: table, entry, container)
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
