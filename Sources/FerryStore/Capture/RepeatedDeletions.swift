import FerryCore
import FerryMerge
import FerrySchema

/// Writes deletions again under this device's ID, for devices that read an insertion of the object without the deletion. Each comes just after
/// the deletion's own time, so later writes stand.
struct RepeatedDeletions {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the changes to stage; the states have them already.
    func write(_ found: Set<RowToken>) throws -> [TableChanges] {
        let byTable = Dictionary(grouping: found, by: \.table)
        return try access.registry.parentsFirst.compactMap { table in
            guard let tokens = byTable[table.id] else { return nil }
            let states = access.objects(of: table.id)
            var builder = TableChangesBuilder(table, columns: table.columns)
            for id in tokens.map(\.id).sorted() {
                var state = try states.load(id)
                // Several devices repeat a deletion alike, and none a repetition.
                guard let deleted = state.registers.original(of: state.registers.deleted) else { continue }
                let time = ObjectRegisters.time(ofDeletionRepeatedAlone: deleted.time)
                let stamp = Stamp(time: time, device: access.device)
                state.registers.mergeDeletion(stamp)
                builder.append(id, .delete, stamp.time)
                try states.save(state)
            }
            return builder.isEmpty ? nil : builder.changes
        }
    }
}
