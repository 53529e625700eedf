import FerryCore
import FerrySQL
import FerrySchema

/// Reads a snapshot, group of chunks by group, each in a transaction that also saves the progress
/// (Docs/Architecture/snapshots.md).
///
/// 1. `beginSnapshot`, continuing an interrupted attempt;
/// 2. `mergeSnapshot` with the chunks of `snapshotOrder`, as many at a time as convenient;
/// 3. `finishSnapshot` until done: then the store has replayed everything the snapshot covers.
extension Store {
    /// Reads the whole state for a snapshot, in a single consistent transaction.
    ///
    /// For a database in a file, a separate connection reads: in WAL mode nobody waits. In any other journal mode
    /// writers wait until the end.
    /// - Parameter body: receives each chunk, in order, and returns its entry for the manifest.
    /// - Throws: `busy` if anything is not packed or not published yet: make a pass, publish, and try again.
    package func readSnapshot(
        _ body: (SnapshotChunk) throws -> SnapshotManifest.Chunk
    ) throws -> SnapshotManifest {
        func check(_ connection: SQLConnection) throws {
            try SnapshotSource.refuseUnlessPublished(connection, passNeed)
        }
        return try readAside(after: check) { connection in
            let identity = try StoreIdentity.required(connection)
            let registry = try Registry(connection, SchemaReader(connection: connection).read())
            let access = try StoreAccess(connection, registry: registry, surroundings)
            return try SnapshotSource(access).read(container: identity.container, body)
        }
    }

    /// Begins to read a snapshot, or continues.
    /// - Throws: `deviceForked` if the snapshot knows more of this device's log than the store does.
    package func beginSnapshot(_ manifest: SnapshotManifest, checksum: Checksum, of device: DeviceID) throws {
        try transaction { try $0.beginSnapshot(manifest, checksum: checksum, of: device) }
    }

    /// The author of the snapshot being read, and the manifest's checksum; `nil` if none is being read.
    package func snapshotUnderWay() throws -> (device: DeviceID, manifest: Checksum)? {
        try read { try ImportProgress.read(MetaTable(connection: $0))?.source }
    }

    /// Abandons a snapshot that cannot be read further. Merged content stays: it is true, and comes again.
    package func abandonSnapshot() throws { try writeAsFerry { (try SnapshotImport.abandon($0), []) } }

    /// The chunks still to merge, in order: policies first, then parents before children, as far as this database knows
    /// the tables.
    package func snapshotOrder(
        _ manifest: SnapshotManifest
    ) throws -> [(table: String, chunk: SnapshotManifest.Chunk)] {
        try readAccess { try SnapshotImport.order(manifest, $0) }
    }

    /// Packs pending changes, then merges the next chunks.
    /// - Parameter chunks: the next chunks in the order of `snapshotOrder`.
    /// - Throws: `incompatibleSchema`, `unknownPolicy`, `damagedFile`, `replayHookFailed`; nothing is merged then.
    package func mergeSnapshot(
        _ chunks: [SnapshotChunk], of manifest: SnapshotManifest, encode: SegmentEncoding
    ) throws -> PassOutcome {
        try SnapshotImport.check(chunks, clock)
        try enter(tablesOf: [SnapshotImport.layouts(of: chunks)])
        return try passing(encode) { session in
            session.contentNews.widen()
            var outcome = try session.mergeSnapshot(chunks, of: manifest)
            try session.insertContentsAgain()
            outcome.packed = session.outcome.packed
            return outcome
        }
    }

    /// Handles the store's objects absent from a merged snapshot, in batches, and finally takes over the snapshot's
    /// position.
    ///
    /// An object known to the snapshot's devices and now missing was deleted and collected: the object is removed here
    /// too. An object this device wrote to since is published again whole. Under `deleteWins` such writes become
    /// conflicts instead.
    /// - Returns: the outcome, and whether everything is done.
    package func finishSnapshot(
        _ manifest: SnapshotManifest, encode: SegmentEncoding
    ) throws -> (outcome: PassOutcome, isDone: Bool) {
        try passing(encode) { session in
            session.contentNews.widen()
            var finished = try session.finishSnapshot(manifest)
            try session.insertContentsAgain()
            finished.outcome.packed = session.outcome.packed
            return finished
        }
    }
}
