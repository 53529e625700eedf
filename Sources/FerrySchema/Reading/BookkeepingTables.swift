import FerryCore
import FerrySQL

/// The tables in which migration tools note what they have run. Their rows stay on each device, as each device runs its own
/// migrations. A database that a device makes from the container's schema has had these migrations, so it gets the rows, too.
package struct BookkeepingTables {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// The names, in lower case.
    package static let names: Set<String> = [
        "grdb_migrations", "schema_migrations", "ar_internal_metadata", "alembic_version", "django_migrations",
        "knex_migrations", "knex_migrations_lock", "room_master_table", "__efmigrationshistory", "_prisma_migrations",
        "android_metadata",
    ]

    package static func contains(_ name: String) -> Bool { names.contains(foldedName(name)) }

    /// Reads the rows of all such tables of the database, in the order of the tables' names.
    /// - Returns: nothing where there are more than a schema can have.
    package func read() throws -> [BookkeepingRows] {
        var tables: [String] = []
        try connection.forEachRow("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") { row in
            let name = row.string(0)
            if Self.contains(name) { tables.append(name) }
        }
        var (values, bytes) = (0, 0)
        var read: [BookkeepingRows] = []
        for table in tables {
            let columns = try columns(of: table)
            if columns.isEmpty { continue }
            // Characters of a text are at most as many as its bytes: what is too much is not read into memory.
            let sizes = columns.map { "coalesce(length(\(quoted($0))), 0)" }.joined(separator: " + ")
            let size = try connection.rows("SELECT count(*), coalesce(sum(\(sizes)), 0) FROM \(quoted(table))")[0]
            guard case .integer(let count) = size[0], case .integer(let length) = size[1],
                count <= BookkeepingRows.maximumValues / columns.count, length <= BookkeepingRows.maximumBytes
            else { return [] }
            if count == 0 { continue }
            let names = columns.map(quoted).joined(separator: ", ")
            let rows = try connection.rows("SELECT \(names) FROM \(quoted(table))")
            values += rows.count * columns.count
            for case .text(let content) in rows.joined() { bytes += content.count }
            for case .blob(let content) in rows.joined() { bytes += content.count }
            if values > BookkeepingRows.maximumValues || bytes > BookkeepingRows.maximumBytes { return [] }
            read.append(BookkeepingRows(table: table, columns: columns, rows: rows))
        }
        return read
    }

    /// The columns that an INSERT can name.
    private func columns(of table: String) throws -> [String] {
        try connection.rows("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0 ORDER BY cid", .text(table))
            .map { $0[0].text }
    }

    /// Fills tables that were made from a record, and are empty. What does not fit is left out: a table is filled as a whole or
    /// stays empty. No trigger runs: a table with one stays empty.
    ///
    /// The record comes from the container, so only the known tables are filled.
    /// - Parameter created: the names of the tables that were made.
    /// - Returns: the names of the filled tables.
    package func fill(_ created: [String], from record: SchemaRecord) throws -> [String] {
        var filled: [String] = []
        for table in record.bookkeeping {
            let hasTrigger = record.statements.contains {
                $0.type == "trigger" && equalNames($0.table, table.table)
            }
            guard Self.contains(table.table), !hasTrigger, created.contains(where: { equalNames($0, table.table) }),
                table.rows.allSatisfy({ $0.count == table.columns.count })
            else { continue }
            let names = table.columns.map(quoted).joined(separator: ", ")
            let places = table.columns.map { _ in "?" }.joined(separator: ", ")
            let insertion = "INSERT INTO \(quoted(table.table)) (\(names)) VALUES (\(places))"
            do {
                try connection.savepoint {
                    for row in table.rows { try connection.execute(insertion, row) }
                }
                filled.append(table.table)
            } catch let error as FerryError where error.code == .database {
                // The join names tables that stayed empty.
                continue
            }
        }
        return filled
    }
}
