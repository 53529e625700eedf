/// The columns of a table whose updates may leave the rules nothing to decide.
///
/// Those are columns that no constraint, reference or policy concerns; ones that refer to rows by foreign keys of one column,
/// where the new target has a row of its own, and the former one a row that shows it simply: it is not held back, so that
/// nothing of it follows from who refers to it; and ones under a UNIQUE index, as long as no object near by is exceptional:
/// then SQLite tells whether a value is taken. A target whose row goes later in the batch concerns whoever refers to it then.
final class PlainColumns {
    private let access: StoreAccess
    private let table: TrackedTable
    /// By number.
    private let kinds: [Kind]
    /// Whether updates of claims concern nobody; `nil` before that was asked.
    @exclusivity(unchecked) private var areClaimsPlain: Bool?

    private enum Kind {
        /// Its updates may concern other objects.
        case other
        /// No UNIQUE index holds it; the places of the foreign keys by which it refers.
        case free([Int])
        /// A UNIQUE index holds it; the same.
        case claim([Int])
    }

    init(_ access: StoreAccess, _ table: TrackedTable, _ sensitive: SensitiveColumns) {
        self.access = access
        self.table = table
        kinds = table.columns.map { Self.kind(of: $0, table, sensitive) }
    }

    private static func kind(of column: TrackedColumn, _ table: TrackedTable, _ sensitive: SensitiveColumns) -> Kind {
        guard table.isLocal, column.isLocal, column.policy == .lastWriterWins, !column.isUnchecked else {
            return .other
        }
        if sensitive.offered.contains(column.id) { return .other }
        let places = table.foreignKeys.indices.filter { table.foreignKeys[$0].columns.contains(column.id) }
        if places.isEmpty, column.reference != nil { return .other }
        let areSimple = places.allSatisfy { place in
            let key = table.foreignKeys[place]
            guard key.columns.count == 1, key.action != .none else { return false }
            return switch key.target {
            case .mapped: column.reference == key.parent
            case .key: column.reference == nil
            case .unique: false
            }
        }
        if !areSimple { return .other }
        if !sensitive.claimed.contains(column.id) { return .free(places) }
        // What dies in the batch may wait for somebody who offers the same.
        return table.offeredKeys.isEmpty ? .claim(places) : .other
    }

    /// Whether updates of all these columns may be merged the short way; the number is below zero for one that is not known.
    func contain(_ columns: [Int]) throws -> Bool {
        for column in columns where try column < 0 || foreignKeys(of: column) == nil { return false }
        return true
    }

    /// The places of the foreign keys by which a column refers, each of this column alone; `nil` where updates of it may
    /// concern other objects.
    func foreignKeys(of column: Int) throws -> [Int]? {
        switch kinds[column] {
        case .other: nil
        case .free(let places): places
        case .claim(let places): try isQuiet() ? places : nil
        }
    }

    /// Whether no object that the table's rows could concern is exceptional: nobody waits for what an update lets go, or
    /// claims what it claims. While the batch is merged no object becomes exceptional; that is for the rules, which come after
    /// it.
    private func isQuiet() throws -> Bool {
        if let areClaimsPlain { return areClaimsPlain }
        let seeds = SeedFinder(access)
        let isQuiet =
            try !access.exceptionTokens.areAny(of: table.id)
            && seeds.exceptionalTables().isDisjoint(with: SeedFinder.neighbours(of: table))
        areClaimsPlain = isQuiet
        return isQuiet
    }
}
