/// The fast paths a store may take for changes that concern nothing else. Each gives the result of the general path
/// (Docs/Architecture/fast-paths.md), and each can be switched off.
package struct FastPaths: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// Packs a flush of new rows without an object in memory for each row (`BulkInsertCapture`).
    package static let bulkInsertCapture = FastPaths(rawValue: 1)
    /// Writes several replayed rows of new objects by one statement (`BulkRowInserter`).
    package static let bulkRowInsert = FastPaths(rawValue: 2)
    /// Merges updates into the bytes of a state (`FastUpdates`). Needs `statePrefetch` and `stampBatches`.
    package static let fastUpdates = FastPaths(rawValue: 4)
    /// Reads several states and rows at once before the merge (`StatePrefetcher`).
    package static let statePrefetch = FastPaths(rawValue: 8)
    /// Writes several states with changed stamps at once (`BulkStampWriter`).
    package static let stampBatches = FastPaths(rawValue: 16)
    /// Loads a snapshot into a store without objects instead of merging (`BulkSnapshotLoad`).
    package static let snapshotLoad = FastPaths(rawValue: 32)

    /// Verifies objects one by one that no rule concerns (`PlainObjects`).
    package static let plainObjects = FastPaths(rawValue: 64)

    /// Packs a flush of deletions without an object in memory for each row (`BulkDeletionCapture`).
    package static let bulkDeletionCapture = FastPaths(rawValue: 128)
    /// Merges deletions into the bytes of a state (`FastDeletions`). Needs `statePrefetch`.
    package static let fastDeletions = FastPaths(rawValue: 256)

    package static let all = FastPaths(rawValue: 511)
    /// Everything takes the general path.
    package static let none: FastPaths = []

    /// Each fast path with its name, in the order of the bits.
    package static let named: [(path: FastPaths, name: String)] = [
        (bulkInsertCapture, "bulkInsertCapture"), (bulkRowInsert, "bulkRowInsert"), (fastUpdates, "fastUpdates"),
        (statePrefetch, "statePrefetch"), (stampBatches, "stampBatches"), (snapshotLoad, "snapshotLoad"),
        (plainObjects, "plainObjects"), (bulkDeletionCapture, "bulkDeletionCapture"),
        (fastDeletions, "fastDeletions"),
    ]
}

/// The reason a fast path leaves a change to the general path.
package enum FastPathDecline: Int, Error, CaseIterable, Sendable {
    /// The fast path is switched off.
    case off
    /// Pending changes of further kinds.
    case otherEvents
    /// Deleted rows are retained and must be published again.
    case retainedRows
    /// The app's functions or triggers see each row.
    case observed
    /// A declared identity, or a table that is about to become a different generation.
    case identity
    /// Columns under a policy.
    case policies
    /// References without a check by a foreign key.
    case uncheckedReferences
    /// Anomalous objects in the table or in related tables.
    case anomalies
    /// UNIQUE indexes on columns outside of the key.
    case claims
    /// Rows may refer to links that the flush would have to insert.
    case links
    /// A key or an object appears twice.
    case repeated
    /// The target of a reference is missing, or has no own row.
    case missingTarget
    /// The row is gone.
    case missingRow
    /// The store knows the object.
    case known
    /// The table has no objects yet, so there is nothing to read.
    case empty
    /// The table or a column is missing here, or the table has too many columns.
    case shape
    /// The key may not be free.
    case key
    /// No update, or an update with more than values.
    case operation
    /// Further objects may depend on the column.
    case column
    /// The write is not later than the known write.
    case older
    /// SQLite refused the row.
    case refused
    /// Rows still refer to a deleted row.
    case referringRows
    /// The state is not plain: no row shows the object alone as the state says.
    case state
    /// The write met one that its author had not seen.
    case conflict
    /// Verification found a difference, which the general path describes.
    case difference
}
