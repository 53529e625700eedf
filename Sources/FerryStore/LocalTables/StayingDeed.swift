import FerryCore

/// One thing that a foreign key of a table that stays does to the rows that referred to what is not as it was
/// (`FormerKeys`): a statement over a range of places.
struct StayingDeed {
    enum Change {
        case delete
        /// SET NULL, and SET DEFAULT.
        case clear, setDefault
        /// Refers to what the row, or the one that it became one with, offers now.
        case follow
    }

    let keys: FormerKeys
    let reference: StayingReference
    var change: Change
    /// Of which former keys, by the columns of `former`.
    var condition: String
    /// Whether rows that may not hold what they are to hold stay as they are, instead of all.
    private(set) var isTolerant = false

    private var child: String { "main.\(quoted(reference.child.name))" }

    /// What a foreign key does, in order: what refers to nothing goes before anything else comes to refer to its place.
    static func all(_ keys: FormerKeys, _ reference: StayingReference) -> [StayingDeed] {
        func deed(_ change: Change, _ condition: String) -> StayingDeed {
            StayingDeed(keys: keys, reference: reference, change: change, condition: condition)
        }
        var deeds: [StayingDeed] = []
        if let change = change(for: reference.onDelete) {
            deeds.append(deed(change, "former.fate = \(FormerKeys.gone)"))
        }
        let isChanged = "former.fate = \(FormerKeys.changed)"
        // What became one with another row is meant still, whatever ON UPDATE says.
        var follows = "former.fate = \(FormerKeys.joined)"
        switch reference.onUpdate {
        case .setNull, .setDefault:
            if let change = change(for: reference.onUpdate) { deeds.append(deed(change, isChanged)) }
        case .cascade: follows += " OR \(isChanged)"
        case .refuse:
            // SQLite would have refused the change: what can follow does, rather than refer to nothing.
            let isOffered = keys.key.columns.indices.map { "former.a\($0) IS NOT NULL" }.joined(separator: " AND ")
            follows += " OR \(isChanged) AND NOT former.isThere AND \(isOffered)"
        }
        return deeds + [deed(.follow, "(\(follows)) AND (?3 OR NOT former.isCircular)")]
    }

    private static func change(for action: StayingReference.Action) -> Change? {
        switch action {
        case .refuse: nil
        case .cascade: .delete
        case .setNull: .clear
        case .setDefault: .setDefault
        }
    }

    /// The same for those rows that the schema allows it for. Rows are deleted together or not at all.
    var tolerant: StayingDeed {
        var other = self
        other.isTolerant = true
        return other
    }

    /// What is done with the rows that the schema refuses the deed for: what cannot follow a row has lost it, and ON DELETE says what
    /// becomes of it. `nil`: the row stays as it is.
    var alternative: StayingDeed? {
        guard case .follow = change, let change = Self.change(for: reference.onDelete) else { return nil }
        var other = self
        other.change = change
        if !keys.key.isMappedKey { other.condition += " AND NOT former.isThere" }
        return other
    }

    // MARK: Statements

    /// Does it for the places from the first to the last.
    /// - Parameter isAll: whether these are all there are.
    /// - Throws: `database` where the schema refuses it.
    func carryOut(_ first: Int64, _ last: Int64, isAll: Bool) throws {
        let statement = try keys.access.connection.makeStatement(sql())
        statement.bind(first, 1)
        statement.bind(last, 2)
        statement.bind(isAll ? 1 : 0, 3)
        try statement.run()
    }

    /// Whether it concerns any row.
    func concernsAny() throws -> Bool {
        // Where it is about nothing, no row needs to be looked at.
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
            // A default that refers to nothing is NULL, as in tables that travel.
            let defaults = reference.columns.map { "(\(reference.child.column($0)?.defaultSQL ?? "NULL"))" }
            let pairs = zip(keys.key.columns, defaults).map { "parent.\(quoted($0.name)) = \($1)" }
            let isThere =
                "EXISTS (SELECT 1 FROM main.\(quoted(keys.table.name)) AS parent WHERE \(pairs.joined(separator: " AND ")))"
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

    /// The rows concerned: found by an index, or, where there is none that serves, by reading all of the table once.
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
    /// The columns, quoted, by which a row is told from all others: the rowid under a name that no column has, or the key of
    /// a table without. Empty where all names are taken.
    fileprivate var rowIdentity: [String] {
        if isWithoutRowID { return primaryKey.map(quoted) }
        return rowIDNames(besides: columns.map(\.name)).first.map { [$0] } ?? []
    }
}
