import FerryCore

/// Decides under which name each column of a table travels, after a schema change: a pure function.
///
/// SQLite rewrites triggers along with a renamed column, so a trigger tells which column a column was. A column without
/// such a sign is new, or its table was made anew. What other devices tell decides then, as far as it can be true here.
///
/// Invariant: no two columns get the same name.
package struct ColumnNaming {
    /// A column of the database.
    package struct Present {
        package var name: String
        /// The travelling name of the column, as a sign tells; `nil` without a sign.
        package var former: String?

        package init(_ name: String, former: String? = nil) {
            self.name = name
            self.former = former
        }
    }

    /// A column that travels under another name from now on, because other devices told so.
    package struct Move: Equatable {
        package var from: String
        package var to: String

        package init(from: String, to: String) {
            self.from = from
            self.to = to
        }
    }

    private let present: [Present]
    /// The names in the database, in lower case, of the columns at the last look; `nil` for a table that is new here.
    private let wereHere: Set<String>?
    private let before: ColumnNames
    /// Names that other columns have: those of the key.
    private let reserved: Set<String>
    /// The travelling name by the folded name in the database.
    private var names: [String: String] = [:]
    private var taken: Set<String>
    /// The columns that no sign and no earlier name decided.
    private var new: Set<String> = []

    /// - Parameters:
    ///   - wereHere: the names in the database, in lower case, of the columns at the last look; `nil` for a table that is
    ///     new here.
    ///   - reserved: names that no column may travel under, in lower case.
    ///   - before: the names until now.
    package init(_ present: [Present], wereHere: Set<String>?, reserved: Set<String> = [], _ before: ColumnNames) {
        self.present = present
        self.wereHere = wereHere
        self.reserved = reserved
        self.before = before
        taken = reserved
    }

    /// The names from now on, and the columns that were here under another name.
    package func decided() -> (names: ColumnNames, moves: [Move]) {
        var naming = self
        return naming.decide()
    }

    private mutating func decide() -> (names: ColumnNames, moves: [Move]) {
        for column in present {
            if let former = column.former { give(former, to: column.name) }
        }
        // Without a sign, a name means the same column as before.
        let unsigned = present.map(\.name).filter { names[foldedName($0)] == nil }
        for name in unsigned where wereHere?.contains(foldedName(name)) ?? false {
            give(before.travelling(name), to: name)
        }
        for name in unsigned where names[foldedName(name)] == nil {
            if let known = before.travelling[foldedName(name)] { give(known, to: name) }
        }
        for name in unsigned where names[foldedName(name)] == nil {
            new.insert(foldedName(name))
            give(name, to: name)
        }
        let local = Set(present.map { foldedName($0.name) })
        for name in unsigned where names[foldedName(name)] == nil {
            give(TableNames.free(name) { taken.contains($0) || local.contains($0) }, to: name)
        }
        let moves = followOthers()
        return (result(), moves)
    }

    private mutating func give(_ travelling: String, to name: String) {
        guard taken.insert(foldedName(travelling)).inserted else { return }
        names[foldedName(name)] = travelling
    }

    // MARK: What other devices tell

    /// Gives columns the names that other devices gave them.
    private mutating func followOthers() -> [Move] {
        var followers: [String: String] = [:]
        for (name, travelling) in names {
            guard let told = before.told[name], !equalNames(told, travelling), mayFollow(name) else { continue }
            followers[name] = told
        }
        // A name that a column keeps is not free.
        while true {
            let kept = names.filter { followers[$0.key] == nil }.map { foldedName($0.value) }
            let occupied = reserved.union(kept)
            let possible = followers.filter { name, told in
                !occupied.contains(foldedName(told))
                    && !followers.contains { $0.key < name && equalNames($0.value, told) }
            }
            if possible.count == followers.count { break }
            followers = possible
        }
        var moves: [Move] = []
        for (name, told) in followers.sorted(by: { $0.key < $1.key }) {
            if let former = names[name], !new.contains(name) { moves.append(Move(from: former, to: told)) }
            new.remove(name)
            names[name] = told
        }
        return moves
    }

    /// True if nothing speaks against another device's name for a column. A device that has not migrated yet has a column
    /// of the same name that is another one.
    private func mayFollow(_ name: String) -> Bool {
        guard let travelling = names[name] else { return false }
        if present.contains(where: { equalNames($0.name, name) && $0.former != nil && !isGuessed($0.former) }),
            !equalNames(travelling, name)
        {
            return false
        }
        guard let start = start(of: name) else { return wereHere == nil }
        if wereHere == nil { return names[start] != nil }
        if isGuessed(travelling) || new.contains(name) { return true }
        guard equalNames(travelling, name) else { return false }
        return start == name || names[start].map { new.contains(start) || isGuessed($0) } ?? false
    }

    /// The column with which a chain of told names begins: `title` of `title → name, name → name (2)`; `nil` for columns that
    /// changed names in a circle.
    private func start(of name: String) -> String? {
        var start = name
        for _ in before.told {
            guard let earlier = before.told.first(where: { foldedName($0.value) == start })?.key else { return start }
            start = earlier
        }
        return before.told.contains { foldedName($0.value) == start } ? nil : start
    }

    private func isGuessed(_ travelling: String?) -> Bool {
        travelling.map { before.guessed.contains(foldedName($0)) } ?? false
    }

    // MARK: Result

    private func result() -> ColumnNames {
        var result = before
        let given = Set(names.values.map(foldedName))
        result.travelling = before.travelling.filter { names[$0.key] == nil && !given.contains(foldedName($0.value)) }
        for (name, travelling) in names where foldedName(travelling) != name { result.travelling[name] = travelling }
        let guesses = wereHere == nil ? [] : new.compactMap { names[$0] }.map(foldedName)
        result.guessed = before.guessed.intersection(given).union(guesses)
        for (name, travelling) in names where before.told[name].map({ equalNames($0, travelling) }) ?? false {
            result.guessed.remove(foldedName(travelling))
        }
        return result
    }
}

extension RecordedKeys {
    /// The names of a joining database's columns. A table with the columns of the container's schema has the same names. Any
    /// other table may be an older one, and follows the container where nothing speaks against that.
    package func columnNames(_ tracked: [TrackedTableRecord], _ schema: Schema) -> ColumnNameList {
        var names = ColumnNameList()
        for record in tracked where !record.renamedColumns.isEmpty {
            let entries = Dictionary(record.renamedColumns.map { (foldedName($0.localName), $0.name) }) { first, _ in
                first
            }
            guard let table = schema.table(record.name) else {
                names[record.name] = ColumnNames(told: entries)
                continue
            }
            let isSame = Set(table.columns.map { foldedName($0.name) }) == columns[foldedName(record.name)]
            names[record.name] =
                isSame
                ? ColumnNames(entries)
                : ColumnNaming(
                    table.columns.map { .init($0.name) }, wereHere: nil,
                    reserved: [], ColumnNames(told: entries)
                ).decided().names
        }
        return names
    }
}
