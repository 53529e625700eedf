import FerryStore

/// How a join treats the rows already in a database.
public struct JoinOptions: Equatable, Sendable {
    /// The side whose values count if rows differ.
    public enum Rows: String, CaseIterable, Sendable {
        /// Rows on a single side come to both sides. If both sides have a row and differ, the container's values are
        /// shown, and this database's values stay as conflicts.
        case merge
        /// As `merge`, and rows only in this database are deleted here; the deleted rows stay as conflicts.
        case theirs
        /// As `merge`, but if both sides have a row and differ, this database's values are shown, as of now. The
        /// container's values stay as conflicts.
        case mine
    }

    /// How two rows under integer keys are recognized as the same row.
    public enum Match: String, CaseIterable, Sendable {
        /// Equal keys mean the same row: the database is a copy of a database in the container.
        case keys
    }

    package var rows: Rows
    /// `nil`: rows under integer keys are separate rows, unless the table has a declared identity. A database that left the container knows
    /// its rows by `rememberedKeys`.
    package var match: Match?
    /// The rows meant by the database's integer keys, from when the database left the container.
    package var rememberedKeys: RememberedKeys?

    /// - Parameter match: not needed for a database that left this container: the file `<database>-ferry-keys` beside the database says which
    ///   rows are the container's.
    public init(rows: Rows = .merge, match: Match? = nil) {
        self.rows = rows
        self.match = match
    }
}
