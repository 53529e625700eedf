import FerryCore
import FerryMerge

/// References by RESTRICT or NO ACTION to a key that is made of references, where the row under that key is another object's:
/// what its key refers to is one with another row.
///
/// The object that the key means by itself may have been deleted, here or elsewhere, and rule 1 would bring it back where its
/// deletion is remembered, and only there. Whoever refers to the row wants there to be one by that key: so the object is
/// inserted anew, with what the row shows, and is one with the row.
struct HeldLinks {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Whether rows of a table may refer so.
    func concern(_ table: TrackedTable) throws -> Bool {
        try table.foreignKeys.contains { key in
            try Self.holds(key, access.registry) && access.joined.areAny(in: key.parent)
        }
    }

    /// Whether a foreign key keeps what it refers to, and refers to a key that is made of references.
    static func holds(_ key: TrackedForeignKey, _ registry: Registry) -> Bool {
        guard case .restrict = key.action, case .key = key.target else { return false }
        return registry[key.parent].hasReferencesInKey
    }

    /// Inserts what the captured objects refer to and nobody has, and what that refers to.
    /// - Parameter writers: by table; those that are missing are made.
    /// - Returns: what the rules have to look at.
    func insert(
        _ writers: inout [Int: CapturedWriter], _ clock: inout HybridClock, notesReferences: Bool
    ) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        var seen: Set<RowToken> = []
        while true {
            let links = writers.values.reduce(into: Set<RowToken>()) { $0.formUnion($1.references.heldLinks) }
                .subtracting(seen)
            if links.isEmpty { return touched }
            seen.formUnion(links)
            for link in links.sorted() {
                guard let values = try missing(link) else { continue }
                var writer =
                    try writers[link.table]
                    ?? CapturedWriter(access, access.registry[link.table], notesReferences: notesReferences)
                touched.append(try writer.insert(values, link.id, &clock))
                writers[link.table] = writer
            }
        }
    }

    /// What the row that shows a link shows, where the link itself is not there.
    private func missing(_ link: RowToken) throws -> FieldValues? {
        let table = access.registry[link.table]
        let state = try access.objects(of: table.id).load(link.id)
        if state.registers.isAlive || HeldBackRows.isHeldBack(state) { return nil }
        guard let owner = try access.joined.representative(of: link.id, table.id) else { return nil }
        let shown = RowToken(table: table.id, id: owner)
        let row = try Travelling(access).row(showing: shown)
        // It may have gone in this flush, or stand for something else now.
        guard !row.isEmpty, table.derivedID(of: row) == link.id else { return nil }
        // What a foreign key's action cleared is there still, beside the row.
        let kept = try access.objects(of: table.id).load(owner).kept.fields
        let cleared = kept.filter { column, _ in
            row[column] == .null && table.clearableColumns.contains(column) && !table.keyColumnIDs.contains(column)
        }
        return row.overlaid(with: cleared)
    }
}
