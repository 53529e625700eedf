import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// The tables in which migration tools note what they have run: a database that Ferry makes has had these migrations.
final class BookkeepingTests: XCTestCase {
    private static let tools = """
        CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY);
        INSERT INTO grdb_migrations VALUES ('v1'), ('v2');
        CREATE TABLE "django_migrations" ("id" integer NOT NULL PRIMARY KEY AUTOINCREMENT, "app" varchar(255) NOT NULL,
            "name" varchar(255) NOT NULL, "applied" datetime NOT NULL);
        INSERT INTO django_migrations(app, name, applied) VALUES ('notes', '0001_initial', '2026-01-02 03:04:05.678');
        INSERT INTO django_migrations(id, app, name, applied) VALUES (7, 'notes', '0002_ähnlich', '2026-01-03');
        CREATE TABLE "schema_migrations" ("version" varchar NOT NULL PRIMARY KEY);
        INSERT INTO schema_migrations VALUES ('20260101120000');
        CREATE TABLE "ar_internal_metadata" ("key" varchar NOT NULL PRIMARY KEY, "value" varchar,
            "created_at" datetime(6) NOT NULL, "updated_at" datetime(6) NOT NULL);
        INSERT INTO ar_internal_metadata VALUES ('environment', 'production', 'now', 'now');
        CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL,
            CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num));
        INSERT INTO alembic_version VALUES ('1975ea83b712');
        CREATE TABLE room_master_table (id INTEGER PRIMARY KEY, identity_hash TEXT);
        INSERT INTO room_master_table VALUES (42, 'cafe');
        CREATE TABLE `knex_migrations_lock` (`index` integer not null primary key autoincrement, `is_locked` integer);
        INSERT INTO knex_migrations_lock(is_locked) VALUES (0);
        CREATE TABLE "__EFMigrationsHistory" ("MigrationId" TEXT NOT NULL CONSTRAINT "PK" PRIMARY KEY,
            "ProductVersion" TEXT NOT NULL, "whole" AS ("MigrationId" || "ProductVersion"));
        INSERT INTO "__EFMigrationsHistory" VALUES ('20260101_First', '10.0');
        CREATE TABLE android_metadata (locale TEXT); INSERT INTO android_metadata VALUES ('en_US');
        CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT); INSERT INTO note(x) VALUES ('a');
        """
    private static let everything = [
        "grdb_migrations", "django_migrations", "schema_migrations", "ar_internal_metadata", "alembic_version",
        "room_master_table", "knex_migrations_lock", "__EFMigrationsHistory", "android_metadata", "sqlite_sequence",
    ].map { "SELECT '\($0)', * FROM \"\($0)\" ORDER BY 2;" }.joined()

    /// Tables that a person may have as well are known by their columns.
    func testTablesOfToolsAreKnownByNameAndColumns() {
        for (name, columns) in [
            ("_sqlite_migrations", ["migration_set", "name", "applied_at"]), ("migrations", ["name", "table_name"]),
            ("migrations", ["id", "name", "run_on"]), ("migration", ["version", "apply_time"]),
            ("South_MigrationHistory", ["id", "app_name", "migration", "applied"]),
            ("_migrations", ["file", "applied"]), ("gorp_migrations", ["id", "applied_at"]),
            ("db_migrations", ["Version", "Name"]),
            ("SchemaVersions", ["SchemaVersionID", "ScriptName", "Applied"]), ("schema_version", ["version"]),
            ("migration_log", ["id", "migration_id", "sql", "success", "error", "timestamp"]),
        ] { XCTAssertTrue(BookkeepingTables.contains(name, columns: columns), name) }
        XCTAssertFalse(BookkeepingTables.contains("migrations", columns: ["bird", "route"]))
        XCTAssertFalse(BookkeepingTables.contains("migration_log", columns: ["id", "bird", "timestamp"]))
    }

