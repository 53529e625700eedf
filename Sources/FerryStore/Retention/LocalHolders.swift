import FerryCore
import FerryMerge
import FerrySchema

/// Finds the retained rows held by writes of this device.
///
/// A device knowing of a deletion lets no row refer to the deleted row without publishing that row again
/// (`RetainedRows`). So this device did not know of the deletion when it wrote, and a device that forgot the deletion
/// did not know of the write.
struct LocalHolders {
    private let access: StoreAccess
    private let scan: ReferenceScan

    init(_ access: StoreAccess) {
        self.access = access
        scan = ReferenceScan(access)
    }

    /// - Parameters:
    ///   - heldBack: the retained rows.
    ///   - published: rows published again anyway. Their references count as written by this device.
    /// - Returns: the rows of `heldBack` such a row refers to by RESTRICT or NO ACTION, directly or through further
    ///   rows of `heldBack`.
    func held(among heldBack: [RowToken], with published: Set<RowToken>) throws -> Set<RowToken> {
        var found: Set<RowToken> = []
        var work: [RowToken] = []
        /// Further objects held by an object, if the object turns out to be held.
        var others: [RowToken: [RowToken]] = [:]
        for token in heldBack {
            for holder in try holders(of: token) {
                if holder.isOwn || published.contains(holder.token) {
                    if found.insert(token).inserted { work.append(token) }
                } else {
                    others[holder.token, default: []].append(token)
                }
            }
        }
        try scan.finish()
        while let holder = work.popLast() {
            for token in others[holder] ?? [] where found.insert(token).inserted { work.append(token) }
        }
        return found
    }

    private struct Holder {
        var token: RowToken
        /// True if this device wrote the reference.
        var isOwn: Bool
    }

    private func holders(of token: RowToken) throws -> [Holder] {
        try shownHolders(of: token) + hiddenHolders(of: token)
    }

    /// The holders with rows referring to the row that shows an object.
    private func shownHolders(of token: RowToken) throws -> [Holder] {
        let table = access.registry[token.table]
        let shown = try access.unified.representative(of: token.id, table.id) ?? token.id
        let state = try access.objects(of: table.id).load(shown)
        guard table.isLocal, state.shown.hasRow else { return [] }
        return try table.incoming.flatMap { incoming -> [Holder] in
            let child = access.registry[incoming.table]
            let key = child.foreignKeys[incoming.foreignKey]
            // An object with values under a UNIQUE parent key is never forgotten (`TombstoneCollector`).
            guard case .restrict = key.action, child.isLocal, let parts = key.parts(of: state.key) else { return [] }
            let translator = ReferenceTranslator(access)
            let objects = try scan.keys(of: child, referringBy: key, to: parts).compactMap {
                try translator.object(child, $0)
            }
            return try objects.flatMap { object in
                try ([object] + access.unified.members(of: object, child.id)).map {
                    try holder(RowToken(table: child.id, id: $0), by: key)
                }
            }
        }
    }

    /// The holders without a row.
    private func hiddenHolders(of token: RowToken) throws -> [Holder] {
        let meaning = ReferenceTokens(registry: access.registry)
        return try access.anomalyTokens.objects(concernedBy: token).flatMap { member -> [Holder] in
            let child = access.registry[member.table]
            let state = try access.objects(of: child.id).load(member.id)
            guard state.shown == .hidden else { return [] }
            return try meaning.targets(of: child, state.kept.fields).compactMap { place, target in
                guard target == token, case .restrict = child.foreignKeys[place].action else { return nil }
                return try holder(member, by: child.foreignKeys[place])
            }
        }
    }

    private func holder(_ token: RowToken, by key: TrackedForeignKey) throws -> Holder {
        let registers = try access.objects(of: token.table).load(token.id).registers
        return Holder(
            token: token, isOwn: key.columns.contains { registers.stamp(of: $0)?.device == access.device })
    }
}
