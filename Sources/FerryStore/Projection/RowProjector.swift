import FerryCore
import FerryMerge
import FerrySQL

/// Projects: brings rows in line with the state after objects were touched. Solves the rules over regions and writes
/// the differences.
///
/// Runs inside the caller's transaction with foreign keys off, because the rules ensure foreign keys. Rows are written
/// in any order allowed by keys and UNIQUE values.
struct RowProjector {
    /// A part concerning so many times its own number of objects concerns much. If the next part does, too, that part is
    /// solved together with the rest: later parts would concern the same again.
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

    /// Does the same, and releases the objects as soon as possible: the rules need the memory.
    @discardableResult
    func settle(_ touched: inout [TouchedObject]) throws -> Int {
        let seeds = try ProjectionSeeds(access).seeds(touched)
        let formerRows = seeds.isEmpty ? [:] : Self.formerRows(touched)
        touched = []
        if seeds.isEmpty { return 0 }
        return try settle(seeds: seeds, formerRows: formerRows)
    }

    /// The former rows of deleted objects, by object. Rows may still refer to them.
    static func formerRows(_ touched: [TouchedObject]) -> [RowToken: FormerRow] {
        var rows: [RowToken: FormerRow] = [:]
        for object in touched where object.isDeleted && !object.key.isEmpty {
            rows[RowToken(table: object.table, id: object.object)] = FormerRow(
                key: object.key, values: object.deletion?.formerRow ?? [:])
        }
        return rows
    }

    /// - Throws: `missingFunction` if this process unexpectedly lacks a collation or function of a row's table.
    func settle(seeds: [RowToken], formerRows: [RowToken: FormerRow] = [:]) throws -> Int {
        if access.waiting.isEmpty { return try solve(seeds: seeds, formerRows: formerRows) }
        try WaitingObjects(access).postpone(seeds.filter { access.waiting.contains($0.table) })
        return try projectOthers(seeds.filter { !access.waiting.contains($0.table) }, formerRows)
    }

    /// Projects objects independent of waiting rows. The remaining objects wait too.
    private func projectOthers(_ seeds: [RowToken], _ formerRows: [RowToken: FormerRow]) throws -> Int {
        if seeds.isEmpty { return 0 }
        do {
            return try solve(seeds: seeds, formerRows: formerRows)
        } catch let error as FerryError where error.code == .missingFunction {
            if seeds.count == 1 {
                try WaitingObjects(access).postpone(seeds)
                return 0
            }
            let middle = seeds.count / 2
            let first = try projectOthers(Array(seeds[..<middle]), formerRows)
            return try first + projectOthers(Array(seeds[middle...]), formerRows)
        }
    }

    /// Projects objects in parts, to bound the rules' memory, as long as each part concerns few further objects.
    ///
    /// The rules find everything a part concerns, as for a merge of its own. Objects of later parts are still shown by
    /// their former rows or described by their states.
    private func solve(seeds: [RowToken], formerRows: [RowToken: FormerRow]) throws -> Int {
        try access.pageCache.restoring { try solveInParts(seeds, formerRows) }
    }

    private func solveInParts(_ seeds: [RowToken], _ formerRows: [RowToken: FormerRow]) throws -> Int {
        var written = 0
        var rest = seeds[...]
        var unsolved = seeds.count > access.seedsAtOnce ? Set(seeds) : []
        var concernedMuch = false
        while !rest.isEmpty {
            let part = rest.prefix(access.seedsAtOnce)
            rest = rest.dropFirst(part.count)
            unsolved.subtract(part)
            let region = try solve(part, besides: concernedMuch ? rest : [], unsolved, formerRows, &written)
            concernedMuch = region.objects.count > Self.growth * part.count
            // Objects in a part's region are projected with the part.
            if !rest.isEmpty {
                rest = rest.filter { !region.contains($0) }[...]
                for object in region.objects { unsolved.remove(object.token) }
            }
        }
        return written
    }

    /// - Parameters:
    ///   - rest: later objects, to be added if the seeds concern much; empty if they must not be.
    ///   - unsolved: the same objects, to look them up.
    /// - Returns: the solved and written region.
    private func solve(
        _ seeds: ArraySlice<RowToken>, besides rest: ArraySlice<RowToken>, _ unsolved: Set<RowToken>,
        _ formerRows: [RowToken: FormerRow], _ written: inout Int
    ) throws -> DependencyRegion {
        var refused: [RowToken: RefusalCause] = [:]
        var wantedKeys: [RowToken: FieldValue] = [:]
        var learned = LearnedClaims()
        var outside: Set<RowToken> = []
        while true {
            let region = DependencyRegion(
                access, formerRows: formerRows, wantedKeys: wantedKeys, learned: learned, unsolved: unsolved)
            for token in seeds { try region.add(token) }
            for token in refused.keys.sorted() { try region.add(token) }
            for token in learned.objects.union(outside).sorted() { try region.add(token) }
            for (token, reason) in refused { region[token]?.refusal = reason }
            try region.solve(with: rest, beyond: Self.growth * seeds.count)
            do {
                let assumed = try withoutKeylessRows(region, refused) {
                    DependencyRegion(
                        access, formerRows: formerRows, wantedKeys: wantedKeys, learned: learned, unsolved: unsolved)
                }
                written += try access.savepoint { try RegionWriter(access, region, assumed: assumed).write() }
                return region
            } catch let refusal as RegionWriter.Refused {
                // A refused object stays refused. With its row gone, further rows may be shown.
                refused.merge(refusal.reasons) { $1 }
            } catch let taken as RegionWriter.TakenRows {
                // Values equal in SQLite count as equal. If nothing more can be learned, the oldest object keeps the
                // value.
                refused.merge(taken.keyless) { $1 }
                var isNews = !taken.keyless.isEmpty
                for value in taken.values where learned.learn(value) { isNews = true }
                if !isNews { refused.merge(taken.reasons) { $1 } }
            } catch let others as RegionWriter.OtherKeys {
                // Each key is learned once, so the loop ends.
                wantedKeys.merge(others.keys) { $1 }
            } catch let refusal as RegionWriter.RefusedOutside {
                // Rows of a region are written by the region, so each row is added once.
                outside.formUnion(refusal.rows)
            }
        }
    }

    /// The region's objects, solved as if no row with a NULL in its key were in the way; `nil` if none is.
    private func withoutKeylessRows(
        _ region: DependencyRegion, _ refused: [RowToken: RefusalCause], _ make: () -> DependencyRegion
    ) throws -> DependencyRegion? {
        func isKeyless(_ cause: RefusalCause) -> Bool { if case .keylessRow = cause { true } else { false } }
        guard refused.values.contains(where: isKeyless) else { return nil }
        let assumed = make()
        for object in region.objects { try assumed.add(object.token) }
        for (token, reason) in refused where !isKeyless(reason) { assumed[token]?.refusal = reason }
        try assumed.solve()
        return assumed
    }
}
