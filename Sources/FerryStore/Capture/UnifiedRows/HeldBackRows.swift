import FerryCore
import FerryMerge

/// The rows whose deletion is held back, because others refer to them by RESTRICT or NO ACTION.
///
/// A device that sees no such reference may have forgotten the deletion, and with it the row (`TombstoneCollection`). So
/// what this device does in knowledge of the deletion must say all that is needed: a row that it writes to, or that what
/// it writes refers to, is published again whole, as an insertion of now.
struct HeldBackRows {
    let access: StoreAccess
    private let objects: Set<RowToken>

    var isEmpty: Bool { objects.isEmpty }

    init(_ access: StoreAccess) throws {
        self.access = access
        var found: Set<RowToken> = []
        try access.connection.forEachRow(
            "SELECT \"table\", object FROM ferry_exception WHERE kind = \(ExceptionKind.heldBack.rawValue)"
        ) { row in
            if let id: ObjectID = row.id(1) { found.insert(RowToken(table: row.int(0), id: id)) }
        }
        objects = found
    }

    /// Whether an object is shown though it is deleted.
    static func isHeldBack(_ state: ObjectState) -> Bool {
        state.registers.deleted != nil && state.registers.inserted != nil && !state.registers.isAlive
            && (state.shown == .exceptionalRow || state.shown == .joined)
    }

    /// Publishes again what the captured objects refer to, and what that refers to.
    /// - Parameter writers: by table; those that are missing are made.
    /// - Returns: what the rules have to look at.
    func publishAgain(
        _ writers: inout [Int: CapturedWriter], _ clock: inout HybridClock
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
                // It may have been written by now.
                guard try Self.isHeldBack(access.objects(of: target.table).load(target.id)),
                    writers[target.table]?.successor(of: target.id) == nil
                else { continue }
                var writer =
                    try writers[target.table]
                    ?? CapturedWriter(access, access.registry[target.table], notesReferences: true)
                touched.append(try writer.publishAgain(target.id, &clock))
                writers[target.table] = writer
            }
        }
    }

    /// In an order that does not change from run to run.
    private func isBefore(_ left: RowToken, _ right: RowToken) -> Bool {
        left.table != right.table ? left.table < right.table : left.id < right.id
    }

    /// The held back objects that a reference may mean.
    private func targets(of token: RowToken) throws -> [RowToken] {
        var found = [token]
        if let shown = try access.joined.representative(of: token.id, token.table) {
            found.append(RowToken(table: token.table, id: shown))
        }
        // By values, too, under which it is found as what they concern.
        found += try access.exceptionTokens.objects(concernedBy: token).filter { $0.table == token.table }
        return found.filter(objects.contains)
    }
}
