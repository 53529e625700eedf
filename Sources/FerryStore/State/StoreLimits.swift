/// Limits on the memory and the statements of a transaction. Tests lower some limits.
enum StoreLimits {
    /// Maximum number of pending changes packed as a changeset.
    static let maximumNotes = 100_000
    /// Number of new rows, and of states, written by a statement. A larger number saves little, and SQLite's limits of
    /// columns and parameters are far.
    static let rowsAtOnce = 16
    /// Number of objects given to the rules at once, besides all objects concerned. A larger number takes more memory:
    /// 0.7 KB for each object, and as much for each object concerned.
    static let seedsAtOnce = 8192
}
