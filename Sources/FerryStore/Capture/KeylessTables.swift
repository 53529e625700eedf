import FerryCore

/// The travelling tables known to have had rows with a NULL in their key. Such rows are local, and changes of their
/// parents concern them as they concern local tables (`LocalTableUpkeep`).
struct KeylessTables {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Records tables with such rows.
    /// - Returns: true if any table is new: sessions must be made anew.
    func note(_ tables: Set<Int>) throws -> Bool {
        if tables.isEmpty { return false }
        let known = Set(try (access.meta.json(.keylessTables, as: [String].self) ?? []).map(foldedName))
        let names = Set(tables.map { foldedName(access.registry[$0].name) })
        if names.isSubset(of: known) { return false }
        try access.meta.set(.keylessTables, json: known.union(names).sorted())
        try access.meta.set(.policies, (access.meta.integer(.policies) ?? 0) + 1)
        return true
    }
}
