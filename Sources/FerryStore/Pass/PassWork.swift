import FerryCore
import FerryMerge

/// What one transaction of a sync works with, and what it comes to.
struct PassWork {
    /// Another one once policies were taken up.
    var access: StoreAccess
    var clock: HybridClock
    var outcome = PassOutcome()
    /// Numbers of the tables whose rows may have changed.
    var touched: Set<Int> = []
    /// What the app does before it is committed, and what was replayed, which it is told.
    fileprivate let hook: ReplayHook?
    fileprivate var changes: ReplayedChanges?

    fileprivate init(_ access: StoreAccess, _ hook: ReplayHook?) throws {
        self.access = access
        self.hook = hook
        clock = try access.hybridClock()
    }

    /// Counts what a replay did.
    mutating func take(_ merged: ChangesetApplier.Outcome) {
        outcome.replayed += merged.changes
        outcome.conflicts += merged.conflicts
        touched.formUnion(merged.tables)
    }

    /// Runs `body`, which replays, and notes what rows it writes, where there is a hook.
    mutating func replaying<Result>(_ body: (inout PassWork) throws -> Result) throws -> Result {
        access.changedRows = hook == nil ? nil : ChangedRows()
        defer { access.changedRows = nil }
        let result = try body(&self)
        changes = access.changedRows?.summary(access.registry)
        return result
    }
}

extension Store {
    /// Stages what a transaction writes beside what was pending, as a changeset of its own; nothing where there is nothing.
    func stage(_ changes: [TableChanges], _ work: inout PassWork, _ seal: SegmentSealer) throws {
        if changes.isEmpty { return }
        let time = max(work.clock.tick(), .unknown)
        try stage(changes, schema: nil, time: time, work.access, seal, &work.outcome)
    }

    /// One transaction of a sync: local changes are packed first, so that they get times of their own and whatever comes
    /// meets them as state; then `body` does its work under the policies that hold now, and the clock is saved.
    ///
    /// Where this process lacks a collation or a function of the app's, it is all done again without the rows that need it
    /// (`WaitingTables`). So `body` may run several times.
    /// - Throws: `replayHookFailed` where `willCommitReplay` fails; nothing is packed or changed then. `missingFunction` where
    ///   even that needs what is missing.
    func passing<Result>(_ seal: SegmentSealer, _ body: (inout PassWork) throws -> Result) throws -> Result {
        while true {
            do {
                return try passOnce(seal, body)
            } catch let error as FerryError where error.code == .missingFunction {
                // Each time more waits, so this ends.
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
            // The app's hook finds what stays on the device in line with what was replayed.
            let following = try StayingRows(work.access).settle()
            if let hook = work.hook, let changes = work.changes, !changes.tables.isEmpty {
                try work.access.run(hook, changes)
            }
            let tables = work.touched.map { work.access.registry[$0] }.filter(\.isLocal).map(\.name)
            return (result, tables + following)
        }
    }
}
