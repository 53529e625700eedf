import FerryCore
import FerryMerge

/// The retained rows: deleted, but referred to by RESTRICT or NO ACTION.
///
/// A device without such a reference may have forgotten the deletion and the row (`TombstoneCollector`). So writes
/// made with knowledge of the deletion must be complete. A retained row written here, or newly referred to, is
/// published again whole, as an insertion as of now.
struct RetainedRows {
    let access: StoreAccess
    private let objects: Set<RowToken>

    var isEmpty: Bool { objects.isEmpty }

    init(_ access: StoreAccess) throws {
        self.access = access
        objects = Set(try access.anomalies.objects(of: .heldBack))
    }

    /// Publishes the retained targets of captured objects again, and their targets in turn.
    /// - Returns: the objects the rules may have to check.
    func publishAgain(into flush: FlushWriter) throws -> [TouchedObject] {
        if isEmpty { return [] }
        var touched: [TouchedObject] = []
        var seen: Set<RowToken> = []
        while true {
            let references = flush.references.subtracting(seen)
            if references.isEmpty { return touched }
            seen.formUnion(references)
            for target in try Set(references.flatMap(targets)).sorted() {
                // The target may have been written meanwhile.
                guard try access.objects(of: target.table).load(target.id).isHeldBack,
                    flush.successor(of: target) == nil
                else { continue }
                touched.append(
                    try flush.write(to: access.registry[target.table]) { try $0.publishAgain(target.id, &$1) })
            }
        }
    }

    /// The retained objects a reference may mean.
    private func targets(of token: RowToken) throws -> [RowToken] {
        var found = [token]
        if let shown = try access.unified.representative(of: token.id, token.table) {
            found.append(RowToken(table: token.table, id: shown))
        }
        // Tokens also find the object by its values.
        found += try access.anomalyTokens.objects(concernedBy: token).filter { $0.table == token.table }
        return found.filter(objects.contains)
    }
}
