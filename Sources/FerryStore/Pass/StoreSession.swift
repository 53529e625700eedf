import FerryCore
import FerryMerge
import FerrySQL

/// A transaction of Ferry on a tracked store: the access, the outcome, and everything owed before the commit.
///
/// Invariants:
/// - Each transaction has a single session (`Store.transaction`), committed once, after everything else. Only the
///   session saves the clock, the digests and the log of the key-value store.
/// - A session whose work throws is not committed, and its transaction is rolled back.
final class StoreSession {
    /// Replaced if the registry changes during the transaction.
    var access: StoreAccess
    /// Ahead of every time that this transaction assigned or met.
    var clock: HybridClock
    var outcome = PassOutcome()
    /// Numbers of tables with possibly changed rows.
    var touched: Set<Int> = []
    /// The names of further app tables with possibly changed rows.
    var touchedNames: [String] = []
    /// What the changes so far say of contents.
    var contentNews = ContentNews()
    /// Maximum bytes of values in a divisible changeset.
    let maximumPackedBytes: Int
    private let encoding: SegmentEncoding?
    private let hook: ReplayHook?
    private var replayed: ReplayedChanges?
    private let savedTime: HybridTime

    /// - Parameters:
    ///   - encoding: encodes segments of staged changes; `nil` for a transaction that stages nothing.
    ///   - hook: the app's work in the transaction of a replay.
    init(_ access: StoreAccess, encoding: SegmentEncoding?, hook: ReplayHook?, maximumPackedBytes: Int) throws {
        self.access = access
        self.encoding = encoding
        self.hook = hook
        self.maximumPackedBytes = maximumPackedBytes
        clock = try access.hybridClock()
        savedTime = clock.now
    }

    var connection: SQLConnection { access.connection }

    /// Encodes a changeset as a segment.
    func encode(_ changeset: Changeset, after previous: Checksum?) throws -> OutboxEntry {
        guard let encoding else {
            throw FerryError(.internalInconsistency, "A transaction staged changes that was to stage none.")
        }
        let parts = PartTable(connection)
        let segment = changeset.sequence...changeset.sequence
        return try encoding(changeset, previous) { try parts.keep($0, $1, of: segment) }
    }

    /// Adds the outcome of a replay, and repeats deletions for the devices that have forgotten them.
    func take(_ merged: ChangesetApplier.Outcome) throws {
        outcome.replayed += merged.changes
        outcome.conflicts += merged.conflicts
        touched.formUnion(merged.tables)
        if !merged.deletionsToRepeat.isEmpty { try stage(RepeatedDeletions(access).write(merged.deletionsToRepeat)) }
    }

    /// Runs `body`, which replays. If the app has a hook, written rows are recorded for the hook.
    func replaying<Result>(_ body: () throws -> Result) throws -> Result {
        let obligations = access.obligations
        obligations.changedRows = hook == nil ? nil : RowChangeLog()
        defer { obligations.changedRows = nil }
        let result = try body()
        replayed = obligations.changedRows?.summary(access.registry)
        return result
    }

    /// Projects objects, from seeds.
    func settle(_ seeds: [RowToken]) throws {
        if seeds.isEmpty { return }
        touched.formUnion(seeds.map(\.table))
        try AppTriggerSandbox(access).run { _ = try RowProjector(access).settle(seeds: seeds) }
    }

    /// Applies the foreign key actions of local tables. Called before the app's hook or a write in the app's name sees
    /// local rows, and in the end.
    func updateLocalTables() throws {
        while true {
            let names = try LocalTableUpkeep(access).settle()
            if names.isEmpty { return }
            touchedNames += names
            // A row with a NULL in its key may have given up a value.
            try settle(KeylessRows(access).hidden(in: Set(names.compactMap { access.registry.table(called: $0)?.id })))
        }
    }

    /// Settles everything that the transaction owes, as its last act.
    /// - Returns: the names of the app's tables with possibly changed rows.
    /// - Throws: `replayHookFailed` if the app's hook fails.
    func commit() throws -> [String] {
        if clock.now != savedTime { try access.save(clock) }
        try access.obligations.keyValueChanges.save(connection)
        // The app's hook must find local rows in line with replayed rows.
        try updateLocalTables()
        if let hook, let replayed, !replayed.tables.isEmpty { try access.run(hook, replayed) }
        try access.obligations.varyingDefaults.save(connection)
        try access.digests.save(connection)
        let unsettled = access.obligations.unsettled
        if !unsettled.isEmpty {
            throw FerryError(
                .internalInconsistency, "A transaction left something unsaved: \(unsettled.joined(separator: ", ")).")
        }
        return touched.compactMap { access.registry.tables[$0] }.filter(\.isLocal).map(\.localName) + touchedNames
    }
}
