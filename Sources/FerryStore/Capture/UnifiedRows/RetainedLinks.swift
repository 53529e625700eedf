import FerryCore
import FerryMerge
import FerrySchema

/// Handles references by RESTRICT or NO ACTION to a key made of references, if the row under that key belongs to a
/// different object. The target of the key was unified then.
///
/// The key's own object may have been deleted, here or elsewhere. Rule 1 would revive the object only on devices that
/// remember the deletion. A reference to the row requires an object by that key. So the object is inserted anew with
/// the row's values, and is unified with the row.
struct RetainedLinks {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// True if rows of a table may have such references.
    func concern(_ table: TrackedTable) throws -> Bool {
        try table.foreignKeys.contains { key in
            try Self.holds(key, access.registry) && access.unified.areAny(in: key.parent)
        }
    }

    /// True for a foreign key that retains its target, and refers to a key made of references.
    static func holds(_ key: TrackedForeignKey, _ registry: Registry) -> Bool {
        guard case .restrict = key.action, case .key = key.target else { return false }
        return registry[key.parent].hasReferencesInKey
    }

    /// Inserts the missing targets of captured objects, and their missing targets in turn.
    /// - Returns: the objects the rules may have to check.
    func insert(into flush: FlushWriter) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        var seen: Set<RowToken> = []
        while true {
            let links = flush.retainedLinks.subtracting(seen)
            if links.isEmpty { return touched }
            seen.formUnion(links)
            for link in links.sorted() {
                guard let values = try missing(link) else { continue }
                touched.append(
                    try flush.write(to: access.registry[link.table]) { try $0.insert(values, link.id, &$1) })
            }
        }
    }

    /// The values of the row showing a link, if the link itself does not exist.
    private func missing(_ link: RowToken) throws -> ColumnValues? {
        let table = access.registry[link.table]
        let state = try access.objects(of: table.id).load(link.id)
        if state.registers.isAlive || state.isHeldBack { return nil }
        guard let owner = try access.unified.representative(of: link.id, table.id) else { return nil }
        let shown = RowToken(table: table.id, id: owner)
        let row = try ReferenceTranslator(access).row(showing: shown)
        // The row may be gone in this flush, or have a different key now.
        guard !row.isEmpty, table.derivedID(of: row) == link.id else { return nil }
        // A value cleared by a foreign key's action still exists, as a shadow value.
        let kept = try access.objects(of: table.id).load(owner).kept.fields
        let cleared = kept.filter { column, _ in
            row[column] == .null && table.clearableColumns.contains(column) && !table.keyColumnIDs.contains(column)
        }
        return row.overlaid(with: cleared)
    }
}
