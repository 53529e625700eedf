import FerryCore

/// The tables that travel and have had rows with a NULL in their key. Such rows stay on this device, and what they refer to
/// concerns them as it does those of tables that stay (`StayingRows`).
struct KeylessTables {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Notes tables that have such rows.
    /// - Returns: whether some have not had any before: what works on the registry must be made anew.
    func note(_ tables: Set<Int>) throws -> Bool {
        if tables.isEmpty { return false }
        let known: Set<String> = try access.meta.json(.keylessTables) ?? []
        let names = Set(tables.map { foldedName(access.registry[$0].name) })
        if names.isSubset(of: known) { return false }
        try access.meta.set(.keylessTables, json: known.union(names).sorted())
        try access.meta.set(.policies, (access.meta.integer(.policies) ?? 0) + 1)
        return true
    }
}
