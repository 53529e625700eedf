import FerryCore
import FerryMerge

/// The meaning of an object's values for the rules: tokens of its targets and its parent keys. Pure.
struct ReferenceTokens {
    let registry: Registry

    /// The targets of an object's foreign keys: the foreign key's position, and the target's token.
    func targets(
        of table: TrackedTable, _ values: ColumnValues
    ) -> [(foreignKey: Int, token: RowToken)] {
        table.foreignKeys.enumerated().compactMap { place, key in
            target(key, values).map { (place, $0) }
        }
    }

    /// The target of a foreign key; `nil` if any value is NULL (MATCH SIMPLE, as in SQLite).
    func target(_ key: TrackedForeignKey, _ values: ColumnValues) -> RowToken? {
        var parts: [FieldValue] = []
        for column in key.columns {
            guard let value = values[column], value != .null else { return nil }
            parts.append(value)
        }
        let parent = registry[key.parent]
        switch key.target {
        case .mapped:
            if case .reference(let object) = parts[0] { return RowToken(table: key.parent, id: object) }
            // A plain value in place of a reference has a target that is never shown.
            var nowhere = CanonicalKey(table: parent.name, index: ["?"])
            nowhere.append(parts[0], collation: "BINARY")
            return RowToken(table: key.parent, id: nowhere.id)
        case .key(let order):
            let values = zip(order, parent.keyColumnIDs).map { parts[$0].taken(by: parent.columns[$1].affinity) }
            return RowToken(table: key.parent, id: parent.derivedID(values))
        case .unique(let columns):
            return offer(parent, columns, zip(parts, columns).map { $0.taken(by: parent.columns[$1].affinity) })
        }
    }

    /// The tokens of an object's parent keys outside the primary key.
    func parentKeys(of table: TrackedTable, _ values: ColumnValues) -> [RowToken] {
        var tokens: [RowToken] = []
        for columns in table.offeredKeys {
            guard let token = offer(table, columns, columns.map { values[$0] ?? .null }), !tokens.contains(token)
            else { continue }
            tokens.append(token)
        }
        return tokens
    }

    /// The token of a parent key; `nil` if a value is NULL.
    func offer(_ table: TrackedTable, _ columns: [Int], _ parts: [FieldValue]) -> RowToken? {
        // Sorted by column number, so foreign keys listing the columns in different orders have equal tokens.
        let order = columns.indices.sorted { columns[$0] < columns[$1] }
        let token = table.uniqueToken(
            order.map { parts[$0] }, names: order.map { "#\(columns[$0])" },
            collations: order.map { table.offerCollation(columns[$0], among: columns) })
        return token.map { RowToken(table: table.id, id: $0) }
    }
}

extension Registry {
    /// The collations of a foreign key's parent columns, in the order of the key's columns; `nil` for a mapped key.
    func collations(of key: TrackedForeignKey) -> [String]? {
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
    func condition(referringBy key: TrackedForeignKey, of table: TrackedTable) -> String {
        let collations = collations(of: key)
        let terms = key.columns.enumerated().map { place, number in
            let column = table.columns[number]
            // A column without affinity distinguishes numbers from texts; the parent column may not.
            let values = column.affinity == .blob ? ["?\(place + 1)", "CAST(?\(place + 1) AS TEXT)"] : []
            var name = quoted(column.name)
            if let collation = collations?[place], collation != column.collation {
                name += " COLLATE \(quoted(collation))"
            }
            let isNumber = isNumeric(key, place)
            return isNumber && !values.isEmpty
                ? "\(name) IN (\(values.joined(separator: ", ")))" : "\(name) = ?\(place + 1)"
        }
        return terms.joined(separator: " AND ")
    }
}
