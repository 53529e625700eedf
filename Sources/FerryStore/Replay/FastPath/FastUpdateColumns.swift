import FerrySchema

/// Finds the columns with updates leaving the rules nothing to decide.
///
/// Such are columns without any constraint, reference or policy. References by a foreign key with a single column
/// qualify if both targets have rows. The new target needs its own row, and the former target a row shown as written. A
/// retained target would be affected by its referring rows.
///
/// Columns under a UNIQUE index qualify while no object nearby is anomalous: then SQLite reports a value already in
/// use. If a target's row is removed later in the batch, that removal handles the referring rows.
final class FastUpdateColumns {
    private let access: StoreAccess
    private let table: TrackedTable
    /// Kinds by column number.
    private let kinds: [Kind]
    /// True if updates of claims concern no further object; `nil` before the first query.
    @exclusivity(unchecked) private var areClaimsPlain: Bool?

    private enum Kind {
        /// Updates may concern further objects.
        case other
        /// Under no UNIQUE index; with the positions of the column's foreign keys.
        case free([Int])
        /// Under a UNIQUE index; with the positions of the column's foreign keys.
        case claim([Int])
    }

    init(_ access: StoreAccess, _ table: TrackedTable, _ sensitive: DependencyColumns) {
        self.access = access
        self.table = table
        kinds = table.columns.map { Self.kind(of: $0, table, sensitive) }
    }

    private static func kind(of column: TrackedColumn, _ table: TrackedTable, _ sensitive: DependencyColumns) -> Kind {
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
        // An object deleted in the batch may wait for a further object with the same parent key.
        return table.offeredKeys.isEmpty ? .claim(places) : .other
    }

    func affinity(of column: Int) -> SchemaColumn.Affinity { table.columns[column].affinity }

    /// True if updates of all these columns may use the fast path. A negative number is an unknown column.
    func contain(_ columns: [Int]) throws -> Bool {
        for column in columns where try column < 0 || foreignKeys(of: column) == nil { return false }
        return true
    }

    /// The positions of the column's foreign keys, each with this column alone; `nil` if updates may concern further
    /// objects.
    func foreignKeys(of column: Int) throws -> [Int]? {
        switch kinds[column] {
        case .other: nil
        case .free(let places): places
        case .claim(let places): try isQuiet() ? places : nil
        }
    }

    /// True if no object related to the table's rows is anomalous: nothing waits for a released value, or has the same
    /// claim. No object becomes anomalous while the batch is merged; only the rules do that, after the batch.
    private func isQuiet() throws -> Bool {
        if let areClaimsPlain { return areClaimsPlain }
        let seeds = ProjectionSeeds(access)
        let isQuiet =
            try !access.anomalyTokens.areAny(of: table.id)
            && seeds.anomalousTables().isDisjoint(with: ProjectionSeeds.neighbours(of: table))
        areClaimsPlain = isQuiet
        return isQuiet
    }
}
