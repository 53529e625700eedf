import FerryCore
import FerryMerge
import FerrySchema

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
