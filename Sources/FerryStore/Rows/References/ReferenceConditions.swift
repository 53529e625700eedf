import FerryCore
import FerrySQL
import FerrySchema

/// The SQL conditions of references. No other file compares child columns with parent columns in SQL.
///
/// SQLite compares by the parent key's collation, whatever the child column's collation
/// (https://www.sqlite.org/foreignkeys.html). So every condition here names that collation where the compared column has
/// a different collation.
extension Registry {
    /// True if the parent column of a part of a foreign key converts texts to numbers.
    private func isNumeric(_ key: TrackedForeignKey, _ place: Int) -> Bool {
        affinity(of: key, place) != .text && affinity(of: key, place) != .blob
    }

    /// The affinity of the parent column of a part of a foreign key.
    func affinity(of key: TrackedForeignKey, _ place: Int) -> SchemaColumn.Affinity {
        let parent = self[key.parent]
        switch key.target {
        case .mapped: return parent.mappedKey.affinity
        case .key(let order):
            let part = order.firstIndex(of: place) ?? 0
            return part < parent.keyColumnIDs.count ? parent.columns[parent.keyColumnIDs[part]].affinity : .blob
        case .unique(let columns): return parent.columns[columns[place]].affinity
        }
    }

    /// The condition for a table's rows referring by a foreign key to the values `?1`, …, in the order of the key's
    /// columns. Comparisons use the parent key's collation, whatever the child column's collation.
    /// https://www.sqlite.org/foreignkeys.html
    /// - Parameter value: the SQL expression of a part's value, by its place; without affinity, as a parameter is.
    func condition(
        referringBy key: TrackedForeignKey, of table: TrackedTable, value: (Int) -> String = { "?\($0 + 1)" }
    ) -> String {
        let collations = collations(of: key)
        let terms = key.columns.enumerated().map { place, number in
            let column = table.columns[number]
            let part = value(place)
            // A column without affinity distinguishes numbers from texts; the parent column may not.
            let values = column.affinity == .blob ? [part, "CAST(\(part) AS TEXT)"] : []
            var name = quoted(column.name)
            if let collation = collations?[place], !equalNames(collation, column.collation) {
                name += " COLLATE \(quoted(collation))"
            }
            let isNumber = isNumeric(key, place)
            return isNumber && !values.isEmpty
                ? "\(name) IN (\(values.joined(separator: ", ")))" : "\(name) = \(part)"
        }
        return terms.joined(separator: " AND ")
    }

    /// The condition for a table's rows with the parent key `columns` equal to `?1`, …, in the order of `columns`.
    func condition(onParentKey columns: [Int], of parent: TrackedTable) -> String {
        columns.enumerated().map { place, column in
            "\(collated(column, of: parent, among: columns)) = ?\(place + 1)"
        }.joined(separator: " AND ")
    }

    /// The condition for the row that a foreign key with the values `?1`, …, in the order of the key's columns, refers to.
    func condition(onTargetOf key: TrackedForeignKey) -> String {
        let parent = self[key.parent]
        switch key.target {
        case .mapped: return parent.keyCondition(first: 1)
        case .unique(let columns): return condition(onParentKey: columns, of: parent)
        case .key(let order):
            // `order[i]` is the position in the foreign key of the parent's i-th key column.
            let columns = order.indices.map { parent.keyColumnIDs[order.firstIndex(of: $0) ?? 0] }
            return condition(onParentKey: columns, of: parent)
        }
    }

    /// The condition for a row `parent` that a row `child` refers to.
    /// - Parameters:
    ///   - columns: the parent columns of the key, in the order of the key's columns.
    func condition(
        joining key: TrackedForeignKey, of child: TrackedTable, to columns: [Int], of parent: TrackedTable
    ) -> String {
        zip(key.columns, columns).map { column, target in
            // The left operand's collation decides: https://www.sqlite.org/datatype3.html#collation
            "\(collated(target, of: parent, among: columns, as: "parent")) = child.\(quoted(child.columns[column].name))"
        }.joined(separator: " AND ")
    }

    /// A parent column, compared by the collation of the parent key.
    private func collated(
        _ column: Int, of parent: TrackedTable, among columns: [Int], as name: String? = nil
    ) -> String {
        let text = (name.map { $0 + "." } ?? "") + quoted(parent.columns[column].name)
        let collation = parent.offerCollation(column, among: columns)
        return equalNames(collation, parent.columns[column].collation) ? text : "\(text) COLLATE \(quoted(collation))"
    }
}
