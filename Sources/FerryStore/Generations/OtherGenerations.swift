import FerryCore

/// A table with a different primary key on a remote device: writes of either side wait on the other.
public struct OtherGeneration: Equatable, Sendable {
    public var table: String
    /// The table's identity in this database, and on that device.
    public var identity: TableIdentity
    public var otherIdentity: TableIdentity
    public var device: DeviceID

    /// All such tables in this database, by table and device.
    static func all(_ connection: SQLConnection) throws -> [OtherGeneration] {
        let generations = try Generations.load(StoreMeta(connection: connection))
        if generations.writers.isEmpty { return [] }
        var found: [OtherGeneration] = []
        for (name, writers) in generations.writers.sorted(by: { $0.key < $1.key }) {
            guard let own = try TableGeneration.shown(name, generations, connection),
                try connection.count(
                    "SELECT count(*) FROM ferry_digest WHERE \"table\" = ? AND token IS NOT NULL",
                    .integer(Int64(own.number))) != 0
            else { continue }
            let all = try TableGeneration.all(name, connection)
            for (hex, number) in writers.sorted(by: { $0.key < $1.key }) where number != own.number {
                guard let device = DeviceID(hex), let other = all.first(where: { $0.number == number }) else {
                    continue
                }
                found.append(
                    OtherGeneration(
                        table: own.name, identity: own.identity, otherIdentity: other.identity, device: device))
            }
        }
        return found
    }
}

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
    func noteLeft(_ table: TrackedTable, for present: TrackedTable) throws {
        var generations = try Generations.load(access.meta)
        generations.left.insert(table.id)
        generations.left.remove(present.id)
        var writers = generations.writers[foldedName(table.name)] ?? [:]
        try access.connection.forEachRow("SELECT id FROM ferry_device WHERE sequence > 0") { row in
            guard let device: DeviceID = row.id(0), device != access.device, writers[device.hex] == nil else { return }
            writers[device.hex] = table.id
        }
        generations.writers[foldedName(table.name)] = writers
        try generations.save(access.meta)
    }
}
