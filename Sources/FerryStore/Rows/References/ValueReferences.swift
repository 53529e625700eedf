import FerryCore
import FerryMerge

/// Finds who refers by value to the row of an object and means it by another value.
///
/// A reference by value leads to the row that its target became one with, and shows what that row shows (Docs/Rules.md,
/// "Unified rows"). Its own value is one that no row shows, so when the object that has it gets another one, nothing but
/// the row leads back to it.
struct ValueReferences {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// A reference whose row shows another value than its own.
    struct Reference {
        var child: RowToken
        /// The place among the foreign keys of the child's table.
        var foreignKey: Int
    }

    /// The references to the row that shows an object, by values which are not their own.
    /// - Parameters:
    ///   - columns: of the object's table: foreign keys to none of these are left out.
    ///   - includingKeys: whether references to a key that is made of values count too.
    func references(
        to object: RowToken, by columns: [Int], includingKeys: Bool = false
    ) throws -> [Reference] {
        let table = access.registry[object.table]
        let incoming = incomingKeys(of: table, by: columns, includingKeys: includingKeys)
        guard !incoming.isEmpty, let row = try Travelling(access).localRow(showing: object) else { return [] }
        return try incoming.flatMap { place, offered in
            try references(place, showing: offered.map { row[$0] ?? .null })
        }
    }

    /// The foreign keys that refer by value to any of some columns, and the columns that each refers to.
    func incomingKeys(
        of table: TrackedTable, by columns: [Int], includingKeys: Bool = false
    ) -> [(TrackedTable.IncomingKey, offered: [Int])] {
        table.incoming.compactMap { incoming in
            let offered: [Int]
            switch access.registry[incoming.table].foreignKeys[incoming.foreignKey].target {
            case .unique(let columns): offered = columns
            case .key(let order) where includingKeys:
                // `order[i]` is the position in the foreign key of the parent's i-th key column.
                offered = order.indices.map { table.keyColumnIDs[order.firstIndex(of: $0) ?? 0] }
            case .key, .mapped: return nil
            }
            return columns.contains(where: offered.contains) ? (incoming, offered) : nil
        }
    }

    private func references(_ place: TrackedTable.IncomingKey, showing values: [FieldValue]) throws -> [Reference] {
        let child = access.registry[place.table]
        let key = child.foreignKeys[place.foreignKey]
        let condition = zip(key.columns, 1...).map { "\(quoted(child.columns[$0].name)) = ?\($1)" }
        let rows = try access.connection.rows(
            "SELECT \(child.keyList) FROM \(quoted(child.name)) WHERE \(condition.joined(separator: " AND "))",
            values: values)
        let travelling = Travelling(access)
        return try rows.compactMap { row in
            guard let object = try travelling.object(child, row),
                try access.objects(of: child.id).load(object).kept.fields.hasAny(of: key.columns)
            else { return nil }
            return Reference(child: RowToken(table: child.id, id: object), foreignKey: place.foreignKey)
        }
    }
}
