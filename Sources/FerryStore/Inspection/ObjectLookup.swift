import FerryCore

/// Object IDs of rows and back: an ID means the same row on every device, and stays when its key changes.
extension Store {
    /// The object IDs of rows, by their keys on this device.
    /// - Parameters:
    ///   - keys: each with a value for each column of the table's key, in its order.
    ///   - table: a table that travels.
    /// - Returns: in the order of the keys; `nil` where no row has the key, or it was inserted since the last flush and has no
    ///   ID yet (integer keys).
    /// - Throws: `notTracked`; `invalidArgument` where the table does not travel, naming those that do.
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

    /// The key on this device of the row that shows an object.
    /// - Returns: `nil` where no row does: it is deleted or hidden, or was never heard of.
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
