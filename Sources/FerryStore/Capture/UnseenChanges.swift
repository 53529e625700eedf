/// The unseen writes accepted as changes of a table: rows differed from the state, and no trigger had recorded the
/// writes.
public struct UnseenChanges: Codable, Equatable, Sendable {
    public var table: String
    /// Rows with new values.
    public var changed = 0
    /// Rows unknown to the state.
    public var inserted = 0
    /// Missing rows.
    public var deleted = 0
    /// Rows missing together with all rows of the table: no deletions elsewhere.
    package var gone = 0

    var areAny: Bool { changed + inserted + deleted + gone > 0 }
}
