import FerryCore
import FerrySQL
import FerrySchema

/// An action of a local table's foreign key on the rows referring to changed parent keys (`ChangedParentKeys`): a
/// statement over a range of places.
struct LocalForeignKeyAction {
    enum Change {
        case delete
        /// SET NULL, and SET DEFAULT.
        case clear, setDefault
        /// Updates references to the present parent key values of the row, or of the unified row.
        case follow
    }

    let keys: ChangedParentKeys
    let reference: LocalForeignKey
    var change: Change
    /// The condition on former keys, by columns of `former`.
    var condition: String
    /// True to skip rows that may not hold the new values, instead of failing as a whole.
    private(set) var isTolerant = false

    private var child: String { "main.\(reference.child.quotedName)" }

    /// The actions of a foreign key, in order: references to nothing are handled before a new reference uses the same
    /// key.
    static func all(_ keys: ChangedParentKeys, _ reference: LocalForeignKey) -> [LocalForeignKeyAction] {
        func deed(_ change: Change, _ condition: String) -> LocalForeignKeyAction {
            LocalForeignKeyAction(keys: keys, reference: reference, change: change, condition: condition)
        }
        var deeds: [LocalForeignKeyAction] = []
        if let change = change(for: reference.onDelete) {
            deeds.append(deed(change, "former.fate = \(ChangedParentKeys.gone)"))
        }
        let isChanged = "former.fate = \(ChangedParentKeys.changed)"
        // References to a unified row follow, regardless of ON UPDATE.
        var follows = "former.fate = \(ChangedParentKeys.joined)"
        switch reference.onUpdate {
        case .setNull, .setDefault:
            if let change = change(for: reference.onUpdate) { deeds.append(deed(change, isChanged)) }
        case .cascade: follows += " OR \(isChanged)"
        case .refuse:
            // SQLite would have refused the change. References follow if possible, rather than refer to nothing.
            let isOffered = keys.key.columns.indices.map { "former.a\($0) IS NOT NULL" }.joined(separator: " AND ")
            follows += " OR \(isChanged) AND NOT former.isThere AND \(isOffered)"
        }
        return deeds + [deed(.follow, "(\(follows)) AND (?3 OR NOT former.isCircular)")]
    }

    private static func change(for action: LocalForeignKey.Action) -> Change? {
        switch action {
        case .refuse: nil
        case .cascade: .delete
        case .setNull: .clear
        case .setDefault: .setDefault
        }
    }

    /// The same action for the rows allowed by the schema. Rows are deleted together or not at all.
    var tolerant: LocalForeignKeyAction {
        var other = self
        other.isTolerant = true
        return other
    }

    /// The fallback if the schema rejects ON UPDATE: the ON DELETE action. nil leaves the row unchanged.
    var alternative: LocalForeignKeyAction? {
        guard case .follow = change, let change = Self.change(for: reference.onDelete) else { return nil }
        var other = self
        other.change = change
        if !keys.key.isMappedKey { other.condition += " AND NOT former.isThere" }
        return other
    }

    // MARK: Statements

    /// Runs the action for a range of places.
    /// - Parameter isAll: true if the range has all places.
    /// - Throws: `database` if the schema refuses the action.
    func carryOut(_ first: Int64, _ last: Int64, isAll: Bool) throws {
        let statement = try keys.access.connection.makeStatement(sql())
        statement.bind(first, 1)
        statement.bind(last, 2)
        statement.bind(isAll ? 1 : 0, 3)
        try statement.run()
    }

    /// True if the action concerns any row.
    func concernsAny() throws -> Bool {
        // Without any matching former key, no row needs to be read.
        let isAboutAny = try keys.access.connection.makeStatement(
            "SELECT 1 FROM \(keys.name) AS former WHERE \(condition) LIMIT 1")
        isAboutAny.bind(1, 3)
        guard try isAboutAny.step() else { return false }
        let statement = try keys.access.connection.makeStatement(
            "SELECT 1 FROM \(child) AS child WHERE \(selection()) LIMIT 1")
        statement.bind(Int64.min, 1)
        statement.bind(Int64.max, 2)
        statement.bind(1, 3)
        return try statement.step()
    }

    private func sql() throws -> String {
        let columns = reference.columns.map(quoted)
        let assignments: String
        switch change {
        case .delete: return "DELETE FROM \(child) AS child WHERE \(try selection())"
        case .clear: assignments = columns.map { "\($0) = NULL" }.joined(separator: ", ")
        case .setDefault:
            // A default without a parent row becomes NULL, as in travelling tables.
            let defaults = reference.columns.map { "(\(reference.child.column($0)?.defaultSQL ?? "NULL"))" }
            let pairs = zip(keys.key.columns, defaults).map { "parent.\(quoted($0.name)) = \($1)" }
            let isThere =
                "EXISTS (SELECT 1 FROM main.\(keys.table.quotedName) AS parent WHERE \(pairs.joined(separator: " AND ")))"
            assignments = zip(columns, defaults).map { "\($0) = CASE WHEN \(isThere) THEN \($1) END" }
                .joined(separator: ", ")
        case .follow:
            assignments = columns.enumerated().map { index, column in
                "\(column) = (SELECT former.a\(index) FROM \(keys.name) AS former WHERE \(match("child")))"
            }.joined(separator: ", ")
        }
        return "UPDATE \(isTolerant ? "OR IGNORE " : "")\(child) AS child SET \(assignments) WHERE \(try selection())"
    }

    private func match(_ row: String) -> String {
        let pairs = reference.columns.enumerated().map { "former.b\($0) = \(row).\(quoted($1))" }
        return pairs.joined(separator: " AND ")
    }

    /// The condition for the concerned rows: by an index, or by reading the whole table once without a usable index.
    private func selection() throws -> String { try "\(reference.rows) AND \(concerned())" }

    private func concerned() throws -> String {
        let range = "former.place BETWEEN ?1 AND ?2 AND (\(condition))"
        let identity = reference.child.rowIdentity
        guard !identity.isEmpty, try ChildIndex(keys.access.connection).serves(reference, keys.key) else {
            return "EXISTS (SELECT 1 FROM \(keys.name) AS former WHERE \(match("child")) AND \(range))"
        }
        let (outer, inner) = (identity.map { "child.\($0)" }, identity.map { "found.\($0)" })
        return "(\(outer.joined(separator: ", "))) IN (SELECT \(inner.joined(separator: ", ")) "
            + "FROM \(keys.name) AS former CROSS JOIN \(child) AS found ON \(match("found")) WHERE \(range))"
    }
}

extension SchemaTable {
    /// The quoted columns identifying a row: the rowid under an unused name, or the key of a table without rowids.
    /// Empty if all names are in use.
    fileprivate var rowIdentity: [String] {
        if isWithoutRowID { return primaryKey.map(quoted) }
        return rowIDNames(besides: columns.map(\.name)).first.map { [$0] } ?? []
    }
}
