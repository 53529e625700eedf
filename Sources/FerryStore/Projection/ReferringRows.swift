import FerryCore
import FerryMerge
import FerrySchema

/// Finds the rows referring to an object's row, as of before the rules change any row.
struct ReferringRows {
    private let access: StoreAccess
    private let translator: ReferenceTranslator
    private let scan: ReferenceScan
    /// Former rows by object: rows still refer to these removed rows.
    private let formerRows: [RowToken: FormerRow]

    init(_ access: StoreAccess, formerRows: [RowToken: FormerRow]) {
        self.access = access
        self.formerRows = formerRows
        translator = ReferenceTranslator(access)
        scan = ReferenceScan(access)
    }

    /// Ends the lookups: rows may change from now on.
    func finish() throws { try scan.finish() }

    /// Records the rows that retain an object.
    func readHolders(_ object: RegionObject) throws {
        var holders: [RowToken] = []
        for incoming in object.table.incoming {
            let key = access.registry[incoming.table].foreignKeys[incoming.foreignKey]
            guard case .restrict = key.action else { continue }
            if case .unique = key.target { continue }
            for child in try children(object, incoming)
            where !(incoming.table == object.token.table && child == object.token.id) {
                holders.append(RowToken(table: incoming.table, id: child))
            }
        }
        object.holders = holders
    }

    /// The key by which rows refer to an object now. This is the key of the object's row or former row. Or the reserved
    /// key of an object a different row is about to show.
    func referredKey(of object: RegionObject) -> [FieldValue] {
        if object.hasRow { return object.state.key }
        let isReserved = object.isJoined || GivenKeys.isPlain(object.state.givenKey)
        return formerRows[object.token]?.key ?? (isReserved ? object.state.key : [])
    }

    /// The objects of the rows referring to an object's present row by a foreign key.
    func children(_ object: RegionObject, _ incoming: TrackedTable.IncomingKey) throws -> [ObjectID] {
        let child = access.registry[incoming.table]
        let key = child.foreignKeys[incoming.foreignKey]
        let parts: [FieldValue]
        switch key.target {
        case .mapped, .key: parts = key.parts(of: referredKey(of: object)) ?? []
        case .unique(let columns):
            // Uses the row's values if there is a row: the row may refer to an object without a row.
            let row = !object.hasRow ? nil : try access.reader(of: object.table.id).read(object.state.key)
            let former = object.values.overlaid(with: formerRows[object.token]?.values ?? [:])
            parts = try columns.map { column in
                if let row { return row[column] ?? .null }
                return try translator.local(former[column] ?? .null, object.table.columns[column]) ?? .null
            }
        }
        if parts.isEmpty { return [] }
        return try scan.keys(of: child, referringBy: key, to: parts).compactMap { try translator.object(child, $0) }
    }
}
