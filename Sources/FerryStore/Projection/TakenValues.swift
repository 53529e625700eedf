import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Asks SQLite for the rows in the way of a refused row.
struct TakenValues {
    let access: StoreAccess
    let region: DependencyRegion
    private let uniqueClaims: UniqueClaims

    init(_ access: StoreAccess, _ region: DependencyRegion) {
        self.access = access
        self.region = region
        uniqueClaims = UniqueClaims(access)
    }

    /// The rows in the way of a refused row.
    struct Found {
        var values: [LearnedClaims.TakenValue] = []
        /// For a row without an object: a row with a NULL in its key.
        var keylessRow: RefusalCause?
    }

    /// The rows holding a value the refused row would need under any UNIQUE index.
    /// - Parameter row: the refused row's local values by column.
    func find(_ object: RegionObject, _ row: [(column: Int, value: FieldValue)]) throws -> Found {
        let table = object.table
        var local: ColumnValues = [:]
        for (column, value) in row { local[column] = value }
        for column in table.localColumns where local[column.id] == nil {
            if let value = try access.defaultValue(of: column) { local[column.id] = value }
        }
        let key = object.state.key.first
        let owner = UniqueClaims.Owner(object.token.id, key: table.isMapped ? key : nil)
        let claims = try uniqueClaims.claims(table, region.displayedRow(of: object).values, of: object.owner)
        var found = Found()
        for (place, index) in table.uniqueIndexes.enumerated() {
            for holder in try uniqueClaims.holders(table, place, showing: local, of: owner) {
                if holder.contains(.null) { found.keylessRow = .keylessRow(AnomalyCauses.names(of: index, table)) }
                guard let token = try token(of: holder, table), token != object.token else { continue }
                found.values.append(
                    .init(
                        refused: object.token, holder: token,
                        claims: (
                            claims.first { $0.index == place },
                            try self.claims(of: token, holder, table).first { $0.index == place }
                        ), index: place, hidesLosers: index.hidesLosers))
            }
        }
        if !table.isMapped, let holder = try holderOfKey(object, table) { found.values.append(holder) }
        return found
    }

    /// The object holding the key an object of a mapped table must get.
    func findHolder(of key: FieldValue, for object: RegionObject) throws -> LearnedClaims.TakenValue? {
        guard let holder = try access.objects(of: object.table.id).object(forKey: key), holder != object.token.id
        else { return nil }
        return .init(
            refused: object.token, holder: RowToken(table: object.table.id, id: holder), claims: (nil, nil), index: nil,
            hidesLosers: false)
    }

    /// Two IDs may have equal keys if a device with a different schema made either object.
    private func holderOfKey(_ object: RegionObject, _ table: TrackedTable) throws -> LearnedClaims.TakenValue? {
        guard object.state.key.count == table.keyColumns.count,
            let row = try access.connection.rows(
                "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(table.keyCondition(first: 1))",
                values: object.state.key
            ).first, let token = try token(of: row, table), token != object.token
        else { return nil }
        return .init(refused: object.token, holder: token, claims: (nil, nil), index: nil, hidesLosers: false)
    }

    private func token(of key: [FieldValue], _ table: TrackedTable) throws -> RowToken? {
        guard let object = try ReferenceTranslator(access).object(table, key),
            try access.objects(of: table.id).load(object).isStored
        else { return nil }
        return RowToken(table: table.id, id: object)
    }

    private func claims(of holder: RowToken, _ key: [FieldValue], _ table: TrackedTable) throws -> [RuleClaim] {
        guard let row = try access.reader(of: table.id).read(key) else { return [] }
        return try uniqueClaims.claims(
            table, ReferenceTranslator(access).values(row, table),
            of: .init(holder.id, key: table.isMapped ? key.first : nil))
    }
}
