import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Packs pending changes: makes a changeset and updates the state, in the caller's transaction.
///
/// 1. Pending changes are read in their order, because keys are reused: a key's meaning at the time of the record
///    counts.
/// 2. For each object, in the order of IDs, present values are read and times assigned.
/// 3. The object's state and operations are written.
/// 4. The read pending changes are deleted.
struct ChangeCapture {
    /// Maximum number of pending changes in a changeset: bounds the memory of a flush.
    static let maximumNotes = StoreLimits.maximumNotes
    /// Maximum bytes of values in a changeset of several pending changes: bounds the memory of a flush, and of
    /// replaying devices. Repeated values count each time.
    static let maximumBytes = 1 << 28

    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// The result of a flush.
    struct Result {
        var tables: [TableChanges]
        /// Objects the rules may have to check.
        var touched: [TouchedObject]
        /// Mapped tables with keys without an owner that rows still refer to.
        var tablesWithLostKeys: Set<Int> = []
        /// Number of inserted rows with a NULL in their key, impossible to identify and therefore local; and the tables with changes of
        /// such rows.
        var rowsWithoutKey: Int
        var keylessTables: Set<Int>
        /// True if no pending change is left.
        var isLast: Bool
    }

    /// Packs the oldest pending changes.
    /// - Parameters:
    ///   - limit: maximum number of pending changes.
    ///   - maximumBytes: maximum bytes of values.
    ///   - clock: advanced past every assigned time.
    /// - Returns: `nil` without pending changes.
    /// - Throws: `limitExceeded` for too many bytes: try fewer pending changes. `clockAhead` for an impossible clock.
    func consumePendingChanges(
        upTo limit: Int = maximumNotes, maximumBytes: Int = .max, _ clock: inout HybridClock
    ) throws -> Result? {
        guard let (end, isLast, first) = try end(of: limit) else { return nil }
        try ClockCheck.check(access.clock)
        // Later than everything packed before, even within a millisecond.
        _ = clock.tick()
        let mintedPrefix = CaptureHistory.mintedPrefix(access)
        if mayTake(.bulkInsertCapture, of: .insert, first),
            let insertions = try consumeInsertions(mintedPrefix, through: end, &clock, maximumBytes: maximumBytes)
        {
            try empty(PendingTable.name, through: end, isLast: isLast)
            return Result(
                tables: insertions.tables, touched: insertions.touched, rowsWithoutKey: insertions.rowsWithoutKey,
                keylessTables: insertions.keylessTables, isLast: isLast)
        }
        if mayTake(.bulkDeletionCapture, of: .delete, first),
            let deletions = try consumeDeletions(through: end, &clock)
        {
            try empty(deletions.tablesWithBeforeImages, through: end, isLast: isLast)
            return Result(
                tables: deletions.tables, touched: deletions.touched, rowsWithoutKey: 0,
                keylessTables: deletions.keylessTables,
                isLast: isLast)
        }
        let log = try PendingLog(access, through: end, &clock)
        var history = CaptureHistory(access, clock, minting: mintedPrefix)
        try history.read(log)
        let result = try history.finish(maximumBytes: maximumBytes)
        clock = history.clock
        try empty(log.tablesWithBeforeImages, through: end, isLast: isLast)
        return Result(
            tables: result.tables, touched: result.touched, tablesWithLostKeys: history.ledger.tablesWithLostKeys,
            rowsWithoutKey: log.rowsWithoutKey, keylessTables: log.keylessTables, isLast: isLast)
    }

    /// True if a fast path is on, and the first of the pending changes has the only event that it takes.
    private func mayTake(_ path: FastPaths, of event: PendingEvent, _ first: PendingEvent?) -> Bool {
        let isOn = access.fastPaths.contains(path)
        if isOn && first == event { return true }
        access.fastPathLog.decline(path, isOn ? .otherEvents : .off)
        return false
    }

    /// Takes pending changes by `BulkDeletionCapture`; `nil` if they are more than deletions that concern nothing else.
    func consumeDeletions(through end: Int64, _ clock: inout HybridClock) throws -> BulkDeletionCapture.Outcome? {
        var capture = try BulkDeletionCapture(access)
        return try capture.take(through: end, &clock)
    }

    /// Takes the notes by `BulkInsertCapture`; `nil` where they are more than insertions of new rows.
    func consumeInsertions(
        _ mintedPrefix: (high: UInt64, low: UInt64), through end: Int64, _ clock: inout HybridClock, maximumBytes: Int
    ) throws -> BulkInsertCapture.Outcome? {
        // Retained rows must be published again.
        guard try RetainedRows(access).isEmpty else {
            access.fastPathLog.decline(.bulkInsertCapture, .retainedRows)
            return nil
        }
        var capture = try BulkInsertCapture(
            access, mintedPrefix, maximumBytes: maximumBytes, mayReferToRetainedLinks: RetainedLinks(access).concern)
        return try capture.take(through: end, &clock)
    }

    /// Removes the packed pending changes, and their before-images in some tables.
    private func empty(_ tables: Set<Int>, through end: Int64, isLast: Bool) throws {
        for table in tables.sorted().map({ access.registry[$0].beforeImageTable }) + [PendingTable.name] {
            try empty(table, through: end, isLast: isLast)
        }
    }

    private func empty(_ table: String, through end: Int64, isLast: Bool) throws {
        // Without a condition SQLite empties the table at once: https://www.sqlite.org/lang_delete.html
        if isLast {
            try connection.execute("DELETE FROM \(table)")
        } else {
            try connection.execute("DELETE FROM \(table) WHERE sequence <= ?", .integer(end))
        }
    }

    /// The sequence of the last pending change to pack, whether none is left behind, and the event of the first; `nil`
    /// without any.
    private func end(of limit: Int) throws -> (sequence: Int64, isLast: Bool, first: PendingEvent?)? {
        let pending = PendingTable(connection)
        guard let (first, last, event) = try pending.ends() else { return nil }
        if UInt64(bitPattern: last &- first) < UInt64(limit) { return (last, true, event) }
        guard let end = try pending.end(ofOldest: limit) else { return nil }
        return (end, end == last, event)
    }
}
