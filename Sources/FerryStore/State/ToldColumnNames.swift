import FerryCore
import FerrySQL
import FerrySchema

/// Notes the names that other devices' schemas tell of renamed columns. A column of this database may have to follow
/// (`ColumnNaming`).
struct ToldColumnNames {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// Makes the next access look at the schema again, as after a change.
    static func askAgain(_ meta: MetaTable) throws {
        if let version = try meta.integer(.schemaVersion), version >= 0 { try meta.set(.schemaVersion, -1 - version) }
    }

    /// True if the schema is the same as at the last look, and was only to be looked at again.
    static func isSameSchema(_ version: Int64, _ meta: MetaTable) throws -> Bool {
        try meta.integer(.schemaVersion) == -1 - version
    }

    /// Notes a schema. Where a column of this database has a told name, names are decided anew at the next access.
    func hear(_ schema: SchemaRecord) throws {
        if schema.tracked.allSatisfy(\.renamedColumns.isEmpty) { return }
        let before = try ColumnNameList.load(connection)
        var names = before
        try names.hear(schema.tracked, columns: RecordedKeys(schema).columns)
        if names == before { return }
        let meta = MetaTable(connection: connection)
        try names.save(meta)
        let tables = try TableNames.load(connection)
        for table in schema.tracked where names[table.name] != before[table.name] {
            let columns = try connection.rows(
                "SELECT name FROM pragma_table_info(?)", .text(tables.local(table.name))
            ).map { foldedName($0[0].text) }
            let told = ColumnNames.entries(table.renamedColumns)
            if columns.contains(where: { told[$0] != nil }) { try Self.askAgain(meta) }
        }
    }
}
