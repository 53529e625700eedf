import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Finds rows referring to a UNIQUE parent key no row has any more, if the former owner is unknown. Such parent keys
/// seldom change.
struct OrphanSearch {
    private let access: StoreAccess
    private var searched: Set<[Int]> = []

    init(_ access: StoreAccess) { self.access = access }

    /// The objects without a parent row, for each foreign key an object may have left orphans by. Each foreign key is
    /// searched once.
    mutating func search(_ object: TouchedObject, _ table: TrackedTable) throws -> [RowToken] {
        // The values of a deleted row are known unless the row was written before. An insertion leaves no orphans.
        let columns = object.isDeleted ? object.deletion?.rewritten ?? [] : object.columns
        if object.isInsertion || columns.isEmpty { return [] }
        var found: [RowToken] = []
        for (incoming, offered) in ValueReferences(access).incomingKeys(of: table, by: columns)
        where searched.insert([incoming.table, incoming.foreignKey]).inserted {
            let child = access.registry[incoming.table]
            let key = child.foreignKeys[incoming.foreignKey]
            found += try orphans(child, key, table, offered)
            found += try unifiedOrphans(child, key, table, offered)
        }
        return found
    }

    /// Members of unified rows without a parent row for a value of their own: their row may show a different value.
    /// Objects with further anomalies are seeds anyway.
    private func unifiedOrphans(
        _ child: TrackedTable, _ key: TrackedForeignKey, _ parent: TrackedTable, _ offered: [Int]
    ) throws -> [RowToken] {
        let translator = ReferenceTranslator(access)
        let condition = access.registry.condition(onParentKey: offered, of: parent)
        let statement = "SELECT 1 FROM \(parent.quotedName) WHERE \(condition) LIMIT 1"
        return try access.anomalies.objects(in: child.id, of: AnomalyKind.ofClasses).compactMap { token in
            let kept = try access.objects(of: child.id).load(token.id).kept.fields
            guard kept.hasAny(of: key.columns) else { return nil }
            let own = try translator.row(showing: token).overlaid(with: kept)
            if key.columns.contains(where: { own[$0] ?? .null == .null }) { return nil }
            let values = try zip(key.columns, offered).compactMap { column, target in
                try translator.local(own[column] ?? .null, parent.columns[target])
            }
            // The target is unified with a different row and has no local value here.
            if values.count < offered.count { return token }
            return try access.connection.rows(statement, values: values).isEmpty ? token : nil
        }
    }

    private func orphans(
        _ child: TrackedTable, _ key: TrackedForeignKey, _ parent: TrackedTable, _ offered: [Int]
    ) throws -> [RowToken] {
        let names = key.columns.map { "child.\(quoted(child.columns[$0].name))" }
        let present = names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let equal = access.registry.condition(joining: key, of: child, to: offered, of: parent)
        let rows = try access.connection.rows(
            """
            SELECT \(child.keyList) FROM \(child.quotedName) AS child WHERE \(present) AND NOT EXISTS (
            SELECT 1 FROM \(parent.quotedName) AS parent WHERE \(equal))
            """)
        let translator = ReferenceTranslator(access)
        return try rows.compactMap { row in
            try translator.object(child, row).map { RowToken(table: child.id, id: $0) }
        }
    }
}
