import FerryCore
import FerryMerge

/// Looks for rows that refer to values under a UNIQUE key which no row offers any more; who offered them before, nothing
/// tells. Values under a UNIQUE key that others refer to change seldom.
struct OrphanSearch {
    private let access: StoreAccess
    private var searched: Set<[Int]> = []

    init(_ access: StoreAccess) { self.access = access }

    /// The rows that refer to nothing by a foreign key through which an object may have left some behind; none where that
    /// one was searched before.
    mutating func search(_ object: TouchedObject, _ table: TrackedTable) throws -> [RowToken] {
        // What its row showed is known.
        if object.isDeleted { return [] }
        var found: [RowToken] = []
        for (incoming, offered) in ValueReferences(access).incomingKeys(of: table, by: object.columns) {
            // An insertion leaves nobody behind.
            guard object.columns.count < table.columns.count || table.columns.count == offered.count,
                searched.insert([incoming.table, incoming.foreignKey]).inserted
            else { continue }
            let child = access.registry[incoming.table]
            found += try orphans(child, child.foreignKeys[incoming.foreignKey], table, offered)
        }
        return found
    }

    private func orphans(
        _ child: TrackedTable, _ key: TrackedForeignKey, _ parent: TrackedTable, _ offered: [Int]
    ) throws -> [RowToken] {
        let names = key.columns.map { "child.\(quoted(child.columns[$0].name))" }
        let present = names.map { "\($0) IS NOT NULL" }.joined(separator: " AND ")
        let equal = zip(names, offered).map { "parent.\(quoted(parent.columns[$1].name)) = \($0)" }
        let rows = try access.connection.rows(
            """
            SELECT \(child.keyList) FROM \(quoted(child.name)) AS child WHERE \(present) AND NOT EXISTS (
            SELECT 1 FROM \(quoted(parent.name)) AS parent WHERE \(equal.joined(separator: " AND ")))
            """)
        let travelling = Travelling(access)
        return try rows.compactMap { row in
            try travelling.object(child, row).map { RowToken(table: child.id, id: $0) }
        }
    }
}