    func testADatabaseThatFerryMakesHasTheNotesOfMigrationTools() throws {
        let fleet = try Fleet()
        try fleet.start(Self.tools)
        XCTAssertNil(try fleet.join().emptyNotes)
        try fleet.assertEqual(Self.everything)
        // Each device goes on by itself.
        try fleet.shell(1, "INSERT INTO django_migrations(app, name, applied) VALUES ('notes', '0003', '2026-01-04')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM django_migrations"), "2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT max(id) FROM django_migrations"), "8\n")
    }

    /// Tables as the tools make them; the last of each pair is a person's own table of the same name, or of a similar one.
    func testTheTablesOfManyToolsStayAndAPersonsTablesTravel() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE "migrations" ("id" integer PRIMARY KEY AUTOINCREMENT NOT NULL, "timestamp" bigint NOT NULL,
                "name" varchar NOT NULL); INSERT INTO migrations(timestamp, name) VALUES (1, 'First1');
            CREATE TABLE flyway_schema_history(installed_rank INT NOT NULL PRIMARY KEY, version VARCHAR(50), success BOOLEAN);
            INSERT INTO flyway_schema_history VALUES (0, '0', 1);
            CREATE TABLE _sqlx_migrations(version BIGINT PRIMARY KEY, description TEXT NOT NULL, success BOOLEAN NOT NULL);
            INSERT INTO _sqlx_migrations VALUES (1, 'first', 1);
            CREATE TABLE `SequelizeMeta` (`name` VARCHAR(255) NOT NULL UNIQUE PRIMARY KEY);
            INSERT INTO SequelizeMeta VALUES ('20260101-first.js');
            CREATE TABLE __diesel_schema_migrations(version VARCHAR(50) PRIMARY KEY NOT NULL, run_on TIMESTAMP NOT NULL);
            INSERT INTO __diesel_schema_migrations VALUES ('1', 'now');
            CREATE TABLE seaql_migrations(version VARCHAR NOT NULL PRIMARY KEY, applied_at BIGINT NOT NULL);
            INSERT INTO seaql_migrations VALUES ('m1', 1);
            CREATE TABLE goose_db_version(id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL);
            INSERT INTO goose_db_version(version_id) VALUES (0);
            CREATE TABLE "__drizzle_migrations" (id SERIAL PRIMARY KEY, hash text NOT NULL, created_at numeric);
            INSERT INTO "__drizzle_migrations"(hash, created_at) VALUES ('cafe', 1);
            CREATE TABLE DATABASECHANGELOG(ID VARCHAR(255) NOT NULL, AUTHOR VARCHAR(255) NOT NULL);
            INSERT INTO DATABASECHANGELOG VALUES ('1', 'me');
            CREATE TABLE migration(id INTEGER PRIMARY KEY, bird TEXT, start TEXT);
            INSERT INTO migration(bird, start) VALUES ('Arctic tern', '2026-08-01');
            CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT);
            """)
        XCTAssertNil(try fleet.join().emptyNotes)
        try fleet.assertEqual(
            "SELECT * FROM migrations; SELECT * FROM SequelizeMeta; SELECT hash FROM __drizzle_migrations;"
                + "SELECT * FROM DATABASECHANGELOG; SELECT bird FROM migration;")
        try fleet.shell(
            0,
            """
            INSERT INTO migrations(timestamp, name) VALUES (2, 'Second2'); INSERT INTO SequelizeMeta VALUES ('2.js');
            INSERT INTO flyway_schema_history VALUES (1, '1', 1); INSERT INTO goose_db_version(version_id) VALUES (1);
            INSERT INTO migration(bird) VALUES ('Sooty shearwater');
            """)
        try fleet.settle()
        let notes = "SELECT count(*) FROM "
        XCTAssertEqual(try fleet.shell(1, notes + "migrations"), "1\n")
        XCTAssertEqual(try fleet.shell(1, notes + "SequelizeMeta"), "1\n")
        XCTAssertEqual(try fleet.shell(1, notes + "flyway_schema_history"), "1\n")
        XCTAssertEqual(try fleet.shell(1, notes + "goose_db_version"), "1\n")
        XCTAssertEqual(try fleet.shell(1, notes + "migration"), "2\n", "birds migrate, too")
    }

    /// A migration of rows alone leaves the schema as it was.
    func testANoteWithoutAChangeOfTheSchemaReachesTheNextDevice() throws {
        let fleet = try Fleet()
        try fleet.start(Self.tools)
        try fleet.join()
        try fleet.shell(0, "UPDATE note SET x = 'b'; INSERT INTO grdb_migrations VALUES ('v3');")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM grdb_migrations"), "2\n", "it migrates by itself")
        try fleet.join()
        XCTAssertEqual(try fleet.shell(2, "SELECT group_concat(identifier) FROM grdb_migrations"), "v1,v2,v3\n")
        // The lock of a tool was held when the schema went out.
        try fleet.shell(0, "UPDATE knex_migrations_lock SET is_locked = 1")
        try fleet.settle()
        try fleet.shell(0, "UPDATE knex_migrations_lock SET is_locked = 0")
        try fleet.settle()
        XCTAssertFalse(try fleet.replicas[0].store.needsPass())
        try fleet.join()
        XCTAssertEqual(try fleet.shell(3, "SELECT is_locked FROM knex_migrations_lock"), "0\n")
    }

    func testTheNotesAreInSnapshotsAndArchives() throws {
        let fleet = try Fleet()
        try fleet.start(Self.tools)
        for row in 0..<40 {
            try fleet.shell(0, "INSERT INTO note(x) VALUES ('\(row)')")
            _ = try fleet.replicas[0].sync()
        }
        _ = try fleet.replicas[0].compact()
        XCTAssertNil(try fleet.join().emptyNotes)
        try fleet.assertEqual(Self.everything)
        let archive = fleet.folder.appendingPathComponent("all.ferry").path
        _ = try fleet.replicas[1].exportSnapshot(to: archive)
        _ = try Replica.importDatabase(at: fleet.databasePath(9), from: archive)
        XCTAssertEqual(try fleet.shell(9, Self.everything), try fleet.shell(0, Self.everything))
    }

    func testAnAppThatMadeItsTablesKeepsItsOwnNotes() throws {
        let fleet = try Fleet()
        try fleet.start(Self.tools)
        let report = try fleet.join(
            """
            CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
            CREATE TABLE schema_migrations(version varchar NOT NULL PRIMARY KEY);
            CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT);
            """)
        XCTAssertNil(report.emptyNotes)
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM grdb_migrations; SELECT * FROM schema_migrations"), "v1\n")
    }

    func testAJoinNamesTheTablesThatItCannotFill() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY); INSERT INTO grdb_migrations VALUES ('v1');
            CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT);
            CREATE TRIGGER noted AFTER INSERT ON grdb_migrations BEGIN INSERT INTO note(x) VALUES (new.identifier); END;
            """)
        XCTAssertEqual(try fleet.join().emptyNotes, ["grdb_migrations"])
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM note"), "0\n")
        // More than can be sent.
        let many = try Fleet()
        try many.start(
            """
            CREATE TABLE schema_migrations(version PRIMARY KEY); CREATE TABLE note(id INTEGER PRIMARY KEY, x TEXT);
            WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100001)
            INSERT INTO schema_migrations SELECT n FROM n;
            """)
        XCTAssertEqual(try many.join().emptyNotes, ["schema_migrations"])
    }

    /// The record comes from the container: a forged one fills no other table, and a row that does not fit fails nothing.
    func testARecordFillsTheKnownTablesAlone() throws {
        var record = SchemaRecord(
            userVersion: 0, applicationID: 0,
            statements: ["grdb_migrations", "note", "schema_migrations"].map {
                .init(type: "table", name: $0, table: $0, sql: "CREATE TABLE \($0)(v TEXT NOT NULL CHECK (v <> 'x'))")
            }, tracked: [])
        record.bookkeeping = [
            BookkeepingRows(table: "note", columns: ["v"], rows: [[.text("evil")]]),
            BookkeepingRows(table: "grdb_migrations", columns: ["v"], rows: [[.text("a")], [.text("x")]]),
            BookkeepingRows(table: "none", columns: ["v"], rows: [[.text("a")]]),
            BookkeepingRows(table: "schema_migrations", columns: ["v", "w"], rows: [[.text("a")]]),
        ]
        let fleet = try Fleet()
        XCTAssertEqual(try DatabaseCreator.create(record, at: fleet.databasePath(0)).filled, [])
        let rows = "SELECT * FROM note; SELECT * FROM grdb_migrations; SELECT * FROM schema_migrations"
        XCTAssertEqual(try fleet.shell(0, rows), "")
        record.bookkeeping[1].rows.removeLast()
        XCTAssertEqual(try DatabaseCreator.create(record, at: fleet.databasePath(1)).filled, ["grdb_migrations"])
        XCTAssertEqual(try fleet.shell(1, rows), "a\n")
    }
}
