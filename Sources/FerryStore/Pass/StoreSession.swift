import FerryCore
import FerryMerge

/// One transaction of Ferry's on a tracked store: what it works with, what comes of it, and all that it owes before it is
/// committed.
///
/// Invariants:
/// - Whoever begins a transaction makes one session (`Store.transaction`) and commits it once, after everything else. Nobody else
///   saves the clock, the digests or the log of the key-value store.
/// - A session whose work throws is not committed, and its transaction is rolled back.
final class StoreSession {
    /// Another one once the registry changed in the midst of the transaction.
    var access: StoreAccess
    /// Ahead of every time that this transaction assigned or met.
    var clock: HybridClock
    var outcome = PassOutcome()
    /// Numbers of tables with possibly changed rows.
    var touched: Set<Int> = []
    /// The names of further tables of the app's whose rows may have changed.
    var touchedNames: [String] = []
    /// The most bytes of values in a changeset that can be divided.
    let maximumPackedBytes: Int
    private let sealer: SegmentSealer?
    private let hook: ReplayHook?
    private var replayed: ReplayedChanges?
    private let savedTime: HybridTime

    /// - Parameters:
    ///   - sealer: makes segments of what the transaction stages; `nil` for one that stages nothing.
    ///   - hook: what the app does in the transaction of a replay.
    init(_ access: StoreAccess, sealer: SegmentSealer?, hook: ReplayHook?, maximumPackedBytes: Int) throws {
        self.access = access
        self.sealer = sealer
        self.hook = hook
        self.maximumPackedBytes = maximumPackedBytes
        clock = try access.hybridClock()
        savedTime = clock.now
    }

    var connection: SQLConnection { access.connection }

    /// Makes a segment of a changeset.
    func seal(_ changeset: Changeset, after previous: Checksum?) throws -> OutboxEntry {
        guard let sealer else {
            throw FerryError(.internalInconsistency, "A transaction staged changes that was to stage none.")
        }
        return try sealer(changeset, previous)
    }

    /// Adds the outcome of a replay.
    func count(_ merged: ChangesetApplier.Outcome) {
        outcome.replayed += merged.changes
        outcome.conflicts += merged.conflicts
        touched.formUnion(merged.tables)
    }

    /// Runs `body`, which replays. Where the app has a hook, the rows that it writes are noted for that.
    func replaying<Result>(_ body: () throws -> Result) throws -> Result {
        let obligations = access.obligations
        obligations.changedRows = hook == nil ? nil : ChangedRows()
        defer { obligations.changedRows = nil }
        let result = try body()
        replayed = obligations.changedRows?.summary(access.registry)
        return result
    }

    /// Lets the rules look at objects.
    func settle(_ seeds: [RowToken]) throws {
        if seeds.isEmpty { return }
        touched.formUnion(seeds.map(\.table))
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds) }
    }

    /// Does to the rows that stay on this device what their foreign keys say. Done before the app's hook or an app's own write
    /// looks at them, and in the end.
    func settleLocalTables() throws {
        touchedNames += try StayingRows(access).settle()
    }

    /// Settles everything that the transaction owes: the last thing that is done in it.
    /// - Returns: the names of the app's tables whose rows may have changed.
    /// - Throws: `replayHookFailed` where the app's hook fails.
    func commit() throws -> [String] {
        if clock.now != savedTime { try access.save(clock) }
        try access.obligations.keyValueChanges.save(connection)
        // The app's hook must find local rows in line with replayed rows.
        try settleLocalTables()
        if let hook, let replayed, !replayed.tables.isEmpty { try access.run(hook, replayed) }
        try access.digests.save(connection)
        let unsettled = access.obligations.unsettled
        if !unsettled.isEmpty {
            throw FerryError(
                .internalInconsistency, "A transaction left something unsaved: \(unsettled.joined(separator: ", ")).")
        }
        return touched.compactMap { access.registry.tables[$0] }.filter(\.isLocal).map(\.name) + touchedNames
    }
}
