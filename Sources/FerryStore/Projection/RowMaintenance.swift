import FerryCore
import FerryMerge

/// Brings rows in line with the state after objects were touched: solves the rules over a region and writes what
/// differs.
///
/// Runs inside the caller's transaction with foreign keys off, because the rules answer for them: rows are written in
/// whatever order their keys and UNIQUE values allow.
struct RowMaintenance {
    /// Where objects concern so many times as many, they are settled with all others.
    private static let growth = 4

    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// - Returns: the number of rows written.
    @discardableResult
    func settle(_ touched: [TouchedObject]) throws -> Int {
        var touched = touched
        return try settle(&touched)
    }

    /// The same, and forgets the objects as soon as they are not needed: the rules need the memory.
    @discardableResult
    func settle(_ touched: inout [TouchedObject]) throws -> Int {
        let seeds = try SeedFinder(access).seeds(touched)
        let formerRows = seeds.isEmpty ? [:] : Self.formerRows(touched)
        touched = []
        if seeds.isEmpty { return 0 }
        return try settle(seeds: seeds, formerRows: formerRows)
    }

    /// The rows of objects that are gone, to which other rows may still refer.
    static func formerRows(_ touched: [TouchedObject]) -> [RowToken: FormerRow] {
        var rows: [RowToken: FormerRow] = [:]
        for object in touched where object.isDeleted && !object.key.isEmpty {
            rows[RowToken(table: object.table, id: object.object)] = FormerRow(
                key: object.key, values: object.deletion?.formerRow ?? [:])
        }
        return rows
    }

    /// - Throws: `missingFunction` where this process lacks what a row's table uses, and nobody knew.
    func settle(seeds: [RowToken], formerRows: [RowToken: FormerRow] = [:]) throws -> Int {
        if access.waiting.isEmpty { return try solve(seeds: seeds, formerRows: formerRows) }
        try WaitingObjects(access).postpone(seeds.filter { access.waiting.contains($0.table) })
        return try settleOthers(seeds.filter { !access.waiting.contains($0.table) }, formerRows)
    }

    /// Settles what does not depend on rows that wait; the rest waits with them.
    private func settleOthers(_ seeds: [RowToken], _ formerRows: [RowToken: FormerRow]) throws -> Int {
        if seeds.isEmpty { return 0 }
        do {
            return try solve(seeds: seeds, formerRows: formerRows)
        } catch let error as FerryError where error.code == .missingFunction {
            if seeds.count == 1 {
                try WaitingObjects(access).postpone(seeds)
                return 0
            }
            let middle = seeds.count / 2
            let first = try settleOthers(Array(seeds[..<middle]), formerRows)
            return try first + settleOthers(Array(seeds[middle...]), formerRows)
        }
    }

    /// Settles objects in parts, which bounds the memory of the rules, as long as what each concerns is not much more.
    ///
    /// The rules find what a part concerns as they do for a merge of its own. What another part still has to settle they find
    /// by its row, as it was before, or by its state.
    private func solve(seeds: [RowToken], formerRows: [RowToken: FormerRow]) throws -> Int {
        try access.pageCache.restoring { try solveInParts(seeds, formerRows) }
    }

    private func solveInParts(_ seeds: [RowToken], _ formerRows: [RowToken: FormerRow]) throws -> Int {
        var written = 0
        var rest = seeds[...]
        while !rest.isEmpty {
            let part = rest.prefix(access.seedsAtOnce)
            rest = rest.dropFirst(part.count)
            let region = try solve(part, besides: rest, formerRows, &written)
            // What a part concerned is settled with it.
            if !rest.isEmpty { rest = rest.filter { !region.contains($0) }[...] }
        }
        return written
    }

    /// - Parameter rest: what comes later; at once where the seeds concern so much that parts would concern the same again.
    /// - Returns: the region that was solved and written.
    private func solve(
        _ seeds: ArraySlice<RowToken>, besides rest: ArraySlice<RowToken>, _ formerRows: [RowToken: FormerRow],
        _ written: inout Int
    ) throws -> RuleRegion {
        var refused: [RowToken: String] = [:]
        var wantedKeys: [RowToken: FieldValue] = [:]
        var learned = LearnedClaims()
        while true {
            let region = RuleRegion(
                access, formerRows: formerRows, wantedKeys: wantedKeys, learned: learned)
            for token in seeds { try region.add(token) }
            for token in refused.keys.sorted() { try region.add(token) }
            for token in learned.objects.sorted() { try region.add(token) }
            for (token, reason) in refused { region[token]?.refusal = reason }
            try region.solve(with: rest, beyond: Self.growth * seeds.count)
            do {
                written += try access.savepoint { try RegionWriter(access, region).write() }
                return region
            } catch let refusal as RegionWriter.Refused {
                // Who is refused stays refused in this round; its row gone, others may be shown.
                refused.merge(refusal.reasons) { $1 }
            } catch let taken as RegionWriter.TakenRows {
                // What SQLite takes for one value counts as one. Where nothing can be learned any more, the oldest keeps it.
                var isNews = false
                for value in taken.values where learned.learn(value) { isNews = true }
                if !isNews { refused.merge(taken.reasons) { $1 } }
            } catch let others as RegionWriter.OtherKeys {
                // Each once, so this ends.
                wantedKeys.merge(others.keys) { $1 }
            }
        }
    }
}
