import FerryCore
import FerryMerge
import FerrySchema

/// Keeps tokens for a deleted object's parent keys on columns outside the primary key. A row referring to such a key by
/// RESTRICT retains the object, and only these tokens lead to the object. A stale token costs a lookup.
struct TombstoneParentKeys {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    func note(_ state: ObjectState, _ table: TrackedTable) throws {
        if table.incoming.isEmpty || state.registers.inserted == nil { return }
        let parentKeys = ReferenceTokens(registry: access.registry).parentKeys(of: table, state.kept.fields)
        for token in parentKeys {
            try access.anomalyTokens.note(token, concerns: RowToken(table: table.id, id: state.object))
        }
    }
}
