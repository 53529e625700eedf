import FerryCore
import FerrySQL

/// The tables in which migration tools note what they have run. Their rows stay on each device, as each device runs its own
/// migrations. A database that a device makes from the container's schema has had these migrations, so it gets the rows, too.
package struct BookkeepingTables {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// The names that only such a tool uses, in lower case. Each line names the tools, as their documentation does.
    package static let names: Set<String> = [
        // GRDB; Rails, and everybody who took its name over; Room and Android
        "grdb_migrations", "schema_migrations", "ar_internal_metadata", "room_master_table", "android_metadata",
        // Alembic, yoyo, peewee-migrate; Django; aerich
        "alembic_version", "_yoyo_migration", "_yoyo_log", "_yoyo_version", "yoyo_lock", "migratehistory",
        "django_migrations", "aerich",
        // Knex, Prisma, Sequelize, Drizzle, Kysely, MikroORM; Cloudflare's D1
        "knex_migrations", "knex_migrations_lock", "_prisma_migrations", "sequelizemeta", "sequelizedata",
        "__drizzle_migrations", "kysely_migration", "kysely_migration_lock", "mikro_orm_migrations", "d1_migrations",
        // Entity Framework, FluentMigrator; Flyway, Liquibase
        "__efmigrationshistory", "__efmigrationslock", "versioninfo", "flyway_schema_history", "databasechangelog",
        "databasechangeloglock",
        // Doctrine, Phinx; goose, Atlas; Diesel, sqlx, SeaORM, Refinery; Vapor's Fluent
        "doctrine_migration_versions", "phinxlog", "goose_db_version", "atlas_schema_revisions",
        "__diesel_schema_migrations", "_sqlx_migrations", "seaql_migrations", "refinery_schema_history",
        "_fluent_migrations", "_fluent_enums",
        // sqlite-utils; South, SQLAlchemy-Migrate; Postgrator
        "_sqlite_migrations", "south_migrationhistory", "migrate_version", "schemaversion",
        // sql-migrate, Bun, DbUp; Ragtime, Play's Evolutions; Entity Framework 6; Flyway before 5, and apps of their own
        "gorp_migrations", "bun_migrations", "bun_migration_locks", "schemaversions", "ragtime_migrations",
        "play_evolutions",
        "__migrationhistory", "schema_version",
    ]

    /// Names that a person may use as well: with the columns that a tool gives the table, in lower case.
    private static let shapes: [String: [Set<String>]] = [
        // TypeORM; Laravel; db-migrate; beets
        "migrations": [
            ["id", "timestamp", "name"], ["id", "migration", "batch"], ["id", "name", "run_on"],
            ["name", "table_name"],
        ],
        // PocketBase; Grafana; Morph
        "_migrations": [["file", "applied"]],
        "migration_log": [["id", "migration_id", "sql", "success", "error", "timestamp"]],
        "db_migrations": [["version", "name"]],
        // Piccolo; Yii
        "migration": [["id", "name", "app_name", "ran_on"], ["version", "apply_time"]],
    ]

    /// - Parameter columns: the names of all columns of the table.
    package static func contains(_ name: String, columns: [String]) -> Bool {
        let name = foldedName(name)
        return names.contains(name) || shapes[name]?.contains(Set(columns.map(foldedName))) ?? false
    }

    /// True if the table is in the database, and a migration tool notes in it what the tool has run. Columns are read of few tables: a
    /// broken index of any other one makes no difference.
    package func contains(_ table: String) throws -> Bool {
        let name = foldedName(table)
        guard Self.names.contains(name) || Self.shapes[name] != nil else { return false }
        let all = try connection.rows("SELECT name FROM pragma_table_xinfo(?)", .text(table)).map { $0[0].text }
        return !all.isEmpty && Self.contains(table, columns: all)
    }

    /// Reads the rows of all such tables of the database, in the order of the tables' names.
    /// - Returns: nothing where there are more than a schema can have.
    package func read() throws -> [BookkeepingRows] {
        var tables: [String] = []
        try connection.forEachRow("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name") { row in
            tables.append(row.string(0))
        }
        var (values, bytes) = (0, 0)
        var read: [BookkeepingRows] = []
        for table in tables where try contains(table) {
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
    /// The record comes from the container, so only the known tables are filled. Where a table travels, by an earlier version of
    /// Ferry, its rows come like all rows.
    /// - Parameter created: the names of the tables that were made.
    /// - Returns: the names of the filled tables.
    package func fill(_ created: [String], from record: SchemaRecord) throws -> [String] {
        var filled: [String] = []
        for table in record.bookkeeping {
            let hasTrigger = record.statements.contains {
                $0.type == "trigger" && equalNames($0.table, table.table)
            }
            let travels = record.tracked.contains { equalNames($0.statementName, table.table) }
            guard try contains(table.table), !travels, !hasTrigger,
                created.contains(where: { equalNames($0, table.table) }),
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
