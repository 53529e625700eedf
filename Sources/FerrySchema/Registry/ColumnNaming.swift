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
    /// The names of all columns, in lower case.
    private let order: [String]
    /// The travelling name by the folded name in the database.
    private var names: [String: String] = [:]
    private var taken: Set<String>
    /// The columns that no sign and no earlier name decided.
    private var new: Set<String> = []

    /// - Parameters:
    ///   - wereHere: the names in the database, in lower case, of the columns at the last look; `nil` for a table that is
    ///     new here.
    ///   - reserved: names that no column may travel under, in lower case.
    ///   - order: the names of all columns in their order, in lower case.
    ///   - before: the names until now.
    package init(
        _ present: [Present], wereHere: Set<String>?, reserved: Set<String> = [], order: [String], _ before: ColumnNames
    ) {
        self.present = present
        self.order = order
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
        var followed = namesOfSameSchema()
        if followed.isEmpty {
            for told in before.told {
                followed = namesByBeginnings(told)
                if !followed.isEmpty { break }
            }
        }
        var moves: [Move] = []
        for (name, told) in followed.sorted(by: { $0.key < $1.key }) {
            // In a table made anew, the migration has put the values into their columns.
            let isSigned = present.contains { equalNames($0.name, name) && $0.former != nil }
            if let former = names[name], isSigned { moves.append(Move(from: former, to: told)) }
            new.remove(name)
            names[name] = told
        }
        return moves
    }

    /// The names of a device whose table has the same columns at the same places, where they differ: both have run the same
    /// migrations, and one of them saw more of the steps.
    private func namesOfSameSchema() -> [String: String] {
        guard let told = before.told.first(where: { $0.columns == order && !order.isEmpty }) else { return [:] }
        var followed: [String: String] = [:]
        for (name, travelling) in names {
            let other = told.travelling[name] ?? foldedText(name)
            if equalNames(other, travelling) { continue }
            if !isFree(name) { return [:] }
            followed[name] = other
        }
        let mine = names.filter { foldedName($0.value) != $0.key }
        let theirs = ColumnNames.Told(columns: order, travelling: told.travelling.filter { names[$0.key] != nil })
        guard followed.keys.allSatisfy(new.contains) || theirs.isPreferred(to: mine) else { return [:] }
        return areDistinct(names.merging(followed) { $1 }) ? followed : [:]
    }

    /// The names of a device whose table has other columns. A new column of this database may be a renamed one there. A device
    /// that has not migrated yet has a column of the same name that is another one, or the former column.
    private func namesByBeginnings(_ told: ColumnNames.Told) -> [String: String] {
        var followed: [String: String] = [:]
        for (name, other) in told.travelling {
            guard let travelling = names[name], !equalNames(other, travelling) else { continue }
            let start = Self.start(of: name, told.travelling)
            // In a table that is new here, a whole chain may be there.
            let mayFollow =
                wereHere == nil
                ? start.map { names[$0] != nil } ?? false : start == name && equalNames(travelling, name)
            if mayFollow { followed[name] = other }
        }
        // A name that a column keeps is not free.
        while !areDistinct(names.merging(followed) { $1 }), !followed.isEmpty {
            let kept = names.filter { followed[$0.key] == nil }.map { foldedName($0.value) }
            let possible = followed.filter { !reserved.union(kept).contains(foldedName($0.value)) }
            if possible.count == followed.count { return [:] }
            followed = possible
        }
        return followed
    }

    /// True if nothing but names decided what a column is.
    private func isFree(_ name: String) -> Bool {
        wereHere == nil || isRemade || new.contains(name) || isGuessed(names[name])
    }

    /// True for a table made anew with other columns: a name may mean another column.
    private var isRemade: Bool {
        guard let wereHere, !wereHere.isEmpty else { return false }
        return present.allSatisfy { $0.former == nil } && wereHere != Set(present.map { foldedName($0.name) })
    }

    private func areDistinct(_ names: [String: String]) -> Bool {
        let travelling = names.values.map(foldedName)
        return Set(travelling).count == travelling.count && reserved.isDisjoint(with: travelling)
    }

    /// The column with which a chain of told names begins: `title` of `title → name, name → name (2)`; `nil` for columns that
    /// changed names in a circle.
    private static func start(of name: String, _ told: [String: String]) -> String? {
        var start = name
        for _ in told {
            guard let earlier = told.first(where: { foldedName($0.value) == start })?.key else { return start }
            start = earlier
        }
        return told.contains { foldedName($0.value) == start } ? nil : start
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
        let free = isRemade ? Set(names.keys) : new
        let guesses = wereHere == nil ? [] : free.compactMap { names[$0] }.map(foldedName)
        result.guessed = before.guessed.intersection(given).union(guesses)
        return result
    }
}

extension RecordedKeys {
    /// The names of a joining database's columns. A table with the columns of the container's schema has the same names. Any
    /// other table may be an older one, and follows the container where nothing speaks against that.
    package func columnNames(_ tracked: [TrackedTableRecord], _ schema: Schema) -> ColumnNameList {
        var names = ColumnNameList()
        for record in tracked where !record.renamedColumns.isEmpty {
            let told = ColumnNames.Told(
                columns: columns[foldedName(record.name)] ?? [],
                travelling: ColumnNames.entries(record.renamedColumns))
            guard let table = schema.table(record.name) else {
                names[record.name] = ColumnNames(told: [told])
                continue
            }
            let order = table.columns.map { foldedName($0.name) }
            // A column that is gone may come back under its name.
            var known = ColumnNames(told.travelling, told: [told])
            if order != told.columns {
                known =
                    ColumnNaming(
                        table.columns.map { .init($0.name) }, wereHere: nil, order: order, ColumnNames(told: [told])
                    ).decided().names
            }
            // The other device may have guessed.
            known.guessed = Set(known.travelling.values.map(foldedName))
            names[record.name] = known
        }
        return names
    }
}
