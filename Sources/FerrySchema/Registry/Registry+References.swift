import FerryCore

/// Finds the columns holding device-specific keys of mapped tables, and whether foreign keys ensure a parent row.
extension Registry {
    /// The collations of a foreign key's parent columns, in the order of the key's columns; `nil` for a mapped key.
    package func collations(of key: TrackedForeignKey) -> [String]? {
        let parent = self[key.parent]
        switch key.target {
        case .mapped: return nil
        case .key(let order):
            var referred = Array(repeating: "", count: key.columns.count)
            for (column, position) in zip(parent.keyColumnIDs, order) {
                referred[position] = parent.offerCollation(column, among: parent.keyColumnIDs)
            }
            return referred
        case .unique(let columns): return columns.map { parent.offerCollation($0, among: columns) }
        }
    }

    /// Resolves references: a column refers to a mapped table directly, or through a referring parent column. Works in
    /// rounds, because foreign keys may form cycles: each round reaches a step further.
    package func resolveReferences() {
        let numbers = tables.keys.sorted()
        var inherited: Set<TrackedTable.ColumnPlace> = []
        for number in numbers {
            for key in self[number].foreignKeys {
                guard case .mapped = key.target else { continue }
                self[number].columns[key.columns[0]].reference = key.parent
                self[number].columns[key.columns[0]].isUnchecked = key.action == .none
            }
        }
        var isSettled = false
        while !isSettled {
            isSettled = true
            for number in numbers {
                for key in self[number].foreignKeys + self[number].plainKeys where inherit(number, key, &inherited) {
                    isSettled = false
                }
            }
        }
        check(inherited)
        for number in numbers {
            for place in self[number].columns.indices {
                guard let parent = self[number].columns[place].reference else { continue }
                self[number].columns[place].keyAffinity = self[parent].mappedKey.affinity
            }
        }
    }

    /// - Parameter inherited: receives the columns with a newly found reference.
    /// - Returns: true if any was found.
    private func inherit(
        _ number: Int, _ key: TrackedForeignKey, _ inherited: inout Set<TrackedTable.ColumnPlace>
    ) -> Bool {
        var hasChanged = false
        for (column, parentColumn) in pairs(of: key) where self[number].columns[column].reference == nil {
            guard let reference = self[key.parent].columns[parentColumn].reference else { continue }
            self[number].columns[column].reference = reference
            inherited.insert(.init(table: number, column: column))
            hasChanged = true
        }
        return hasChanged
    }

    /// The child columns of a foreign key by value, with their parent columns.
    private func pairs(of key: TrackedForeignKey) -> [(column: Int, parent: Int)] {
        switch key.target {
        case .mapped: []
        case .key(let order): zip(self[key.parent].keyColumnIDs, order).map { (key.columns[$1], $0) }
        case .unique(let columns): zip(key.columns, columns).map { ($0, $1) }
        }
    }

    /// Finds the inherited references without an ensured parent row: the parent's column is unchecked, or the foreign
    /// key may be NULL in part. SQLite ignores a partly NULL key (MATCH SIMPLE), so the column may hold any integer.
    /// https://www.sqlite.org/foreignkeys.html
    private func check(_ inherited: Set<TrackedTable.ColumnPlace>) {
        for place in inherited { self[place.table].columns[place.column].isUnchecked = true }
        var isSettled = false
        while !isSettled {
            isSettled = true
            for place in inherited where isUnchecked(place) && hasKey(place, where: { !$0.isUnchecked }) {
                self[place.table].columns[place.column].isUnchecked = false
                isSettled = false
            }
        }
        for place in inherited.sorted() where isUnchecked(place) && !hasKey(place, where: { _ in true }) {
            addReference(place)
        }
    }

    /// Adds a direct reference for a column without any foreign key, like a reference named by the selection.
    private func addReference(_ place: TrackedTable.ColumnPlace) {
        let table = self[place.table]
        guard let parent = table.columns[place.column].reference else { return }
        self[parent].incoming.append(.init(table: place.table, foreignKey: table.foreignKeys.count))
        table.foreignKeys.append(
            TrackedForeignKey(columns: [place.column], parent: parent, target: .mapped, action: .none))
    }

    private func isUnchecked(_ place: TrackedTable.ColumnPlace) -> Bool {
        self[place.table].columns[place.column].isUnchecked
    }

    /// True if a foreign key ensures the parent row whenever the column is not NULL.
    /// - Parameter isWanted: a condition on the parent's column.
    private func hasKey(
        _ place: TrackedTable.ColumnPlace, where isWanted: (TrackedColumn) -> Bool
    ) -> Bool {
        let table = self[place.table]
        return table.foreignKeys.contains { key in
            guard let parent = pairs(of: key).first(where: { $0.column == place.column })?.parent else { return false }
            let origin = self[key.parent].columns[parent]
            return origin.reference == table.columns[place.column].reference && isWanted(origin)
                && key.columns.allSatisfy { $0 == place.column || !table.columns[$0].mayBeNull }
        }
    }

    /// Records at each mapped table the columns referring to the table.
    package func recordReferringColumns() {
        for number in tables.keys.sorted() where self[number].isLocal {
            for column in self[number].localColumns {
                guard let parent = column.reference.flatMap({ tables[$0] }) else { continue }
                let place = TrackedTable.ColumnPlace(table: number, column: column.id)
                parent.referringColumns.append(place)
                let isDirect = self[number].foreignKeys.contains {
                    $0.parent == parent.id && $0.columns.contains(column.id)
                }
                if !isDirect { parent.inheritingColumns.append(place) }
                if column.isUnchecked { parent.hasUncheckedReferences = true }
                if column.isUnchecked, parent.isIntegerKey, self[number].mayClaim(column.id) {
                    self[number].plainClaimColumns.append(column.id)
                }
            }
        }
    }
}

extension TrackedTable {
    /// True if a column is in the key, or may be under a UNIQUE index.
    package func mayClaim(_ column: Int) -> Bool {
        keyColumnIDs.contains(column)
            || uniqueIndexes.contains { $0.needsEvaluation || $0.terms.contains { $0.column == column } }
    }
}
