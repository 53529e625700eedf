/// What a join does with the rows that a database has already.
public struct JoinOptions: Equatable, Sendable {
    /// Whose rows count where they differ.
    public enum Rows: String, CaseIterable, Sendable {
        /// A row that only one side has comes to both. Where both have a row and differ, the container's values are shown,
        /// and this database's are kept as conflicts.
        case merge
        /// As `merge`, and rows that only this database has are deleted here; they are kept as conflicts.
        case theirs
        /// As `merge`, but where both have a row and differ, this database's values are shown, as of now, and the
        /// container's are kept as conflicts.
        case mine
    }

    /// What tells that two rows under integer keys are one.
    public enum Match: String, CaseIterable, Sendable {
        /// Equal keys mean the same row: the database is a copy of one that the container has.
        case keys
    }

    public var rows: Rows
    /// `nil`: rows under integer keys are rows of their own, unless an identity is declared for their table.
    public var match: Match?

    public init(rows: Rows = .merge, match: Match? = nil) {
        self.rows = rows
        self.match = match
    }
}
