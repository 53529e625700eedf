import FerryCore
import FerryMerge

/// Reads a snapshot, group of chunks by group, each in a transaction that also saves the progress
/// (Docs/Architecture/snapshots.md).
///
/// 1. `beginSnapshot`, continuing an interrupted attempt;
/// 2. `mergeSnapshot` with the chunks of `snapshotOrder`, as many at a time as convenient;
/// 3. `finishSnapshot` until done: then the store has replayed everything the snapshot covers.
extension Store {
    /// Begins to read a snapshot, or continues.
    /// - Throws: `deviceForked` if the snapshot knows more of this device's log than the store does.
    public func beginSnapshot(_ manifest: SnapshotManifest, checksum: Checksum, of device: DeviceID) throws {
        try access { access in
            let vector = try access.versionVector()
            if manifest.vector[access.device].sequence > vector[access.device].sequence {
                throw FerryError(
                    .deviceForked,
                    "A snapshot in the container holds more of this device's changes than the database remembers.",
                    device: access.device)
            }
            if let present = try SnapshotProgress.read(access.meta), present.device == device.hex,
                present.manifest == checksum.hex
            {
                return ((), [])
            }
            try access.connection.execute("DELETE FROM ferry_absent")
            try SnapshotProgress(device: device, manifest: checksum, isFresh: try isFresh(access)).save(access.meta)
            return ((), [])
        }
    }

    /// True if the state is empty, and no change waits to be packed.
    private func isFresh(_ access: StoreAccess) throws -> Bool {
        if try access.connection.count("SELECT EXISTS(SELECT 1 FROM ferry_pending)") != 0 { return false }
        return try access.registry.tables.values.allSatisfy { table in
            try access.connection.count("SELECT EXISTS(SELECT 1 FROM \(table.objectTable))") == 0
        }
    }

    /// The author of the snapshot being read, and the manifest's checksum; `nil` if none is being read.
    public func snapshotUnderWay() throws -> (device: DeviceID, manifest: Checksum)? {
        try read { try SnapshotProgress.read(StoreMeta(connection: $0))?.source }
    }

    /// Abandons a snapshot that cannot be read further. Merged content stays: it is true, and comes again.
    public func abandonSnapshot() throws {
        try writeAsFerry { connection in
            try StoreMeta(connection: connection).remove(.snapshot)
            try connection.execute("DELETE FROM ferry_absent")
            return ((), [])
        }
    }

    /// The chunks still to merge, in order: policies first, then parents before children, as far as this database knows
    /// the tables.
    public func snapshotOrder(
        _ manifest: SnapshotManifest
    ) throws -> [(table: String, chunk: SnapshotManifest.Chunk)] {
        try readAccess { access in
            var places: [String: Int] = [PolicyList.table: -1]
            for (place, table) in access.registry.parentsFirst.enumerated() where table.name != PolicyList.table {
                places[foldedName(table.name)] = place
            }
            let done = try SnapshotProgress.read(access.meta)?.done ?? [:]
            let tables = manifest.tables.sorted { places[$0.name] ?? .max < places[$1.name] ?? .max }
            return tables.flatMap { table in
                table.chunks.dropFirst(done[SnapshotProgress.key(table.name, table.identity)] ?? 0).map {
                    (table.name, $0)
                }
            }
        }
    }

    /// Packs pending changes, then merges the next chunks.
    /// - Parameter chunks: the next chunks in the order of `snapshotOrder`.
    /// - Throws: `incompatibleSchema`, `unknownPolicy`, `damagedFile`, `replayHookFailed`; nothing is merged then.
    public func mergeSnapshot(
        _ chunks: [SnapshotChunk], of manifest: SnapshotManifest, seal: SegmentSealer
    ) throws -> PassOutcome {
        let admission = ChangesetAdmission(clock)
        for chunk in chunks { if let objection = admission.objection(to: chunk) { throw objection } }
        try enter(tablesOf: [Self.layouts(of: chunks)])
        return try passing(seal) { work in
            guard var progress = try SnapshotProgress.read(work.access.meta) else {
                throw FerryError(.internalInconsistency, "A snapshot was merged that was not begun.")
            }
            if work.outcome.packed > 0 { progress.isFresh = false }
            let standing = try SnapshotStanding(work.access, manifest)
            try work.replaying { work in
                // Policies come first and are applied before the rest.
                for group in [
                    chunks.filter { $0.table == PolicyList.table }, chunks.filter { $0.table != PolicyList.table },
                ] where !group.isEmpty {
                    let layouts = Self.layouts(of: group)
                    var gate = PolicyGate([layouts])
                    try gate.noteObstacles(work.access, areRowsNeeded: true)
                    if let objection = gate.objection(to: layouts, work.access.registry, hooks) { throw objection }
                    let merged = try AppTriggers(work.access).run {
                        if progress.isFresh { return try SnapshotLoad(work.access).load(group) }
                        let changesets = try SnapshotOperations(manifest.vector).changesets(of: group)
                        return try ChangesetApplier(work.access).apply(changesets, &work.clock, from: standing)
                    }
                    work.take(merged)
                    if !progress.isFresh {
                        try passOn(SnapshotOperations(manifest.vector).changesets(of: group), &work, seal)
                    }
                    try takeUpPolicies(&work.access, &work.touched)
                }
            }
            for chunk in chunks {
                if !progress.isFresh { try AbsentObjects(work.access, standing).note(besides: chunk, progress) }
                let key = SnapshotProgress.key(chunk.table, chunk.identity)
                progress.done[key, default: 0] += 1
                progress.last[key] = chunk.objects.last?.id.hex
            }
            try progress.save(work.access.meta)
            return work.outcome
        }
    }

    /// The tables and columns of chunks, without content.
    private static func layouts(of chunks: [SnapshotChunk]) -> Changeset {
        Changeset(
            device: DeviceID(high: 0, low: 0), sequence: 0, time: .zero, context: VersionVector(),
            tables: chunks.map {
                TableChanges(
                    name: $0.table, identity: $0.identity, columns: Array(Set($0.columns.map(\.name))).sorted())
            })
    }
}
