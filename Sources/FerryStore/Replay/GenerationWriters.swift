import FerryCore
import FerrySchema

/// Records the generation shown by each device, for tables with several generations.
struct GenerationWriters {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Reads replayed changesets, in the order of each log.
    func note(_ changesets: [Changeset]) throws {
        let registry = access.registry
        if registry.haveOneGenerationEach { return }
        let before = try Generations.load(access.meta)
        var generations = before
        for changeset in changesets where changeset.device != access.device {
            for record in changeset.schema?.tracked ?? [] {
                note(record.name, record.identity, changeset.device, &generations)
            }
            for changes in changeset.tables { note(changes.name, changes.identity, changeset.device, &generations) }
        }
        if generations != before { try generations.save(access.meta) }
    }

    private func note(
        _ name: String, _ identity: TableIdentity, _ device: DeviceID, _ generations: inout Generations
    ) {
        guard access.registry.tables(named: name).count > 1, let table = access.registry.table(named: name, identity)
        else { return }
        generations.writers[foldedName(name), default: [:]][device.hex] = table.id
    }

    /// Records a generation left by this database. All remote devices count as showing the generation until they
    /// announce the new generation.
    func recordLeft(_ table: TrackedTable, for present: TrackedTable) throws {
        var generations = try Generations.load(access.meta)
        generations.left.insert(table.id)
        generations.left.remove(present.id)
        var writers = generations.writers[foldedName(table.name)] ?? [:]
        try DeviceTable(access.connection).forEachLog { device, _ in
            guard device != access.device, writers[device.hex] == nil else { return }
            writers[device.hex] = table.id
        }
        generations.writers[foldedName(table.name)] = writers
        try generations.save(access.meta)
    }
}
