import FerryCore
import FerryMerge

/// Turns what the triggers noted into a changeset and brings the state up to it, in the caller's transaction.
///
/// Notes are read in the order in which they were made, because keys are reused: what a key meant when something was
/// noted is what counts. Then, per object in the order of IDs, present values are read, times are assigned, and the
/// object's state and its operations are written. After it the log of notes is empty up to where it was read.
struct ChangeCapture {
    /// Notes per changeset: bounds the memory of a flush.
    static let maximumNotes = Store.maximumNotes
    /// Bytes of values per changeset, where it has more than one note: bounds the memory of a flush, and what those who
    /// replay it need. Equal values count as often as they stand.
    static let maximumBytes = 1 << 28

    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    /// What one call captured.
    struct Result {
        var tables: [TableChanges]
        /// What the rules may have to look at.
        var touched: [TouchedObject]
        /// Mapped tables with keys that nobody has any more though rows refer to them.
        var tablesWithLostKeys: Set<Int> = []
        /// Rows with a NULL in their key, which cannot be identified and stay behind, and the tables of such rows.
        var rowsWithoutKey: Int
        var keylessTables: Set<Int>
        /// Whether no notes are left.
        var isLast: Bool
    }

    /// Takes the oldest notes.
    /// - Parameters:
    ///   - limit: the most notes.
    ///   - maximumBytes: the most bytes of values.
    ///   - clock: advanced past every time that is assigned.
    /// - Returns: `nil` where nothing is noted.
    /// - Throws: `limitExceeded` with more bytes: try fewer notes. `clockAhead` where the clock cannot be right.
    func takePendingChanges(
        upTo limit: Int = maximumNotes, maximumBytes: Int = .max, _ clock: inout HybridClock
    ) throws -> Result? {
        guard let (end, isLast) = try end(of: limit) else { return nil }
        try Store.checkClock(access.clock)
        // Later than everything that was packed before, even within one millisecond.
        _ = clock.tick()
        var history = CaptureHistory(access)
        if let insertions = try InsertionCapture.take(
            access, history.mintedPrefix, through: end, &clock, maximumBytes: maximumBytes)
        {
            try empty("ferry_pending", through: end, isLast: isLast)
            return Result(
                tables: insertions.tables, touched: insertions.touched, rowsWithoutKey: insertions.rowsWithoutKey,
                keylessTables: insertions.keylessTables, isLast: isLast)
        }
        try history.read(through: end, &clock)
        let result = try history.finish(&clock, maximumBytes: maximumBytes)
        let emptied = history.tablesWithOldRows.sorted().map { access.registry[$0].oldRowsTable }
        for table in emptied + ["ferry_pending"] {
            try empty(table, through: end, isLast: isLast)
        }
        return Result(
            tables: result.tables, touched: result.touched, tablesWithLostKeys: Set(history.lostKeys.keys),
            rowsWithoutKey: history.rowsWithoutKey, keylessTables: history.keylessTables, isLast: isLast)
    }

    private func empty(_ table: String, through end: Int64, isLast: Bool) throws {
        // Without a condition SQLite empties the table at once: https://www.sqlite.org/lang_delete.html
        if isLast {
            try connection.execute("DELETE FROM \(table)")
        } else {
            try connection.execute("DELETE FROM \(table) WHERE sequence <= ?", .integer(end))
        }
    }

    /// The sequence of the last of the oldest notes, and whether it is the last of all; `nil` where there is none.
    private func end(of limit: Int) throws -> (sequence: Int64, isLast: Bool)? {
        guard
            let ends = try connection.rows(
                "SELECT (SELECT min(sequence) FROM ferry_pending), (SELECT max(sequence) FROM ferry_pending)"
            ).first, case .integer(let first) = ends[0], case .integer(let last) = ends[1]
        else { return nil }
        if UInt64(bitPattern: last &- first) < UInt64(limit) { return (last, true) }
        let end = try connection.firstValue(
            "SELECT max(sequence) FROM (SELECT sequence FROM ferry_pending ORDER BY sequence LIMIT ?)",
            .integer(Int64(limit)))
        guard case .integer(let end)? = end else { return nil }
        return (end, end == last)
    }
}

/// An object whose state or row changed, for the rules.
struct TouchedObject {
    var table: Int
    var object: ObjectID
    /// Columns whose values changed, by number; all of them after an insertion or deletion.
    var columns: [Int]
    /// Whether the row is gone now.
    var isDeleted: Bool
    /// Whether a statement made the row.
    var isInsertion = false
    /// Whether its state and its row do not agree yet, so that the rules must decide.
    var needsRules: Bool
    /// Its row's local key, or the one it had where its row is gone; empty where nothing can refer to it.
    var key: [FieldValue] = []
    /// What its row was, where a flush deleted it and foreign keys may refer to it by value.
    var deletion: FlushedDeletion?
}

/// The deletion of a row by statements on this device. A class, because most touched objects have none, and go from hand to
/// hand.
final class FlushedDeletion: Sendable {
    /// What the row showed, as it travels.
    let formerRow: FieldValues
    /// Columns that the flush wrote before it deleted the row: nothing tells what others may have referred to there.
    let rewritten: [Int]

    init(formerRow: FieldValues, rewritten: [Int]) {
        self.formerRow = formerRow
        self.rewritten = rewritten
    }
}

/// A row that is gone, to which other rows may still refer.
struct FormerRow {
    var key: [FieldValue]
    /// What it showed, as it travels; empty where its object's own values are all that is known.
    var values: FieldValues
}

extension Store {
    /// The most notes that are packed as one changeset.
    public static let maximumNotes = 100_000
}
