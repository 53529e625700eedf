import FerryCore
import FerryMerge

/// What an object's values mean to the rules: tokens that it refers to and offers. Pure.
struct References {
    let registry: Registry

    /// The tokens of an object's foreign keys: the foreign key's place, and what it refers to.
    func targets(
        of table: TrackedTable, _ values: FieldValues
    ) -> [(foreignKey: Int, token: RowToken)] {
        table.foreignKeys.enumerated().compactMap { place, key in
            target(key, values).map { (place, $0) }
        }
    }

    /// What a foreign key refers to; `nil` where one of its values is NULL (MATCH SIMPLE, as SQLite does).
    func target(_ key: TrackedForeignKey, _ values: FieldValues) -> RowToken? {
        var parts: [FieldValue] = []
        for column in key.columns {
            guard let value = values[column], value != .null else { return nil }
            parts.append(value)
        }
        let parent = registry[key.parent]
        switch key.target {
        case .mapped:
            if case .reference(let object) = parts[0] { return RowToken(table: key.parent, id: object) }
            // A plain value where a reference belongs refers to nothing that can be shown.
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

    /// The tuples that an object offers to foreign keys that refer to other columns than the key.
    func offers(of table: TrackedTable, _ values: FieldValues) -> [RowToken] {
        var tokens: [RowToken] = []
        for columns in table.offeredKeys {
            guard let token = offer(table, columns, columns.map { values[$0] ?? .null }), !tokens.contains(token)
            else { continue }
            tokens.append(token)
        }
        return tokens
    }

    /// The token of a tuple of values under columns that a foreign key refers to; `nil` where one is NULL.
    func offer(_ table: TrackedTable, _ columns: [Int], _ parts: [FieldValue]) -> RowToken? {
        // In the order of column numbers, so that foreign keys that list them in another order mean the same.
        let order = columns.indices.sorted { columns[$0] < columns[$1] }
        let token = table.uniqueToken(
            order.map { parts[$0] }, names: order.map { "#\(columns[$0])" },
            collations: order.map { table.offerCollation(columns[$0], among: columns) })
        return token.map { RowToken(table: table.id, id: $0) }
    }
}

extension Registry {
    /// The collations of what a foreign key refers to, in the order of its columns; `nil` where that is a mapped key.
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

    /// Whether the column that a part of a foreign key refers to takes texts for numbers.
    private func isNumeric(_ key: TrackedForeignKey, _ place: Int) -> Bool {
        affinity(of: key, place) != .text && affinity(of: key, place) != .blob
    }

    /// The affinity of the column that a part of a foreign key refers to.
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

    /// The condition by which a table's rows refer by a foreign key to what has the values `?1`, …, in the order of its
    /// columns. They are compared as what is referred to would be, whatever the collation of the column that refers.
    /// https://www.sqlite.org/foreignkeys.html
    func condition(referringBy key: TrackedForeignKey, of table: TrackedTable) -> String {
        let collations = collations(of: key)
        let terms = key.columns.enumerated().map { place, number in
            let column = table.columns[number]
            // Without an affinity a column keeps numbers and texts apart, and what is referred to may not.
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
