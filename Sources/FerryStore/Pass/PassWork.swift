import FerryCore
import FerryMerge

/// The working state of a sync's transaction, and its outcome.
struct PassWork {
    /// The session; replaced after policies were applied.
    var access: StoreAccess
    var clock: HybridClock
    var outcome = PassOutcome()
    /// Numbers of tables with possibly changed rows.
    var touched: Set<Int> = []
    /// The app's hook before the commit, and the replayed changes for the hook.
    fileprivate let hook: ReplayHook?
    fileprivate var changes: ReplayedChanges?

    fileprivate init(_ access: StoreAccess, _ hook: ReplayHook?) throws {
        self.access = access
        self.hook = hook
        clock = try access.hybridClock()
    }

    /// Adds the outcome of a replay.
    mutating func take(_ merged: ChangesetApplier.Outcome) {
        outcome.replayed += merged.changes
        outcome.conflicts += merged.conflicts
        touched.formUnion(merged.tables)
    }

    /// Runs `body`, which replays. Collects the written rows if there is a hook.
    mutating func replaying<Result>(_ body: (inout PassWork) throws -> Result) throws -> Result {
        access.changedRows = hook == nil ? nil : ChangedRows()
        defer { access.changedRows = nil }
        let result = try body(&self)
        changes = access.changedRows?.summary(access.registry)
        return result
    }
}

extension Store {
    /// Stages a transaction's own writes as a changeset, besides pending changes. Without writes, does nothing.
    func stage(_ changes: [TableChanges], _ work: inout PassWork, _ seal: SegmentSealer) throws {
        if changes.isEmpty { return }
        let time = max(work.clock.tick(), .unknown)
        try stage(changes, schema: nil, time: time, work.access, seal, &work.outcome)
    }

    /// Runs a transaction of a sync. Packs local changes first, so they get their own times and replay meets them as
    /// state. Then runs `body` under the present policies, and saves the clock.
    ///
    /// If this process lacks a collation or function of the app, repeats everything without the rows needing the
    /// missing part (`WaitingTables`). So `body` may run several times.
    /// - Throws: `replayHookFailed` if `willCommitReplay` fails; nothing is packed or changed then. `missingFunction`
    ///   if the part is needed even so.
    func passing<Result>(_ seal: SegmentSealer, _ body: (inout PassWork) throws -> Result) throws -> Result {
        while true {
            do {
                return try passOnce(seal, body)
            } catch let error as FerryError where error.code == .missingFunction {
                // More waits each time, so the loop ends.
                guard try noteWaitingTables(hasFailed: true) else { throw error }
            }
        }
    }

    private func passOnce<Result>(_ seal: SegmentSealer, _ body: (inout PassWork) throws -> Result) throws -> Result {
        try access { access in
            var work = try PassWork(access, willCommitReplay)
            let held = try HeldNotes(work.access)
            try held.putAside()
            try pack(&work.access, &work.clock, &work.outcome, seal, &work.touched)
            try held.putBack()
            try changeGenerations(&work, seal)
            work.touched.formUnion(try showKeptValues(work.access))
            try letRowsFollow(&work)
            try takeUpPolicies(&work.access, &work.touched)
            let result = try body(&work)
            try work.access.save(work.clock)
            try work.access.keyValueChanges.save(work.access.connection)
            // The app's hook must find local rows in line with replayed rows.
            let following = try StayingRows(work.access).settle()
            if let hook = work.hook, let changes = work.changes, !changes.tables.isEmpty {
                try work.access.run(hook, changes)
            }
            let tables = work.touched.map { work.access.registry[$0] }.filter(\.isLocal).map(\.name)
            return (result, tables + following)
        }
    }
}
