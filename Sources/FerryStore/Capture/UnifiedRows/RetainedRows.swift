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
        var found: Set<RowToken> = []
        try access.connection.forEachRow(
            "SELECT \"table\", object FROM ferry_exception WHERE kind = \(AnomalyKind.heldBack.rawValue)"
        ) { row in
            if let id: ObjectID = row.id(1) { found.insert(RowToken(table: row.int(0), id: id)) }
        }
        objects = found
    }

    /// True if a deleted object is shown.
    static func isHeldBack(_ state: ObjectState) -> Bool {
        state.registers.deleted != nil && state.registers.inserted != nil && !state.registers.isAlive
            && (state.shown == .anomalousRow || state.shown == .joined)
    }

    /// Publishes the retained targets of captured objects again, and their targets in turn.
    /// - Parameter writers: writers by table; missing writers are made.
    /// - Returns: the objects the rules may have to check.
    func publishAgain(
        _ writers: inout [Int: LocalChangeWriter], _ clock: inout HybridClock
    ) throws -> [TouchedObject] {
        if isEmpty { return [] }
        var touched: [TouchedObject] = []
        var seen: Set<RowToken> = []
        while true {
            let references = writers.values.reduce(into: Set<RowToken>()) { $0.formUnion($1.references.tokens) }
                .subtracting(seen)
            if references.isEmpty { return touched }
            seen.formUnion(references)
            for target in try Set(references.flatMap(targets)).sorted(by: isBefore) {
                // The target may have been written meanwhile.
                guard try Self.isHeldBack(access.objects(of: target.table).load(target.id)),
                    writers[target.table]?.successor(of: target.id) == nil
                else { continue }
                var writer =
                    try writers[target.table]
                    ?? LocalChangeWriter(access, access.registry[target.table], notesReferences: true)
                touched.append(try writer.publishAgain(target.id, &clock))
                writers[target.table] = writer
            }
        }
    }

    /// A total order, so every run does the same.
    private func isBefore(_ left: RowToken, _ right: RowToken) -> Bool {
        left.table != right.table ? left.table < right.table : left.id < right.id
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
