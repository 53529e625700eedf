import FerryCore
import FerryMerge

/// Turns what the triggers noted into a changeset and brings the state up to it, in the caller's transaction.
///
/// Notes are read in the order in which they were made, because keys are reused: what a key meant when something was
/// noted is what counts. Then, per object in the order of IDs, present values are read, times are assigned, and the
/// object's state and its operations are written. After it the log of notes is empty up to where it was read.
struct ChangeCapture {
    /// Notes per changeset: bounds the memory of a flush.
    static let maximumNotes = 200_000
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
        /// Rows with a NULL in their key, which cannot be identified and stay behind.
        var rowsWithoutKey: Int
    }

    /// Takes the oldest notes.
    /// - Parameters:
    ///   - limit: the most notes.
    ///   - maximumBytes: the most bytes of values.
    ///   - clock: advanced past every time that is assigned.
    /// - Returns: `nil` where nothing is noted.
    /// - Throws: `limitExceeded` with more bytes: try fewer notes.
    func takePendingChanges(
        upTo limit: Int = maximumNotes, maximumBytes: Int = .max, _ clock: inout HybridClock
    ) throws -> Result? {
        let last = try connection.firstValue(
            "SELECT max(sequence) FROM (SELECT sequence FROM ferry_pending ORDER BY sequence LIMIT ?)",
            .integer(Int64(limit)))
        guard case .integer(let end)? = last else { return nil }
        // Later than everything that was packed before, even within one millisecond.
        _ = clock.tick()
        var history = CaptureHistory(access)
        try history.read(through: end, &clock)
        let result = try history.finish(&clock, maximumBytes: maximumBytes)
        for table in access.registry.tables.values where table.isLocal {
            try connection.execute("DELETE FROM \(table.oldRowsTable) WHERE sequence <= ?", .integer(end))
        }
        try connection.execute("DELETE FROM ferry_pending WHERE sequence <= ?", .integer(end))
        return Result(
            tables: result.tables, touched: result.touched, rowsWithoutKey: history.rowsWithoutKey)
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
    /// Whether its state and its row do not agree yet, so that the rules must decide.
    var needsRules: Bool
    /// Its row's local key, or the one it had where its row is gone; empty where nothing can refer to it.
    var key: [FieldValue] = []
}
