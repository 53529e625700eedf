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
            return RowToken(table: key.parent, id: parent.derivedID(order.map { parts[$0] }))
        case .unique(let columns):
            return offer(parent, columns, parts)
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
            collations: order.map { table.columns[columns[$0]].collation })
        return token.map { RowToken(table: table.id, id: $0) }
    }
}
