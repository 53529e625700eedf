/// Which columns hold keys of tables whose keys differ from device to device, and whether foreign keys see to it that there is
/// such a row.
extension Registry {
    /// A column refers to a mapped table directly, or through a parent's column that does. In rounds, because foreign keys
    /// may lead in circles: each round reaches one step further.
    func resolveReferences() {
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

    /// - Parameter inherited: is given the columns that refer to a table now and did not before.
    /// - Returns: whether there are any.
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

    /// The columns of a foreign key by value, and the parent's columns that they refer to.
    private func pairs(of key: TrackedForeignKey) -> [(column: Int, parent: Int)] {
        switch key.target {
        case .mapped: []
        case .key(let order): zip(self[key.parent].keyColumnIDs, order).map { (key.columns[$1], $0) }
        case .unique(let columns): zip(key.columns, columns).map { ($0, $1) }
        }
    }

    /// Finds out for which of the columns that refer to a table through another one's nobody asks whether the row is there.
    /// That is so where the other one's column is unchecked, and where the foreign key may be NULL in part: SQLite passes over
    /// it then (MATCH SIMPLE), and the column may hold any integer. https://www.sqlite.org/foreignkeys.html
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

    /// Where no foreign key leads, the column refers by itself to its row, as one does that the selection names.
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

    /// Whether a foreign key leads from a column to the row that it refers to whenever the column is not NULL.
    /// - Parameter isWanted: of the parent's column.
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

    /// Notes at each mapped table who refers to it.
    func noteReferringColumns() {
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
    /// Whether a column is of the key, or may be under a UNIQUE index.
    func mayClaim(_ column: Int) -> Bool {
        keyColumnIDs.contains(column)
            || uniqueIndexes.contains { $0.needsEvaluation || $0.terms.contains { $0.column == column } }
    }
}
