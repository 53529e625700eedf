import FerryStore
import GRDB
import XCTest

@testable import FerryEngine

/// GRDB's migrator, unchanged, in an app that has Ferry attached to the same connection.
final class MigrationTests: XCTestCase {
    private func migrator(upTo version: Int) -> DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.eraseDatabaseOnSchemaChange = false
        migrator.registerMigration("v1") { database in
            try database.create(table: "author") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("name", .text).notNull()
            }
            try database.create(table: "book") { table in
                table.autoIncrementedPrimaryKey("id")
                table.column("title", .text).notNull()
                table.column("author", .integer).references("author", onDelete: .cascade)
            }
        }
        if version >= 2 {
            migrator.registerMigration("v2") { database in
                try database.alter(table: "book") { $0.add(column: "pages", .integer).notNull().defaults(to: 100) }
                try database.execute(sql: "UPDATE book SET pages = 7 WHERE title = 'Emma'")
            }
        }
        if version >= 3 {
            // The twelve steps: a NOT NULL that ALTER TABLE cannot add, checked at once.
            migrator.registerMigration("v3", foreignKeyChecks: .immediate) { database in
                try database.create(table: "new_book") { table in
                    table.autoIncrementedPrimaryKey("id")
                    table.column("title", .text).notNull().collate(.nocase)
                    table.column("author", .integer).references("author", onDelete: .cascade)
                    table.column("pages", .integer).notNull().defaults(to: 100)
                }
                try database.execute(sql: "INSERT INTO new_book SELECT id, title, author, pages FROM book")
                try database.drop(table: "book")
                try database.rename(table: "new_book", to: "book")
            }
            // And the parent that others refer to, with checks put off until the migration ends.
            migrator.registerMigration("v4", foreignKeyChecks: .deferred) { database in
                try database.create(table: "new_author") { table in
                    table.autoIncrementedPrimaryKey("id")
                    table.column("name", .text).notNull().unique()
                    table.column("born", .integer)
                }
                try database.execute(sql: "INSERT INTO new_author(id, name) SELECT id, name FROM author")
                try database.drop(table: "author")
                try database.rename(table: "new_author", to: "author")
            }
            migrator.registerMigration("v5") { database in
                try Store.alter("ALTER TABLE author DROP COLUMN born", in: database)
                try database.alter(table: "book") { $0.rename(column: "pages", to: "length") }
                try database.create(index: "book_author", on: "book", columns: ["author"])
            }
        }
        return migrator
    }

    func testTheMigratorRunsUnchangedWithFerryAttached() throws {
        let fleet = try Fleet()
        let pools = try (0...1).map { try DatabasePool(path: fleet.databasePath($0)) }
        for pool in pools { try migrator(upTo: 1).migrate(pool) }
        try pools[0].write { database in
            try database.execute(
                sql:
                    "INSERT INTO author VALUES (1, 'Jane'); INSERT INTO book VALUES (1, 'Emma', 1), (2, 'Persuasion', 1)"
            )
        }
        let store = Store(pools[0])
        fleet.replicas.append(
            try Replica.create(store, containerPath: fleet.containerPath, sealing: .open, name: "device0").replica)
        fleet.replicas.append(
            try Replica.join(Store(pools[1]), containerPath: fleet.containerPath, name: "device1").replica)
        try fleet.settle()
        // The first app is a version ahead; an added column sends what is not its default, and nothing else.
        try migrator(upTo: 2).migrate(pools[0])
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 1)
        try fleet.settle()
        try pools[1].write { try $0.execute(sql: "INSERT INTO book(title, author) VALUES ('Sanditon', 1)") }
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(0, "SELECT title, pages FROM book ORDER BY 1"), "Emma|7\nPersuasion|100\nSanditon|100\n")
        // Then it goes through rebuilds of both tables.
        try migrator(upTo: 3).migrate(pools[0])
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0, "a renamed column is the same column")
        try pools[1].write { database in
            try database.execute(
                sql: "UPDATE book SET title = 'EMMA' WHERE id = 1; INSERT INTO author(name) VALUES ('Ann')")
        }
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM book"), "3\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM book"), "3\n")
        // The second app follows, all migrations at once.
        try migrator(upTo: 3).migrate(pools[1])
        try pools[1].write { try $0.execute(sql: "UPDATE book SET length = 300 WHERE title = 'Persuasion'") }
        try fleet.settle()
        try fleet.assertEqual("SELECT title, length, name FROM book JOIN author ON author.id = author ORDER BY 1")
        XCTAssertEqual(
            try fleet.shell(0, "SELECT title, length FROM book ORDER BY 1"), "EMMA|7\nPersuasion|300\nSanditon|100\n")
        // Each database notes its own migrations.
        for pool in pools {
            XCTAssertEqual(
                try pool.read { try migrator(upTo: 3).completedMigrations($0) }, ["v1", "v2", "v3", "v4", "v5"])
        }
    }
}
