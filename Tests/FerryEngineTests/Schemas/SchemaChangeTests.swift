import FerrySchema
import FerryStore
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

    func testAColumnThatBothAddAtDifferentTimesShowsWhatTheFirstWrote() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(
            0,
            "ALTER TABLE item ADD COLUMN size INTEGER NOT NULL DEFAULT 1; UPDATE item SET size = 5 WHERE id = 1; INSERT INTO item VALUES (3, 'three', 9)"
        )
        let report = try fleet.replicas[0].sync()
        XCTAssertEqual(report.published.changes, 2)
        try fleet.settle()
        try fleet.shell(1, "ALTER TABLE item ADD COLUMN size INTEGER NOT NULL DEFAULT 1")
        XCTAssertEqual(try fleet.replicas[1].sync().published.changes, 0)
        XCTAssertEqual(try fleet.shell(1, "SELECT id, size FROM item ORDER BY id"), "1|5\n2|1\n3|9\n")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
    }

    func testADroppedColumnIsNoChangeElsewhereAndItsValuesComeBackWithIt() throws {
        let fleet = try Fleet()
        try fleet.start(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, size INTEGER); INSERT INTO item VALUES (1, 'a', 5)")
        try fleet.join()
        // SQLite refuses it where a trigger names the column, and says so; nothing has happened then.
        XCTAssertThrowsError(try fleet.shell(0, "ALTER TABLE item DROP COLUMN size"))
        try fleet.shell(0, "UPDATE item SET name = 'c'")
        XCTAssertThrowsError(try fleet.replicas[0].store.alter("ALTER TABLE item DROP COLUMN weight"))
        XCTAssertThrowsError(try fleet.replicas[0].store.alter("DELETE FROM item"))
        XCTAssertThrowsError(try fleet.replicas[0].store.alter("ALTER TABLE item DROP COLUMN size; DELETE FROM item"))
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 1)
        try fleet.replicas[0].store.alter("ALTER TABLE item DROP COLUMN size;")
        XCTAssertEqual(try fleet.replicas[0].sync().published.changes, 0)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM item"), "1|c|5\n")
        try fleet.shell(1, "UPDATE item SET size = 6")
        try fleet.shell(0, "UPDATE item SET name = 'b'")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM item"), "1|b|6\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM item"), "1|b\n")
        try fleet.shell(0, "ALTER TABLE item ADD COLUMN size INTEGER")
        try fleet.settle()
        try fleet.assertEqual("SELECT id, name, size FROM item")
    }

    func testAColumnThatOneDeviceRenamesIsOneColumnUnderTwoNames() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(0, "ALTER TABLE item RENAME COLUMN name TO title")
        try fleet.settle()
        // Nothing was written.
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM item ORDER BY id"), "1|one\n2|two\n")
        try fleet.shell(0, "UPDATE item SET title = 'ONE' WHERE id = 1")
        try fleet.shell(1, "INSERT INTO item VALUES (3, 'three')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "ONE\ntwo\nthree\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM item ORDER BY id"), "ONE\ntwo\nthree\n")
        try fleet.assertSoundAndInStep()
        try fleet.shell(1, "ALTER TABLE item RENAME COLUMN name TO title")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM item WHERE id = 1"), "ONE\n")
    }

    func testATableThatIsDroppedAndMadeAgainGoesOnWithoutDeletingAnything() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(0, "DROP TABLE item")
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO item VALUES (3, 'three')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item"), "3\n")
        try fleet.shell(0, "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (10, 'four')")
        try fleet.settle()
        // What came meanwhile was kept, and is shown; what the dropped table held is on the other device only.
        XCTAssertEqual(try fleet.shell(0, "SELECT name FROM item ORDER BY 1"), "four\nthree\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY 1"), "four\none\nthree\ntwo\n")
    }

    /// Every device drops the table and syncs, and makes the table anew and syncs. One of them inserts rows under former
    /// keys. Insertions are shown everywhere, whatever the former values were.
    func testRowsUnderFormerKeysOfATableThatAllDroppedAreShownEverywhere() throws {
        let tables = [
            "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)", "CREATE TABLE item(id TEXT PRIMARY KEY, name TEXT)",
            "CREATE TABLE item(id TEXT PRIMARY KEY, name TEXT UNIQUE) WITHOUT ROWID",
        ]
        for (table, writer) in tables.flatMap({ table in [0, 1].map { (table, $0) } }) {
            let fleet = try Fleet()
            try fleet.start(table + "; INSERT INTO item VALUES (1, 'one'), (2, 'two'), (3, 'three');")
            try fleet.join()
            for device in 0...1 { try fleet.shell(device, "DROP TABLE item") }
            try fleet.settle()
            for device in 0...1 { try fleet.shell(device, table) }
            try fleet.shell(writer, "INSERT INTO item VALUES (1, 'one'), (2, 'deux'), (4, 'four')")
            try fleet.settle()
            XCTAssertEqual(
                try fleet.shell(1 - writer, "SELECT * FROM item ORDER BY id"), "1|one\n2|deux\n4|four\n", table)
            try fleet.assertEqual("SELECT * FROM item ORDER BY id")
            for replica in fleet.replicas {
                XCTAssertEqual(try replica.verify(deep: true).differences.count, 0, table)
                XCTAssertEqual(try replica.status().devices.map(\.standing), [.inStep], table)
            }
        }
    }

    func testADeviceThatJoinsGetsTablesThatWereMadeLater() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.shell(0, "CREATE TABLE note(id INTEGER PRIMARY KEY, body TEXT)")
        try fleet.settle()
        try fleet.shell(0, "CREATE TABLE tag(name TEXT PRIMARY KEY)")
        try fleet.settle()
        XCTAssertEqual(try fleet.join().createdTables.sorted(), ["item", "note", "tag"])
        try fleet.shell(1, "CREATE TABLE mark(name TEXT PRIMARY KEY); INSERT INTO mark VALUES ('m');")
        try fleet.settle()
        XCTAssertEqual(try fleet.join().createdTables.sorted(), ["item", "mark", "note", "tag"])
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, "SELECT name FROM mark"), "m\n")
    }

    /// The notes of a table that is gone go with their old rows, or the next notes would find their numbers taken.
    func testATableThatIsDroppedWithPendingNotesCanBeWrittenToWhenItIsBack() throws {
        let create = "CREATE TABLE tag(name TEXT PRIMARY KEY, size);"
        let write = "INSERT INTO tag VALUES ('a', 1), ('b', 2); DELETE FROM tag WHERE name = 'a';"
        for isLookedAtBetween in [false, true] {
            let fleet = try Fleet()
            try fleet.start(create)
            try fleet.join()
            try fleet.shell(0, write + "REPLACE INTO tag VALUES ('b', 3); DROP TABLE tag;")
            if isLookedAtBetween { try fleet.settle() }
            try fleet.shell(0, create)
            try fleet.settle()
            try fleet.shell(0, write)
            try fleet.settle()
            try fleet.assertEqual("SELECT * FROM tag ORDER BY name")
            XCTAssertEqual(try fleet.shell(1, "SELECT * FROM tag"), "b|2\n")
        }
    }

    func testARowThatIsLeftOutOfARebuildIsDeletedElsewhere() throws {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        try fleet.shell(
            0,
            """
            PRAGMA foreign_keys = OFF; BEGIN; CREATE TABLE new_item(id INTEGER PRIMARY KEY, name TEXT);
            INSERT INTO new_item SELECT * FROM item WHERE id = 1; DROP TABLE item;
            ALTER TABLE new_item RENAME TO item; COMMIT;
            """)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT id FROM item"), "1\n")
        try fleet.assertSound()
    }

    func testADeclaredIdentityAndAReferenceOutliveTheirColumns() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE item(id INTEGER PRIMARY KEY, kind_id INTEGER);
            INSERT INTO kind VALUES (1, 'a'); INSERT INTO item VALUES (1, 1);
            """,
            selection: TableSelection(
                declaredIdentities: ["kind": ["name"]],
                references: [.init(table: "item", column: "kind_id", parent: "kind")]
            ))
        try fleet.join()
        for device in 0...1 {
            try fleet.shell(
                device, "ALTER TABLE kind RENAME COLUMN name TO title; ALTER TABLE item RENAME COLUMN kind_id TO kind;")
        }
        try fleet.settle()
        for device in 0...1 { try fleet.shell(device, "INSERT INTO kind(title) VALUES ('d\(device)')") }
        try fleet.settle()
        try fleet.assertEqual("SELECT title FROM kind ORDER BY 1")
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM kind"), "3\n")
    }
}
