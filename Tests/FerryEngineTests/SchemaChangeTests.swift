import XCTest

/// Devices on different schemas keep syncing, and what one does not know yet is shown after its migration.
final class SchemaChangeTests: XCTestCase {
    private let items = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT);
        INSERT INTO item VALUES (1, 'one'), (2, 'two');
        """

    func testAColumnThatOneDeviceLacksIsKeptAndShownLater() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(
            0, "ALTER TABLE item ADD COLUMN colour TEXT DEFAULT 'grey'; UPDATE item SET colour = 'red' WHERE id = 1;")
        try fleet.settle()
        try fleet.shell(1, "UPDATE item SET name = 'uno' WHERE id = 1; INSERT INTO item VALUES (3, 'three')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM item ORDER BY id"), "1|uno|red\n2|two|grey\n3|three|grey\n")
        try fleet.shell(1, "ALTER TABLE item ADD COLUMN colour TEXT DEFAULT 'grey'")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
    }

    func testAddingAColumnPublishesNoRows() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.shell(0, "ALTER TABLE item ADD COLUMN colour TEXT DEFAULT 'grey'")
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0)
    }

    func testATableThatOneDeviceLacksIsKeptAndShownLater() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        let create = "CREATE TABLE note(id INTEGER PRIMARY KEY, item INTEGER NOT NULL REFERENCES item, body TEXT);"
        try fleet.shell(0, create + "INSERT INTO note VALUES (1, 2, 'hello');")
        try fleet.settle()
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [])
        try fleet.shell(1, create + "INSERT INTO note VALUES (1, 1, 'mine');")
        try fleet.settle()
        try fleet.assertEqual("SELECT item.name, body FROM note JOIN item ON item.id = note.item ORDER BY 2")
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM note"), "2\n")
    }

    func testATableRebuiltInTwelveStepsIsNoDeletionAndNoNews() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(
            0,
            """
            PRAGMA foreign_keys = OFF; BEGIN;
            CREATE TABLE new_item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, size INTEGER DEFAULT 7);
            INSERT INTO new_item(id, name) SELECT id, name FROM item;
            DROP TABLE item; ALTER TABLE new_item RENAME TO item; COMMIT;
            """)
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0)
        try fleet.shell(0, "UPDATE item SET name = 'deux' WHERE id = 2; INSERT INTO item VALUES (3, 'trois', 1);")
        try fleet.shell(1, "UPDATE item SET name = 'uno' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM item ORDER BY id"), "1|uno\n2|deux\n3|trois\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM item ORDER BY id"), "1|uno|7\n2|deux|7\n3|trois|1\n")
    }

    func testADroppedTableIsNoDeletionElsewhere() throws {
        let fleet = try Fleet()
        try fleet.start(items + "CREATE TABLE other(id INTEGER PRIMARY KEY, x); INSERT INTO other VALUES (1, 2);")
        try fleet.join()
        try fleet.shell(0, "DROP TABLE other")
        try fleet.shell(1, "INSERT INTO other VALUES (2, 3); UPDATE item SET name = 'eins' WHERE id = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM other ORDER BY id"), "1|2\n2|3\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM item WHERE id = 1"), "eins\n")
    }

    func testRenamedColumnsAndTablesGoOn() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        for device in 0...1 { try fleet.shell(device, "ALTER TABLE item RENAME COLUMN name TO title") }
        try fleet.settle()
        try fleet.shell(0, "UPDATE item SET title = 'I' WHERE id = 1")
        try fleet.shell(1, "UPDATE item SET title = 'II' WHERE id = 2; INSERT INTO item VALUES (3, 'III')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM item ORDER BY id"), "1|I\n2|II\n3|III\n")
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
    }
}
