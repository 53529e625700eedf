import FerryCore
import FerrySchema

/// Questions about rows.
extension Store {
    /// Finds the objects of a key: first the object with the row, then objects without a row with the key as former or
    /// intended key. An integer key reused by SQLite leads to several objects.
    /// - Parameters:
    ///   - table: the table's name.
    ///   - key: the key's parts in key order as text, compared with the columns as SQLite compares; `x'…'` is a blob.
    /// - Throws: `invalidArgument` for a table that does not travel, or a wrong number of parts; `nothingFound`.
    ///   Changes not packed yet are not found.
    package func findRows(table: String, key: [String]) throws -> [FoundRow] {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            return try RowSearch(access, table).find(key)
        }
    }

    /// Reads a page of a table's rows, in the order of their keys.
    /// - Parameters:
    ///   - key: the key behind which the page begins, from `RowPage.next`; `nil` for the first page.
    ///   - search: only rows with this text in any column; empty for all rows. A page looks at a bounded number of rows, and may
    ///     have none while there are further pages.
    ///   - limit: the maximum number of rows.
    /// - Throws: `invalidArgument` for a table that does not travel, and for a key of another width.
    package func rows(
        ofTable table: String, after key: [FieldValue]? = nil, search: String = "", limit: Int = 50
    ) throws -> RowPage {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            return try RowPager(access, table).page(after: key, search: search, limit: limit)
        }
    }

    /// Finds the objects of a key, each with all its values and who wrote them.
    /// - Throws: as `findRows`.
    package func rowDetails(table: String, key: [String]) throws -> [RowDetail] {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            let reader = try RowDetailReader(access, table)
            return try RowSearch(access, table).find(key).map(reader.read)
        }
    }

    /// An object with all its values and who wrote them, by its ID.
    /// - Throws: `invalidArgument` for a table that does not travel; `nothingFound` for an unknown object.
    package func rowDetail(table: String, object: ObjectID) throws -> RowDetail {
        try readAccess { access in
            let table = try access.registry.travellingTable(table)
            return try RowDetailReader(access, table).read(RowSearch(access, table).find(object))
        }
    }

    /// What the state tells of an object's past; `nil` for a unified row.
    /// - Throws: `invalidArgument` for a table that does not travel.
    package func knownRow(table: String, object: ObjectID) throws -> KnownRow? {
        try readAccess { access in try KnownRow(object, access.registry.travellingTable(table), access) }
    }

    /// Lists hidden and unified objects, by table and in the order of IDs.
    /// - Parameters:
    ///   - table: only objects of this table.
    ///   - object: only this object.
    ///   - limit: maximum number of objects.
    /// - Throws: `invalidArgument` for a table that does not travel.
    public func hiddenRows(table: String? = nil, object: ObjectID? = nil, limit: Int = 50) throws -> [HiddenRow] {
        try readAccess { try HiddenRowReader($0).read(table: table, object: object, limit: limit) }
    }

    /// Counts the objects listed by `hiddenRows`.
    package func hiddenRowCount(table: String? = nil) throws -> Int {
        try readAccess { try HiddenRowReader($0).count(table: table) }
    }

    /// The object IDs of rows, by their keys on this device.
    /// - Parameters:
    ///   - keys: each key has a value for each key column, in the table's order.
    ///   - table: a travelling table.
    /// - Returns: IDs in the order of the keys; `nil` for a key without a row. Also `nil` for a row inserted since the
    ///   last flush, without an ID yet (integer keys).
    /// - Throws: `notTracked`; `invalidArgument` for a table that does not travel, with the names of travelling tables.
    public func objectIDs(of keys: [[FieldValue]], in table: String) throws -> [ObjectID?] {
        try readAccess { try ObjectLookup($0, table).objects(of: keys) }
    }

    /// The key on this device of the row showing an object.
    /// - Returns: `nil` for a deleted, hidden or unknown object.
    /// - Throws: as `objectIDs(of:in:)`.
    public func key(of object: ObjectID, in table: String) throws -> [FieldValue]? {
        try readAccess { try ObjectLookup($0, table).key(of: object) }
    }

    /// The names of a joining database's columns, by a container's schema.
    package func columnNames(by record: SchemaRecord, _ recorded: RecordedKeys) throws -> ColumnNameList {
        try read { connection in
            recorded.columnNames(
                record.tracked, try SchemaReader(connection: connection).read(TableNames(record.tracked)))
        }
    }

    /// The names in this database of a table's columns, by keys of their travelling names.
    /// - Parameter table: the travelling name of the table.
    package func localColumnNames(ofTable table: String) throws -> [String: String] {
        try readAccess { access in
            let columns = access.registry.table(named: table)?.localColumns ?? []
            return Dictionary(columns.map { (foldedName($0.travellingName), $0.name) }) { first, _ in first }
        }
    }

    /// The names of renamed tables.
    package func tableNames() throws -> TableNames { try read { try TableNames.load($0) } }

    /// The key of an object's row on this device; without a row, the former or intended key; empty if unknown.
    package func knownKey(table: String, object: ObjectID) throws -> [FieldValue] {
        try readAccess { access in
            guard let table = access.registry.table(named: table) else { return [] }
            return try LocalNames(access).key(of: object, table)
        }
    }

    /// Converts values to this device's values: references become local keys, if the target is known.
    /// - Parameter rows: portable values by the exact key of the column's name, for any number of rows of a table.
    package func localValues(table: String, _ rows: [[String: FieldValue]]) throws -> [[String: FieldValue]] {
        try readAccess { try LocalNames($0).localValues(table: table, rows) }
    }
}
