import FerryCore
import FerryMerge
import FerrySchema

/// Finds the references by value to an object's row whose own value differs from the row's value.
///
/// A reference by value leads to the row its target was unified with, and shows that row's value (Docs/Rules.md,
/// "Unified rows"). The reference's own value is shown by no row. So if the target gets a new value, only the row leads
/// back to the reference.
struct ValueReferences {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// A reference with a shown value different from its own value.
    struct Reference {
        var child: RowToken
        /// The position among the foreign keys of the child's table.
        var foreignKey: Int
    }

    /// The references to the row showing an object, by values different from their own values.
    /// - Parameters:
    ///   - columns: columns of the object's table. Foreign keys to none of these columns are left out.
    ///   - includingKeys: true to include references to a primary key made of values.
    func references(
        to object: RowToken, by columns: [Int], includingKeys: Bool = false
    ) throws -> [Reference] {
        let table = access.registry[object.table]
        let incoming = incomingKeys(of: table, by: columns, includingKeys: includingKeys)
        guard !incoming.isEmpty, let row = try ReferenceTranslator(access).localRow(showing: object) else { return [] }
        return try incoming.flatMap { place, offered in
            try references(place, showing: offered.map { row[$0] ?? .null })
        }
    }

    /// The foreign keys referring by value to any of these columns, with the parent columns of each.
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
        let objects = try ReferenceTranslator(access).objects(of: child, referringBy: key, to: values)
        return try objects.compactMap { object in
            guard try access.objects(of: child.id).load(object).kept.fields.hasAny(of: key.columns)
            else { return nil }
            return Reference(child: RowToken(table: child.id, id: object), foreignKey: place.foreignKey)
        }
    }
}
