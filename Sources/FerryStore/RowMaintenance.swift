import FerryCore
import FerryMerge

/// Brings rows in line with the state after objects were touched: solves the rules over a region and writes what
/// differs.
///
/// Runs inside the caller's transaction with foreign keys off, because the rules answer for them: rows are written in
/// whatever order their keys and UNIQUE values allow.
struct RowMaintenance {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the number of rows written.
    @discardableResult
    func settle(_ touched: [TouchedObject]) throws -> Int {
        let seeds = try SeedFinder(access).seeds(touched)
        if seeds.isEmpty { return 0 }
        return try settle(seeds: seeds, formerKeys: Self.formerKeys(touched))
    }

    /// The keys of objects whose rows are gone, to which other rows may still refer.
    static func formerKeys(_ touched: [TouchedObject]) -> [RowToken: [FieldValue]] {
        var keys: [RowToken: [FieldValue]] = [:]
        for object in touched where object.isDeleted && !object.key.isEmpty {
            keys[RowToken(table: object.table, id: object.object)] = object.key
        }
        return keys
    }

    func settle(seeds: [RowToken], formerKeys: [RowToken: [FieldValue]] = [:]) throws -> Int {
        var refused: [RowToken: String] = [:]
        while true {
            let region = RuleRegion(access, formerKeys: formerKeys)
            for token in seeds { try region.add(token) }
            for token in refused.keys { try region.add(token) }
            for (token, reason) in refused { region[token]?.refusal = reason }
            try region.solve()
            do {
                return try access.savepoint { try RegionWriter(access, region).write() }
            } catch let refusal as RegionWriter.Refused {
                // Who is refused stays refused in this round; its row gone, others may be shown.
                refused.merge(refusal.reasons) { $1 }
            }
        }
    }
}
