import FerryCore

/// Translates between rows and object IDs. An ID means the same row on every device, even after a key change.
extension Store {
    /// The object IDs of rows, by their keys on this device.
    /// - Parameters:
    ///   - keys: each key has a value for each key column, in the table's order.
    ///   - table: a travelling table.
    /// - Returns: IDs in the order of the keys; `nil` for a key without a row. Also `nil` for a row inserted since the
    ///   last flush, without an ID yet (integer keys).
    /// - Throws: `notTracked`; `invalidArgument` for a table that does not travel, with the names of travelling tables.
    public func objectIDs(of keys: [[FieldValue]], in table: String) throws -> [ObjectID?] {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            let travelling = Travelling(access)
            return try keys.map { key in
                if key.count != table.keyColumns.count || key.contains(.null) { return nil }
                guard let object = try travelling.object(table, key) else { return nil }
                if table.isMapped { return object }
                return try access.reader(of: table.id).read(key) == nil ? nil : object
            }
        }
    }

    /// The key on this device of the row showing an object.
    /// - Returns: `nil` for a deleted, hidden or unknown object.
    /// - Throws: as `objectIDs(of:in:)`.
    public func key(of object: ObjectID, in table: String) throws -> [FieldValue]? {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            let shown = try access.joined.representative(of: object, table.id) ?? object
            let state = try access.objects(of: table.id).load(shown)
            return state.shown.hasRow && !state.key.isEmpty ? state.key : nil
        }
    }
}
