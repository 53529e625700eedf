import FerryCore
import FerryLog
import XCTest

@testable import FerryStore

/// A snapshot of a device in memory.
struct TestSnapshot {
    var manifest: SnapshotManifest
    var chunks: [Checksum: SnapshotChunk]
    /// All changesets that it stands for.
    var history: [Changeset]
    /// Whether its author had forgotten deleted objects.
    var hasCollected: Bool

    /// What is alive in it, by table and object: all that devices in step have in common, whoever has forgotten what.
    func living(deletionWins: Set<String>) -> [String: [ObjectID: [String]]] {
        var result: [String: [ObjectID: [String]]] = [:]
        for chunk in chunks.values {
            for object in chunk.objects {
                guard let inserted = object.inserted else { continue }
                let fields = deletionWins.contains(chunk.table) ? [] : chunk.cells(of: object).map(\.stamp)
                if let deleted = object.deleted, fields.reduce(inserted, max) < deleted { continue }
                let cells = zip(chunk.shapes[object.shape], chunk.cells(of: object)).map { column, cell in
                    "\(chunk.columns[column]) \(cell)"
                }
                result[chunk.table, default: [:]][object.id] = ["\(inserted) \(String(describing: object.key))"] + cells
            }
        }
        return result
    }
}

extension TestDevice {
    /// Packs, and takes a snapshot, through its encoded form and back.
    /// - Parameter pieces: into how many chunks a table is divided at most; a store makes one of so few rows.
    func takeSnapshot(pieces: Int = 1) throws -> TestSnapshot {
        try flush()
        // What it has packed counts as published here.
        try store.write { try $0.execute("DELETE FROM ferry_outbox") }
        var chunks: [Checksum: SnapshotChunk] = [:]
        var lists: [String: [SnapshotManifest.Chunk]] = [:]
        var manifest = try store.readSnapshot { chunk in
            for piece in chunk.divided(into: pieces) {
                let (bytes, checksum) = try SnapshotChunkEncoder.encode(piece, container: Self.container)
                let decoded = try SnapshotChunkDecoder.decode(bytes, container: Self.container)
                XCTAssertEqual(decoded.chunk, piece)
                chunks[checksum] = decoded.chunk
                lists[chunk.table, default: []].append(
                    .init(checksum: checksum, bytes: bytes.count, objects: piece.objects.count))
            }
            return .init(checksum: Checksum(high: 0, low: 0), bytes: 0, objects: 0)
        }
        for index in manifest.tables.indices {
            manifest.tables[index].chunks = lists[manifest.tables[index].name] ?? []
        }
        let (bytes, _) = try SnapshotManifestEncoder.encode(manifest)
        let decoded = try SnapshotManifestDecoder.decode(bytes, container: Self.container)
        XCTAssertEqual(decoded.manifest, manifest)
        return TestSnapshot(manifest: decoded.manifest, chunks: chunks, history: history, hasCollected: hasCollected)
    }

    /// Reads a snapshot in.
    /// - Parameter limit: stops after so many transactions, as a crash would.
    /// - Returns: whether it came to the end.
    @discardableResult
    func read(_ snapshot: TestSnapshot, chunksAtATime: Int = .max, limit: Int = .max) throws -> Bool {
        let checksum = Checksum(high: snapshot.manifest.time.rawValue, low: UInt64(snapshot.chunks.count))
        try store.beginSnapshot(snapshot.manifest, checksum: checksum, of: DeviceID(high: 0, low: 1))
        var rest = try store.snapshotOrder(snapshot.manifest)[...]
        var transactions = 0
        while !rest.isEmpty {
            if transactions == limit { return false }
            transactions += 1
            let chunks = try rest.prefix(chunksAtATime).map { try XCTUnwrap(snapshot.chunks[$0.chunk.checksum]) }
            _ = try store.mergeSnapshot(chunks, of: snapshot.manifest, encode: encode)
            rest = rest.dropFirst(chunksAtATime)
        }
        while true {
            if transactions == limit { return false }
            transactions += 1
            if try store.finishSnapshot(snapshot.manifest, encode: encode).isDone { break }
        }
        try noteReplayed(snapshot.history, hasCollected: snapshot.hasCollected)
        return true
    }
}

extension SnapshotChunk {
    /// The same objects in several chunks.
    func divided(into pieces: Int) -> [SnapshotChunk] {
        if pieces <= 1 || objects.count < 2 { return [self] }
        let size = (objects.count + pieces - 1) / pieces
        return stride(from: 0, to: objects.count, by: size).map { start in
            var piece = SnapshotChunk(table: table, identity: identity, columns: columns, shapes: shapes)
            for object in objects[start..<min(start + size, objects.count)] {
                var copy = object
                copy.firstCell = piece.cells.count
                piece.cells += cells(of: object)
                piece.objects.append(copy)
            }
            return piece
        }
    }
}
