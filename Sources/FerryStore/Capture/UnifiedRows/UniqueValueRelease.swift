import FerryCore
import FerryMerge
import FerrySchema

/// Releases UNIQUE values an object of a unified row has and the row does not show.
///
/// For the writing person such a value is free. A new row with the value would be unified with that row. So the value's
/// object gets its row's values instead, as an own operation.
struct UniqueValueRelease {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// - Parameter written: the flush's written objects of the table.
    /// - Returns: the objects that released a value.
    func take(
        from written: [TouchedObject], _ writer: inout LocalChangeWriter, _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        guard !table.uniqueIndexes.isEmpty,
            try access.unified.areAny(in: table.id) || table.telltaleColumns.count > table.keyColumnIDs.count
        else { return [] }
        let claims = UniqueClaims(access)
        let translator = ReferenceTranslator(access)
        var freed: [TouchedObject] = []
        for object in written where !object.isDeleted {
            let state = try access.objects(of: table.id).load(object.object)
            guard state.shown.hasRow, let row = try access.reader(of: table.id).read(state.key) else { continue }
            let values = try translator.values(row, table)
            for claim in try claims.claims(table, values, of: .init(state)) {
                for owner in try access.anomalyTokens.objects(concernedBy: claim.token)
                where owner.table == table.id && owner.id != object.object {
                    if let taken = try letGo(owner.id, of: claim, taker: object.object, &writer, &clock) {
                        freed.append(taken)
                    }
                }
            }
        }
        return freed
    }

    private func letGo(
        _ owner: ObjectID, of claim: RuleClaim, taker: ObjectID, _ writer: inout LocalChangeWriter,
        _ clock: inout HybridClock
    ) throws -> TouchedObject? {
        let objects = access.objects(of: table.id)
        let representative = try access.unified.representative(of: owner, table.id) ?? owner
        let state = try objects.load(owner)
        guard representative != taker, state.shown == .joined || state.shown == .anomalousRow,
            let row = try access.reader(of: table.id).read(objects.load(representative).key)
        else { return nil }
        let shownBy = UniqueClaims.Owner(try objects.load(representative))
        let shown = try ReferenceTranslator(access).values(row, table)
        let claims = UniqueClaims(access)
        let own = (representative == owner ? shown : [:]).overlaid(with: state.kept.fields)
        // The object may have released the value before, and nobody can have taken a value its row shows.
        guard try claims.claims(table, own, of: .init(state)).contains(where: { $0.token == claim.token }),
            try !claims.claims(table, shown, of: shownBy).contains(where: { $0.token == claim.token })
        else { return nil }
        let keyColumns = table.keyGroupColumns
        let different = shown.filter { own[$0.key] != $0.value && !keyColumns.contains($0.key) }
        if different.isEmpty { return nil }
        return try writer.takeOver(different, owner, &clock)
    }
}
