import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Decides whether a pass without a replay would have work: pending changes, or a schema that is new or unknown to the
/// other devices. Cheap, and writes nothing.
struct PassNeed {
    let registries: RegistryCache
    let hooks: MergeHooks

    func isThere(_ connection: SQLConnection) throws -> Bool {
        let meta = MetaTable(connection: connection)
        try StoreTables.checkVersion(meta)
        if try !StoreTables.tellsRows(meta) { return true }
        if let mark = try WaitingMark.load(meta) {
            if try hasWorkBesideWaiting(mark, connection) { return true }
        } else if try !PendingTable(connection).isEmpty {
            return true
        }
        if try meta.integer(.schemaUnsent) == 1 || meta.string(.schemaNews) != nil { return true }
        // A hook may have been registered since.
        let policies = PolicyList(connection)
        if try ![String: String].areEqualBytes(policies.target(hooks), policies.applied()) { return true }
        return try SchemaReader(connection: connection).version() != meta.integer(.schemaVersion)
            || NewestSchema(connection).hasOtherNotes(connection)
    }

    /// True if a pass would have work besides waiting rows and changes.
    private func hasWorkBesideWaiting(_ mark: WaitingMark, _ connection: SQLConnection) throws -> Bool {
        let registry = try registries.asRead(connection).registry
        let present = try mark.present(registry, connection)
        if present.reasons.keys.sorted() != mark.numbers { return true }
        let held = present.holdsNotes ? present.connected(registry).sorted() : []
        return try !PendingTable(connection).isEmpty(besides: held)
    }
}
