import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Translates between portable values and local values.
struct ReferenceTranslator {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Converts local values to portable values: references replace mapped keys.
    func values(_ row: ColumnValues, _ table: TrackedTable) throws -> ColumnValues {
        var values = row
        for column in table.columns where column.reference != nil {
            if let value = values[column.id] { values[column.id] = try self.value(value, column) }
        }
        return values
    }

    func value(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue {
        guard let parent = column.reference, value != .null,
            let object = try access.objects(of: parent).object(forKey: column.key(value))
        else { return value }
        return .reference(object)
    }

    /// The portable values of the row showing an object; empty if no row shows the object.
    func row(showing object: RowToken) throws -> ColumnValues {
        try localRow(showing: object).map { try values($0, access.registry[object.table]) } ?? [:]
    }

    /// The local values of the row showing an object; `nil` if no row shows the object.
    func localRow(showing object: RowToken) throws -> ColumnValues? {
        let table = access.registry[object.table]
        let representative = try access.unified.representative(of: object.id, table.id) ?? object.id
        let state = try access.objects(of: table.id).load(representative)
        guard table.isLocal, state.shown.hasRow else { return nil }
        return try access.reader(of: table.id).read(state.key)
    }

    /// A row's portable key, in key order.
    func key(_ key: [FieldValue], _ table: TrackedTable) throws -> [FieldValue] {
        try zip(key, table.keyColumnIDs).map { try value($0, table.columns[$1]) }
    }

    /// The object shown by the row with a key. `nil` if no object has the mapped key, or if the key contains NULL: such
    /// a row is local.
    func object(_ table: TrackedTable, _ key: [FieldValue]) throws -> ObjectID? {
        if key.contains(.null) { return nil }
        if table.isMapped { return try access.objects(of: table.id).object(forKey: key[0]) }
        return try object(table, knownBy: self.key(key, table))
    }

    /// The object shown by the row with a key, in a table without mapped keys.
    /// - Parameter values: the portable key.
    func object(_ table: TrackedTable, knownBy values: [FieldValue]) throws -> ObjectID {
        let object = table.derivedID(values)
        // A row may show a key its object does not have.
        return try access.unified.representative(of: object, table.id) ?? object
    }

    /// The objects of a table's rows referring to given values by a foreign key.
    /// - Parameter parts: the values of the foreign key's columns.
    func objects(
        of table: TrackedTable, referringBy key: TrackedForeignKey, to parts: [FieldValue]
    ) throws -> [ObjectID] {
        let condition = access.registry.condition(referringBy: key, of: table)
        let rows = try access.connection.rows(
            "SELECT \(table.keyList) FROM \(table.quotedName) WHERE \(condition)", values: parts)
        return try rows.compactMap { try object(table, $0) }
    }

    /// The local value of a portable value. `nil` for a reference to an object without a row here, if a foreign key
    /// requires a row.
    func local(_ value: FieldValue, _ column: TrackedColumn) throws -> FieldValue? {
        guard case .reference(let object) = value else { return value }
        guard let parent = column.reference else { return nil }
        let place = try access.objects(of: parent).place(of: object)
        if let place, place.shown.hasRow { return column.kept(place.key) }
        // A different row shows the target: the rules know the row.
        if place?.shown == .joined { return nil }
        if !column.isUnchecked { return nil }
        return column.kept(try KeyReservations(access).key(of: object, in: access.registry[parent]))
    }
}
