import FerryCore

/// Decides under which name each table of a database travels, after a schema change: a pure function.
///
/// SQLite takes triggers along with a renamed table, so a trigger tells which table a table was. A table without triggers
/// is new, or was made anew in the place of another one.
package struct TableNaming {
    /// A table of the database.
    package struct Present {
        package var name: String
        /// The travelling name of the table whose triggers stand here; `nil` without Ferry's triggers.
        package var owner: String?
        /// The names of the columns, in lower case.
        package var columns: Set<String>
        /// True if the table is proven to be another one than the table that had the name.
        package var isOther: Bool

        package init(name: String, owner: String?, columns: Set<String>, isOther: Bool = false) {
            self.name = name
            self.owner = owner
            self.columns = columns
            self.isOther = isOther
        }
    }

    private let present: [Present]
    /// The columns of each registered table, in lower case, by the travelling name in lower case.
    private let registered: [String: Set<String>]
    /// The travelling names, in lower case, of the tables that this database had until now.
    private let wereHere: Set<String>
    private var names: TableNames

    /// - Parameters:
    ///   - present: the app's tables.
    ///   - registered: the columns of each registered table, in lower case, by the travelling name in lower case.
    ///   - wereHere: the travelling names, in lower case, of the tables that this database had until now.
    ///   - names: the names until now.
    package init(
        _ present: [Present], registered: [String: Set<String>], wereHere: Set<String>, _ names: TableNames
    ) {
        self.present = present
        self.registered = registered
        self.wereHere = wereHere
        self.names = names
    }

    /// The names from now on.
    package func decided() -> TableNames {
        var naming = self
        naming.decide()
        return naming.names
    }

    private mutating func decide() {
        let before = names
        // Renamed tables first: the others depend on where these went.
        for table in present {
            guard let owner = table.owner, !equalNames(before.local(owner), table.name) else { continue }
            if replacesDroppedTable(table, owner, before) {
                names.set(nil, for: owner)
            } else {
                names.set(table.name, for: owner)
            }
        }
        for table in present where table.owner == nil {
            let former = before.travelling(table.name)
            if registered[foldedName(former)] != nil, equalNames(names.local(former), table.name) { continue }
            place(table, before)
        }
    }

    /// True if a table was put in the place of a dropped one with much the same columns. A rebuild looks like that if Ferry
    /// looked in the middle, and a table that was there for long does not.
    private func replacesDroppedTable(_ table: Present, _ owner: String, _ before: TableNames) -> Bool {
        if table.isOther { return false }
        let former = before.travelling(table.name)
        guard !equalNames(former, owner), wereHere.contains(foldedName(former)),
            let columns = registered[foldedName(former)],
            !present.contains(where: { $0.owner.map { equalNames($0, former) } ?? false })
        else { return false }
        return Self.areAlike(columns, table.columns)
    }

    /// Places a table without triggers under a name that a renamed table had, or has travelled under.
    private mutating func place(_ table: Present, _ before: TableNames) {
        let former = before.travelling(table.name)
        let candidates = [former, table.name].filter { registered[foldedName($0)] != nil }
        for candidate in candidates where !equalNames(names.local(candidate), table.name) {
            // The renamed table was made anew under its former name, or is gone.
            if !isThere(names.local(candidate))
                || Self.areAlike(registered[foldedName(candidate)] ?? [], table.columns)
            {
                return names.set(table.name, for: candidate)
            }
            let names = names
            let own = TableNames.free(table.name) { name in
                isThere(name) || names.local.contains { foldedName($0.key) == name && isThere($0.value) }
            }
            return self.names.set(table.name, for: own)
        }
    }

    private func isThere(_ name: String) -> Bool { present.contains { equalNames($0.name, name) } }

    /// True if a table has at least half of the columns of another one.
    package static func areAlike(_ columns: Set<String>, _ others: Set<String>) -> Bool {
        !columns.isEmpty && columns.intersection(others).count * 2 >= columns.count
    }
}
