/// Numbers that bound the memory and the statements of a transaction. Tests make some of them smaller.
enum StoreLimits {
    /// Maximum number of pending changes packed as a changeset.
    static let maximumNotes = 100_000
    /// How many rows of new objects, and how many states, are written by one statement. More save little, and SQLite's limit of
    /// columns and parameters is far.
    static let rowsAtOnce = 16
    /// How many objects the rules are given at once, beside all that these concern. More take more memory: 0.7 KB each, and as
    /// much for each of what they concern.
    static let seedsAtOnce = 8192
}
