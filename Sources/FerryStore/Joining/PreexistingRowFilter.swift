import FerryCore
import FerryMerge
import FerrySchema

/// The objects of each table, by name in lower case.
package typealias ObjectSets = [String: Set<ObjectID>]

/// Removes rows only the joining database has: a container accepts no new rows from a database joining with `--rows
/// theirs`.
///
/// Only the deletion of such a row is published, so every device has the same state. The values stay in this device's
/// state and are listed as a conflict, and can be restored from there.
struct PreexistingRowFilter {
    private let session: StoreSession
    private var access: StoreAccess { session.access }

    init(_ session: StoreSession) { self.session = session }

    /// - Returns: the deletions, to be staged.
    func remove(_ gone: ObjectSets) throws -> [TableChanges] {
        var deletions: [TableChanges] = []
        var lost: [RowToken: Stamp] = [:]
        for table in access.registry.parentsFirst {
            guard let objects = gone[foldedName(table.name)], !objects.isEmpty else { continue }
            var builder = TableChangesBuilder(table)
            for object in objects.sorted() {
                let registers = try access.objects(of: table.id).load(object).registers
                // An object deleted by the container is gone already, and listed.
                guard registers.isAlive, let newest = registers.newestWrite else { continue }
                lost[RowToken(table: table.id, id: object)] = newest
                builder.append(object, .delete, session.clock.tick())
            }
            if !builder.isEmpty { deletions.append(builder.changes) }
        }
        let changeset = Changeset(
            device: access.device, sequence: 0, time: session.clock.now, context: try access.versionVector(),
            tables: deletions)
        let touched = try AppTriggerSandbox(access).run {
            let outcome = try ChangesetApplier(access).apply([changeset], &session.clock, movesPositions: false)
            // State unknown to remote devices must not bring the rows back.
            var seeds: [RowToken] = []
            for table in access.registry.parentsFirst {
                for object in (gone[foldedName(table.name)] ?? []).sorted() {
                    try forgetWrites(to: object, of: table, lost[RowToken(table: table.id, id: object)])
                    seeds.append(RowToken(table: table.id, id: object))
                }
            }
            _ = try RowProjector(access).settle(seeds: seeds)
            return outcome.tables
        }
        session.touched.formUnion(touched)
        return deletions
    }

    /// Forgets the writes of the joining database to an object, but keeps the values.
    /// - Parameter lost: the object's newest write, if lost now.
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
        try ConflictLog(access.conflicts).record(
            .deleted, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, lost), kept: (nil, deletion))
    }
}
