import FerryCore
import FerrySchema

extension Store {
    /// Runs a transaction of a sync. Packs local changes first, so they get their own times and replay meets them as
    /// state. Then runs `body` under the present policies.
    ///
    /// If this process lacks a collation or function of the app, repeats everything without the rows needing the
    /// missing part (`WaitingTables`). So `body` may run several times.
    /// - Throws: `replayHookFailed` if `willCommitReplay` fails; nothing is packed or changed then. `missingFunction`
    ///   if the part is needed even so.
    func passing<Result>(_ encode: SegmentEncoding, _ body: (StoreSession) throws -> Result) throws -> Result {
        while true {
            do {
                return try transaction(encoding: encode, hook: hookOfPasses) { session in
                    try session.beginPass()
                    return try body(session)
                }
            } catch let error as FerryError where error.code == .missingFunction {
                // More waits each time, so the loop ends.
                guard try transaction({ try $0.recordWaitingTables(hasFailed: true) }) else { throw error }
            }
        }
    }

    /// Packs pending changes and then replays remote changesets, in a single transaction.
    ///
    /// Local changes are always packed first, so they get their own times and replay meets them as state.
    /// - Parameters:
    ///   - incoming: consecutive changesets for each device, following the replayed position; any different sequence is refused.
    ///   - checksums: the checksum of each device's last segment, if `incoming` ends with that segment.
    ///   - encode: encodes packed changesets as segments.
    /// - Throws: `replayHookFailed` if `willCommitReplay` fails; nothing is packed or replayed then.
    package func pass(
        replaying incoming: [Changeset], checksums: [DeviceID: Checksum] = [:], encode: SegmentEncoding
    ) throws -> PassOutcome {
        var gate = PolicyGate(incoming)
        gate.withdrawInadmissible(ChangesetAdmission(clock))
        try enter(tablesOf: Array(gate.rest))
        if !incoming.isEmpty {
            let waiting = try readAccess { try $0.withdrawWaiting(&gate) }
            // A waiting device must not make every pass write.
            if try gate.rest.isEmpty && !waiting.isAhead && !needsPass() {
                var outcome = PassOutcome()
                outcome.refused = gate.refused
                return outcome
            }
            if !waiting.isKnown { _ = try transaction { try $0.recordWaitingTables(hasFailed: false) } }
        }
        let admitted = gate
        return try passing(encode) { session in
            var gate = admitted
            try session.replay(&gate, checksums: checksums)
            try session.insertContentsAgain()
            return session.outcome
        }
    }

    /// Compares every row with the state, and packs the differences as changes of this device. For writes without a
    /// trigger (`sqlite3_blob_write`, a restored page, an edited schema) and for findings of `verify`.
    ///
    /// If the state identifies the written column, the change is as of now. Otherwise all columns of the row travel,
    /// each at the time just after its former value, so they overwrite no later remote write.
    /// - Returns: the accepted changes, for tables with any difference.
    package func takeUnseenWrites(encode: SegmentEncoding) throws -> [UnseenChanges] {
        try passing(encode) { try $0.takeUnseenWrites() }
    }

    /// Registers peers' unknown tables and columns, in a separate transaction.
    func enter(tablesOf changesets: [Changeset]) throws {
        if changesets.isEmpty { return }
        try makeDocumentTables(for: changesets)
        try releaseAwaitedTables(changesets)
        var tables = PeerTables(changesets)
        if try !read({ try tables.find($0) }) { return }
        try writeAsFerry { (try tables.enter($0), []) }
    }

    /// Lets tables travel that only this database had when it joined, once another device has them.
    private func releaseAwaitedTables(_ changesets: [Changeset]) throws {
        let awaited = try read { try ExceptedTables($0).awaited() }
        if awaited.isEmpty { return }
        var arrived: [String: TableIdentity?] = [:]
        for changeset in changesets {
            for table in changeset.tables where awaited.contains(foldedName(table.name)) {
                arrived[foldedName(table.name)] = table.identity
            }
            for table in changeset.schema?.tracked ?? [] where awaited.contains(foldedName(table.name)) {
                arrived[foldedName(table.name)] = table.identity
            }
        }
        if arrived.isEmpty { return }
        try note { try ExceptedTables($0).release(arrived) }
        registries.forgetAll()
    }

    /// True if a head naming the log up to `sequence`, with the last segment's checksum `checksum`, can be this store's
    /// own. False if the store has not published so far, or published a different segment there.
    package func publishedSegments(include sequence: UInt64, _ checksum: Checksum) throws -> Bool {
        try read { try OwnLogPosition($0).includes(sequence, checksum) }
    }

    /// The published end of this device's log, as remembered by the store: the packed changesets without the outbox.
    /// - Returns: the number of the last published changeset; with time and checksum if the outbox is empty.
    package func publishedLog() throws -> (sequence: UInt64, last: LogPosition?, checksum: Checksum?) {
        try read { try OwnLogPosition($0).published() }
    }

    /// True if a pass without incoming changesets would have work: pending changes, or a new or unsent schema. Cheap,
    /// and writes nothing.
    package func needsPass() throws -> Bool { try read { try passNeed.isThere($0) } }

    var passNeed: PassNeed { PassNeed(registries: registries, hooks: hooks) }

    /// A number changed by commits of any further connection, of this process or not. Commits of the store's own
    /// connection leave the number: https://www.sqlite.org/pragma.html#pragma_data_version
    package func dataVersion() throws -> Int {
        try read { try $0.count("PRAGMA data_version") }
    }

    /// `dataVersion` at the last `reading`; `nil` before.
    package var dataVersionOfReading: Int? { lastReading.version?.others }
}
