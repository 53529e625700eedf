import FerryCore
import FerryMerge

/// The objects of each table, by its name in lower case.
public typealias ObjectSets = [String: Set<ObjectID>]

/// Takes rows that only the joining database has out of it: a container takes nothing of its own from a database that joins
/// with `--rows theirs`.
///
/// What is published of such a row is its deletion, so that every device has the same state of it. Its values stay in
/// this device's state and are listed as a conflict, from which they can be brought back.
struct OneSidedRows {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the deletions, to be staged.
    func remove(_ gone: ObjectSets, _ work: inout PassWork) throws -> [TableChanges] {
        var deletions: [TableChanges] = []
        var lost: [RowToken: Stamp] = [:]
        for table in access.registry.parentsFirst {
            guard let objects = gone[foldedName(table.name)], !objects.isEmpty else { continue }
            var builder = TableChangesBuilder(table)
            for object in objects.sorted() {
                let registers = try access.objects(of: table.id).load(object).registers
                // One that the container had deleted is gone already, and in the list.
                guard registers.isAlive, let newest = registers.newestWrite else { continue }
                lost[RowToken(table: table.id, id: object)] = newest
                builder.append(object, .delete, work.clock.tick())
            }
            if !builder.isEmpty { deletions.append(builder.changes) }
        }
        let changeset = Changeset(
            device: access.device, sequence: 0, time: work.clock.now, context: try access.versionVector(),
            tables: deletions)
        let touched = try AppTriggers(access).run {
            let outcome = try ChangesetApplier(access).apply([changeset], &work.clock, isOwn: true)
            // What nobody else knows of them must not bring them back.
            var seeds: [RowToken] = []
            for table in access.registry.parentsFirst {
                for object in (gone[foldedName(table.name)] ?? []).sorted() {
                    try forgetWrites(to: object, of: table, lost[RowToken(table: table.id, id: object)])
                    seeds.append(RowToken(table: table.id, id: object))
                }
            }
            _ = try RowMaintenance(access).settle(seeds: seeds)
            return outcome.tables
        }
        work.touched.formUnion(touched)
        return deletions
    }

    /// Forgets what the database brought along of an object, but for its values.
    /// - Parameter lost: its newest write, where that is lost now.
    private func forgetWrites(to object: ObjectID, of table: TrackedTable, _ lost: Stamp?) throws {
        let objects = access.objects(of: table.id)
        var state = try objects.load(object)
        let old = Stamp(time: try access.oldTime(), device: access.device)
        guard let deletion = state.registers.deleted else { return }
        var registers = state.registers
        if registers.inserted == old { registers.inserted = nil }
        for column in registers.fields.indices where registers.fields[column] == old { registers.fields[column] = nil }
        if registers.fields.allSatisfy({ $0 == nil }) { registers.fields = [] }
        state.registers = registers
        if registers.inserted == nil { state.policies = [:] }
        objects.renewCheck(of: &state)
        try objects.save(state)
        guard let lost else { return }
        try ConflictLog(access).record(
            .deleted, table: table.id, object: object, column: nil, lost: (nil, lost), kept: (nil, deletion))
    }
}
