import FerryCore
import FerryMerge
import FerrySchema

extension StoreSession {
    /// Begins a pass: packs local changes, and applies settings made since the last pass.
    /// Packed changes have times of their own, and replay meets them as state.
    func beginPass() throws {
        let held = try DeferredChanges(access)
        try held.putAside()
        try pack()
        try held.putBack()
        try changeGenerations()
        try showKeptValues()
        try letRowsFollow()
        try applyPolicies()
    }

    /// Compares every row with the state, and packs the differences.
    /// - Returns: the packed changes of tables with differences.
    func takeUnseenWrites() throws -> [UnseenChanges] {
        let coverage = try UnseenTables(connection).coverage()
        var taken: [UnseenChanges] = []
        for table in access.registry.parentsFirst where table.isLocal {
            guard let covered = coverage[table.id], covered.isShown else { continue }
            let unseen = UnseenTable(table: table.id, covered: covered.columns, wasAbsent: false)
            let findings = try UnseenWrites(access, table, unseen).note()
            let changes = UnseenChanges(
                table: table.localName, changed: findings.changed, inserted: findings.inserted,
                deleted: findings.deleted, gone: findings.left)
            if changes.areAny { taken.append(changes) }
        }
        if !taken.isEmpty { try pack() }
        return taken
    }
}

extension StoreAccess {
    /// Withdraws changesets that cannot be replayed now from a gate.
    /// - Returns: whether all waiting tables are recorded as waiting, and whether logs can be replayed ahead.
    func withdrawWaiting(_ gate: inout PolicyGate) throws -> (isKnown: Bool, isAhead: Bool) {
        let waiting = try gate.recordObstacles(self)
        gate.withdraw(registry, hooks)
        var marks = try LogsAhead.load(meta)
        let isAhead = !gate.ahead(&marks, registry, hooks).isEmpty
        let isKnown = try Set(waiting.reasons.keys).isSubset(of: WaitingMark.load(meta)?.numbers ?? [])
        return (isKnown, isAhead)
    }
}
