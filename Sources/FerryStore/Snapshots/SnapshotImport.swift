import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

extension StoreSession {
    /// Begins to read a snapshot, or continues.
    /// - Throws: `deviceForked` if the snapshot knows more of this device's log than the store does, or another branch.
    func beginSnapshot(_ manifest: SnapshotManifest, checksum: Checksum, of device: DeviceID) throws {
        if let told = manifest.positions[access.device] {
            let end = try DeviceTable(access.connection).ownEnd() ?? .init()
            if told.log.sequence > end.position.sequence
                || end.contradicts(.init(position: told.log, checksum: told.checksum))
            {
                throw FerryError(
                    .deviceForked,
                    "A snapshot in the container holds other changes of this device than the database remembers.",
                    device: access.device)
            }
        }
        if let present = try ImportProgress.read(access.meta), present.device == device.hex,
            present.manifest == checksum.hex
        {
            return
        }
        try AbsentList(access.connection).removeAll()
        try ImportProgress(device: device, manifest: checksum, isFresh: try isFresh()).save(access.meta)
    }

    /// True if the state is empty, and no change waits to be packed.
    private func isFresh() throws -> Bool {
        if try !PendingTable(access.connection).isEmpty { return false }
        return try access.registry.tables.values.allSatisfy { table in
            try access.connection.count("SELECT EXISTS(SELECT 1 FROM \(table.objectTable))") == 0
        }
    }

    /// Merges the next chunks.
    /// - Parameter chunks: the next chunks in the order of `SnapshotImport.order`.
    func mergeSnapshot(_ chunks: [SnapshotChunk], of manifest: SnapshotManifest) throws -> PassOutcome {
        guard var progress = try ImportProgress.read(access.meta) else {
            throw FerryError(.internalInconsistency, "A snapshot was merged that was not begun.")
        }
        if outcome.packed > 0 { progress.isFresh = false }
        let standing = try SnapshotCoverage(access, manifest)
        try replaying {
            // Policies come first and are applied before the rest.
            for group in [
                chunks.filter { $0.table == PolicyList.table }, chunks.filter { $0.table != PolicyList.table },
            ] where !group.isEmpty {
                let layouts = SnapshotImport.layouts(of: group)
                var gate = PolicyGate([layouts])
                try gate.recordObstacles(access, areRowsNeeded: true)
                if let objection = gate.objection(to: layouts, access.registry, access.hooks) { throw objection }
                let merged = try AppTriggerSandbox(access).run {
                    let isLoaded = progress.isFresh && access.fastPaths.contains(.snapshotLoad)
                    access.fastPathLog.record(
                        .snapshotLoad, isTaken: isLoaded, otherwise: progress.isFresh ? .off : .known)
                    if isLoaded { return try BulkSnapshotLoad(access).load(group) }
                    let changesets = try SnapshotOperations(manifest.vector).changesets(of: group)
                    return try ChangesetApplier(access).apply(changesets, &clock, from: standing)
                }
                try take(merged)
                if !progress.isFresh {
                    try passOn(SnapshotOperations(manifest.vector).changesets(of: group))
                }
                try applyPolicies()
            }
        }
        for chunk in chunks {
            if !progress.isFresh { try AbsentObjects(access, standing).note(besides: chunk, progress) }
            let key = ImportProgress.key(chunk.table, chunk.identity)
            progress.done[key, default: 0] += 1
            progress.last[key] = chunk.objects.last?.id.hex
        }
        try progress.save(access.meta)
        return outcome
    }
}

/// Prepares the chunks of a snapshot before the merge.
enum SnapshotImport {
    /// The chunks still to be merged, in their order: policies first, then parents before children, as far as this
    /// database knows the tables.
    static func order(
        _ manifest: SnapshotManifest, _ access: StoreAccess
    ) throws -> [(table: String, chunk: SnapshotManifest.Chunk)] {
        var places: [String: Int] = [PolicyList.table: -1]
        for (place, table) in access.registry.parentsFirst.enumerated() where table.name != PolicyList.table {
            places[foldedName(table.name)] = place
        }
        let done = try ImportProgress.read(access.meta)?.done ?? [:]
        let tables = manifest.tables.sorted {
            places[foldedName($0.name)] ?? .max < places[foldedName($1.name)] ?? .max
        }
        return tables.flatMap { table in
            table.chunks.dropFirst(done[ImportProgress.key(table.name, table.identity)] ?? 0).map {
                (table.name, $0)
            }
        }
    }

    /// The tables and columns of chunks, without content.
    static func layouts(of chunks: [SnapshotChunk]) -> Changeset {
        Changeset(
            device: DeviceID(high: 0, low: 0), sequence: 0, time: .zero, context: VersionVector(),
            tables: chunks.map {
                TableChanges(
                    name: $0.table, identity: $0.identity,
                    columns: Set($0.columns.map { exactKey($0.name) }).sorted().map(plainText))
            })
    }

    /// Refuses nonsensical chunks.
    static func check(_ chunks: [SnapshotChunk], _ clock: any WallClock) throws {
        let admission = ChangesetAdmission(clock)
        for chunk in chunks { if let objection = admission.objection(to: chunk) { throw objection } }
    }

    /// Abandons an unfinished snapshot.
    static func abandon(_ connection: SQLConnection) throws {
        try MetaTable(connection: connection).remove(.snapshot)
        try AbsentList(connection).removeAll()
    }
}
