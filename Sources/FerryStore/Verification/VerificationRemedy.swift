/// A remedy for a finding of `Store.verify`. The raw values are fixed: scripts rely on them.
public enum VerificationRemedy: String, Codable, CaseIterable, Sendable {
    /// The file is damaged: set the file aside, and join with a new file.
    case replaceFile
    /// An index differs from its table: make the index anew.
    case reindex
    /// Rows refer to nothing: a sync hides or clears rows an app wrote with foreign keys off.
    case sync
    /// Rows were written without a trigger: accept them as changes.
    case take
    /// A row is shown that the schema refuses: write allowed values.
    case mend
    /// Ferry's records about rows are damaged: leave, and join again.
    case rejoin
    /// This process lacks a collation or function: check in the app's process.
    case checkInApp

    /// The remedy, in sentences.
    public var advice: String {
        switch self {
        case .replaceFile:
            "SQLite finds the file damaged. Move the file aside, and run `ferry join` with a new one. Try `sqlite3 old.sqlite "
                + ".recover` for what was never published."
        case .reindex:
            "An index is not what its table holds. Run `REINDEX` on the database with sqlite3, and verify again."
        case .sync:
            "Rows refer to nothing. `ferry sync` sees to rows that a program wrote with foreign keys off. Mend by SQL what is "
                + "listed after that."
        case .take:
            "Somebody wrote rows without a trigger. If this database's rows are right, `ferry verify --take` sends them as "
                + "changes. If the other devices' are, move this file aside and run `ferry join` with a new one."
        case .mend:
            "A row is shown here that the schema refuses: a program wrote it past a CHECK (`PRAGMA ignore_check_constraints`), or "
                + "the constraint came later. Other devices hide it. Write a value that the schema allows, and sync."
        case .rejoin:
            "What Ferry keeps of rows is damaged, and the rows need not be. Run `ferry sync`, then move this file aside and run "
                + "`ferry join` with a new one. To keep what only this file has, run `ferry leave`, and join again with it "
                + "(`--match keys` where its integer keys are the container's)."
        case .checkInApp:
            "A collation or a function is missing in this process, so not everything was checked. Run `Replica.verify` in the "
                + "app that registers it."
        }
    }
}

extension VerificationReport.Difference.Kind {
    /// The remedy for a difference of this kind.
    package var remedy: VerificationRemedy {
        switch self {
        case .missingRow, .unknownRow, .value, .check: .take
        case .needlessRow, .lostValue, .digest, .identity, .mark: .rejoin
        }
    }
}
