import FerryEngine
import FerryTestSupport
import XCTest

/// A migration gives a table other rules: a UNIQUE index more or less, a foreign key. Each device migrates at a time of
/// its own, and nobody writes a row by that.
final class ChangedRuleTests: XCTestCase {
    // MARK: UNIQUE

    func testRowsThatWereOneAreTwoOnceTheIndexIsGone() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, g INTEGER); CREATE UNIQUE INDEX u ON item(a)")
        for device in 0...1 { try fleet.shell(device, "INSERT INTO item VALUES (1, 'x', \(device))") }
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM item"), "1\n")
        for device in 0...1 { try fleet.shell(device, "DROP INDEX u") }
        try fleet.assertSettled("SELECT a, g FROM item ORDER BY g", "x|0\nx|1\n")
    }

    /// A usual way to remove duplicates. The triggers know nothing of the index, and SQLite calls none for a displaced row.
    func testRowsDisplacedByAnIndexThatCameAndWentAreDeletedEverywhere() throws {
        for key in ["INTEGER PRIMARY KEY", "TEXT PRIMARY KEY"] {
            let fleet = try Fleet.two(
                "CREATE TABLE item(k \(key), a TEXT, g INTEGER); INSERT INTO item VALUES (1, 'x', 1), (2, 'y', 2)")
            try fleet.shell(
                0,
                """
                CREATE UNIQUE INDEX temporary ON item(a);
                INSERT OR REPLACE INTO item VALUES (3, 'x', 3); UPDATE item SET g = 4 WHERE a = 'y'; DROP INDEX temporary;
                """)
            try fleet.assertSettled("SELECT a, g FROM item ORDER BY a", "x|3\ny|4\n")
        }
    }

    func testTheSecondDeviceDropsTheIndexLater() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, g INTEGER); CREATE UNIQUE INDEX u ON item(a);
            INSERT INTO item VALUES (1, 'x', 1);
            """)
        try fleet.shell(0, "DROP INDEX u; INSERT INTO item(a, g) VALUES ('x', 3)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM item"), "2\n")
        try fleet.shell(1, "DROP INDEX u")
        try fleet.assertSettled("SELECT a, g FROM item ORDER BY g", "x|1\nx|3\n")
    }

    func testATableMadeAnewWithALooserIndexKeepsBothRows() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT UNIQUE, g INTEGER); INSERT INTO item VALUES (1, 'x', 1)")
        let rebuild = """
            CREATE TABLE new_item(id INTEGER PRIMARY KEY, a TEXT, g INTEGER, UNIQUE(a, g));
            INSERT INTO new_item SELECT * FROM item; DROP TABLE item; ALTER TABLE new_item RENAME TO item;
            """
        try fleet.shell(0, rebuild + "INSERT INTO item(a, g) VALUES ('x', 3)")
        try fleet.settle()
        try fleet.shell(1, rebuild)
        try fleet.assertSettled("SELECT a, g FROM item ORDER BY g", "x|1\nx|3\n")
    }

    /// The triggers from before the index do not see that OR REPLACE displaces a row.
    func testARowDisplacedUnderANewIndexIsDeletedEverywhere() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, g INTEGER); INSERT INTO item VALUES (1, 'x', 1), (2, 'y', 2)"
        )
        let index = "CREATE UNIQUE INDEX u ON item(a)"
        try fleet.shell(0, index + "; INSERT OR REPLACE INTO item VALUES (3, 'x', 9)")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(1, "UPDATE item SET g = 20 WHERE id = 2")
        try fleet.settle()
        try fleet.shell(1, index)
        try fleet.assertSettled("SELECT id, a, g FROM item ORDER BY id", "2|y|20\n3|x|9\n")
    }

    func testAnAppInsertsEqualRowsOnceItsIndexIsGone() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT); CREATE UNIQUE INDEX u ON item(a);
            INSERT INTO item VALUES (1, 'x');
            """)
        // Ferry does not look in between.
        try fleet.shell(
            0,
            "DROP INDEX u; INSERT INTO item(a) VALUES ('x'); INSERT INTO item(a) VALUES ('x'); UPDATE item SET a = 'x'")
        try fleet.shell(1, "DROP INDEX u")
        try fleet.assertSettled("SELECT count(*), a FROM item GROUP BY a", "3|x\n")
    }

    // MARK: Foreign keys

    private let people = """
        CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE task(id INTEGER PRIMARY KEY, p INTEGER, note TEXT);
        INSERT INTO person VALUES (1, 'a'), (2, 'b'); INSERT INTO task VALUES (1, 1, 'x'), (2, 2, 'y');
        """

    private func rebuildTask(_ p: String) -> String {
        """
        CREATE TABLE new_task(id INTEGER PRIMARY KEY, p INTEGER \(p), note TEXT);
        INSERT INTO new_task SELECT * FROM task; DROP TABLE task; ALTER TABLE new_task RENAME TO task;
        """
    }

    func testAForeignKeyThatOneDeviceDeclaresFirstClearsNothing() throws {
        let fleet = try Fleet.two(people)
        let tasks = "SELECT id, p, note FROM task ORDER BY id"
        try fleet.shell(0, rebuildTask("REFERENCES person(id)"))
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, tasks), "1|1|x\n2|2|y\n") }
        try fleet.shell(1, "UPDATE task SET note = 'z' WHERE id = 2")
        try fleet.shell(1, rebuildTask("REFERENCES person(id)"))
        try fleet.assertSettled(tasks, "1|1|x\n2|2|z\n")
        try fleet.shell(0, "UPDATE task SET p = 1 WHERE id = 2")
        try fleet.assertSettled(tasks, "1|1|x\n2|1|z\n")
    }

    func testAForeignKeyWithAnotherTargetHidesNoRow() throws {
        let fleet = try Fleet.two(
            people + """
                CREATE TABLE member(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO member VALUES (1, 'c'), (2, 'd');
                """ + rebuildTask("REFERENCES person(id)"))
        let tasks = "SELECT id, p, note FROM task ORDER BY id"
        try fleet.shell(0, rebuildTask("REFERENCES member(id)"))
        try fleet.settle()
        for device in 0...1 { XCTAssertEqual(try fleet.shell(device, tasks), "1|1|x\n2|2|y\n") }
        try fleet.shell(1, rebuildTask("REFERENCES member(id)"))
        try fleet.assertSettled(tasks, "1|1|x\n2|2|y\n")
    }

    /// The column goes on meaning the deleted person, who has no key any more: it shows one that no row ever gets.
    func testARowThatAForeignKeyHidComesBackOnceTheKeyIsGone() throws {
        for migrated in [[0, 1], [1, 0]] {
            let fleet = try Fleet.two(people + rebuildTask("NOT NULL REFERENCES person(id) ON DELETE SET NULL"))
            try fleet.shell(0, "DELETE FROM task WHERE p = 2; DELETE FROM person WHERE id = 2")
            try fleet.shell(1, "INSERT INTO task VALUES (3, 2, 'by 1')")
            try fleet.settle()
            XCTAssertEqual(try fleet.replicas[0].status().hidden, 1)
            for device in migrated {
                try fleet.shell(device, rebuildTask("NOT NULL"), foreignKeys: false)
                try fleet.settle()
            }
            try fleet.assertSettled("SELECT id, p, note FROM task ORDER BY id", "1|1|x\n3|-1000000001|by 1\n")
            try fleet.join()
            try fleet.assertSettled("SELECT id, p, note FROM task ORDER BY id", "1|1|x\n3|-1000000001|by 1\n")
        }
    }

    // MARK: Columns

    func testAColumnIsDroppedAndLaterMadeAgain() throws {
        let fleet = try Fleet.two(
            "CREATE TABLE item(id INTEGER PRIMARY KEY, a TEXT, x TEXT); INSERT INTO item VALUES (1, 'a', 'old'), (2, 'b', NULL)"
        )
        for replica in fleet.replicas { try replica.store.alter("ALTER TABLE item DROP COLUMN x") }
        try fleet.settle()
        for device in 0...1 { try fleet.shell(device, "ALTER TABLE item ADD COLUMN x TEXT DEFAULT 'new'") }
        try fleet.assertSettled("SELECT id, a, x FROM item ORDER BY id", "1|a|new\n2|b|new\n")
        try fleet.shell(1, "UPDATE item SET x = 'mine' WHERE id = 1")
        try fleet.assertSettled("SELECT id, a, x FROM item ORDER BY id", "1|a|mine\n2|b|new\n")
    }
}
