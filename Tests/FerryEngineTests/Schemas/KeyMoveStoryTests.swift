import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// An integer key moves from one column to another, or its values become others under the same name (Docs/Merging.md, "Tables that
/// get another primary key").
final class KeyMoveStoryTests: XCTestCase {
    private let byID = "CREATE TABLE t(id INTEGER PRIMARY KEY, no INTEGER, value TEXT);"
    private let children = """
        CREATE TABLE child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(id) ON DELETE CASCADE, text TEXT);
        """
    private let rows = "SELECT id, no, value FROM t ORDER BY id"

    private func rebuild(_ columns: String, _ values: String = "id, no, value") -> String {
        """
        CREATE TABLE new_t(\(columns)); INSERT INTO new_t SELECT \(values) FROM t; DROP TABLE t;
        ALTER TABLE new_t RENAME TO t;
        """
    }

    private var toNumber: String { rebuild("id INTEGER, no INTEGER PRIMARY KEY, value TEXT") }
    private var toID: String { rebuild("id INTEGER PRIMARY KEY, no INTEGER, value TEXT") }

    private func fleet(_ sql: String) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(sql)
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    private func check(
        _ fleet: Fleet, _ query: String, _ lines: String, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try fleet.shell(index, query), lines, "device \(index)", file: file, line: line)
            XCTAssertEqual(try replica.verify(deep: true).differences, [], "device \(index)", file: file, line: line)
            let status = try replica.status()
            XCTAssertEqual(status.tablesApart, [], file: file, line: line)
            XCTAssertEqual(
                status.devices.map(\.standing), status.devices.map { _ in .inStep }, file: file, line: line)
        }
        try fleet.assertSound(file: file, line: line)
    }

    private let three = "INSERT INTO t VALUES (1, 30, 'a'), (2, 20, 'b'), (3, 10, 'c');"

    func testRowsKeepTheirIdentityWhereBothMigrateByThemselves() throws {
        let fleet = try fleet(byID + three)
        for index in 0...1 { try fleet.shell(index, toNumber) }
        try fleet.settle()
        try check(fleet, rows, "1|30|a\n2|20|b\n3|10|c\n")
        try fleet.shell(0, "UPDATE t SET value = 'A' WHERE no = 30; INSERT INTO t VALUES (4, 5, 'd')")
        try fleet.shell(1, "DELETE FROM t WHERE no = 20")
        try fleet.settle()
        try check(fleet, rows, "1|30|A\n3|10|c\n4|5|d\n")
        try fleet.join()
        try fleet.settle()
        try check(fleet, rows, "1|30|A\n3|10|c\n4|5|d\n")
        try fleet.shell(2, "UPDATE t SET value = 'C' WHERE no = 10; INSERT INTO t VALUES (5, 6, 'e')")
        try fleet.settle()
        try check(fleet, rows, "1|30|A\n3|10|C\n4|5|d\n5|6|e\n")
    }

    func testWhatIsWrittenBeforeAndAfterTheMigrationIsSent() throws {
        let fleet = try fleet(byID + three)
        try fleet.shell(0, "UPDATE t SET value = 'before' WHERE id = 1; DELETE FROM t WHERE id = 2;" + toNumber)
        try fleet.shell(0, "UPDATE t SET value = 'after' WHERE no = 10; INSERT INTO t VALUES (7, 70, 'new')")
        try fleet.settle()
        // What the other one writes by the former key passes over; what comes by the new one waits there.
        XCTAssertEqual(try fleet.replicas[1].status().tablesApart.map(\.there), ["integer key (no)"])
        try fleet.shell(1, "UPDATE t SET no = 31 WHERE id = 1; INSERT INTO t VALUES (8, 80, 'theirs')")
        try fleet.settle()
        XCTAssertEqual(
            try fleet.shell(0, "SELECT no, value FROM t ORDER BY no"), "10|after\n30|before\n70|new\n80|theirs\n")
        try fleet.shell(1, toNumber)
        try fleet.settle()
        try check(
            fleet, "SELECT id, value FROM t ORDER BY id", "1|before\n3|after\n7|new\n8|theirs\n")
    }

    func testADeviceThatGoesBackFindsItsRows() throws {
        let fleet = try fleet(byID + three)
        for index in 0...1 { try fleet.shell(index, toNumber) }
        try fleet.settle()
        try fleet.shell(0, "UPDATE t SET value = 'there' WHERE no = 20")
        try fleet.settle()
        for index in 0...1 { try fleet.shell(index, toID) }
        try fleet.settle()
        try check(fleet, rows, "1|30|a\n2|20|there\n3|10|c\n")
    }

    func testAKeyInANewColumnAndOneThatIsRenamed() throws {
        for (create, values) in [
            ("id INTEGER, nr INTEGER PRIMARY KEY, value TEXT", "id, 100 - id, value"),
            ("nr INTEGER PRIMARY KEY, no INTEGER, value TEXT", "id, no, value"),
        ] {
            let fleet = try fleet(byID + three)
            for index in 0...1 { try fleet.shell(index, rebuild(create, values)) }
            try fleet.settle()
            try check(fleet, "SELECT value FROM t ORDER BY value", "a\nb\nc\n")
            try fleet.shell(0, "UPDATE t SET value = 'A' WHERE value = 'a'")
            try fleet.settle()
            try check(fleet, "SELECT value FROM t ORDER BY value", "A\nb\nc\n")
        }
    }

    func testReferencesFollowAKeyThatMoves() throws {
        let fleet = try fleet(byID + children + three + "INSERT INTO child VALUES (1, 1, 'x'), (2, 3, 'y')")
        let migration =
            "PRAGMA foreign_keys = OFF;" + toNumber + """
                CREATE TABLE new_child(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t(no) ON DELETE CASCADE, text TEXT);
                INSERT INTO new_child SELECT child.id, t.no, text FROM child JOIN t ON t.id = child.t; DROP TABLE child;
                ALTER TABLE new_child RENAME TO child;
                """
        for index in 0...1 { try fleet.shell(index, migration) }
        try fleet.settle()
        let query = "SELECT text, t.id FROM child JOIN t ON t.no = child.t ORDER BY text"
        try check(fleet, query, "x|1\ny|3\n")
        try fleet.shell(0, "INSERT INTO child VALUES (9, 20, 'z'); DELETE FROM t WHERE no = 30")
        try fleet.settle()
        try check(fleet, query, "y|3\nz|2\n")
    }

    func testIntegersThatBecomeTextsUnderTheSameName() throws {
        let asText = rebuild("id TEXT PRIMARY KEY, no INTEGER, value TEXT", "CAST(id AS TEXT), no, value")
        let fleet = try fleet(byID + three)
        try fleet.shell(0, "UPDATE t SET value = 'before' WHERE id = 1;" + asText)
        try fleet.settle()
        try fleet.shell(1, "UPDATE t SET value = 'theirs' WHERE id = 2; DELETE FROM t WHERE id = 3;")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, rows), "1|30|before\n2|20|theirs\n")
        try fleet.shell(1, asText)
        try fleet.settle()
        try check(fleet, rows, "1|30|before\n2|20|theirs\n")
    }

    func testReferencesFollowIntegersThatBecomeTexts() throws {
        let fleet = try fleet(byID + children + three + "INSERT INTO child VALUES (1, 1, 'x'), (2, 3, 'y')")
        let migration =
            "PRAGMA foreign_keys = OFF;"
            + rebuild("id TEXT PRIMARY KEY, no INTEGER, value TEXT", "CAST(id AS TEXT), no, value") + """
                CREATE TABLE new_child(id INTEGER PRIMARY KEY, t TEXT REFERENCES t(id) ON DELETE CASCADE, text TEXT);
                INSERT INTO new_child SELECT id, CAST(t AS TEXT), text FROM child; DROP TABLE child;
                ALTER TABLE new_child RENAME TO child;
                """
        try fleet.shell(
            0, "UPDATE child SET t = 2 WHERE id = 2;" + migration + "INSERT INTO child VALUES (7, '3', 'new')")
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO child VALUES (9, 1, 'theirs')")
        try fleet.settle()
        try fleet.shell(1, migration)
        try fleet.settle()
        let query = "SELECT text, value FROM child JOIN t ON t.id = child.t ORDER BY text"
        try check(fleet, query, "new|c\ntheirs|a\nx|a\ny|b\n")
        try fleet.shell(0, "DELETE FROM t WHERE id = '1'")
        try fleet.settle()
        try check(fleet, query, "new|c\ny|b\n")
    }

    func testRowsThatAreInsertedBetweenTheMigrationAndTheNextSync() throws {
        let asText = rebuild("id TEXT PRIMARY KEY, no INTEGER, value TEXT", "CAST(id AS TEXT), no, value")
        let fleet = try fleet(byID + three)
        try fleet.shell(
            0,
            asText + "INSERT INTO t VALUES ('7', 70, 'seven'), ('x9', 90, 'nine'); DELETE FROM t WHERE id = '2'")
        try fleet.settle()
        // What no integer tells waits for the migration.
        let query = "SELECT no, value FROM t ORDER BY no"
        XCTAssertEqual(try fleet.shell(1, query), "10|c\n30|a\n70|seven\n")
        try fleet.shell(1, asText)
        try fleet.settle()
        try check(fleet, query, "10|c\n30|a\n70|seven\n90|nine\n")
    }

    func testIntegersThatBecomeFreshIDsAreWrittenAnewByTheFirstWhoMigrates() throws {
        let fleet = try fleet(byID + three)
        try fleet.shell(
            0, rebuild("id TEXT PRIMARY KEY, no INTEGER, value TEXT", "lower(hex(randomblob(16))), no, value"))
        try fleet.settle()
        let first = try fleet.shell(0, "SELECT no, value FROM t ORDER BY no")
        XCTAssertEqual(first, "10|c\n20|b\n30|a\n")
        // The other one takes the first one's rows in place of its own.
        try fleet.shell(
            1, rebuild("id TEXT PRIMARY KEY, no INTEGER, value TEXT", "id, no, value FROM t WHERE 0; SELECT 1"))
        try fleet.settle()
        try check(fleet, "SELECT no, value FROM t ORDER BY no", first)
    }

    func testCompoundReferencesToATableWhoseKeyChanges() throws {
        let fleet = try fleet(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT NOT NULL, b TEXT NOT NULL, value TEXT, UNIQUE(a, b));
            CREATE TABLE child(id INTEGER PRIMARY KEY, a TEXT, b TEXT, text TEXT,
                FOREIGN KEY(a, b) REFERENCES t(a, b) ON DELETE CASCADE);
            INSERT INTO t VALUES (1, 'a', '1', 'x'), (2, 'a', '2', 'y'); INSERT INTO child VALUES (1, 'a', '2', 'of y');
            """)
        let migration =
            "PRAGMA foreign_keys = OFF;"
            + rebuild("id INTEGER, a TEXT NOT NULL, b TEXT NOT NULL, value TEXT, PRIMARY KEY(a, b)", "id, a, b, value")
        try fleet.shell(0, migration)
        try fleet.settle()
        try fleet.shell(1, "INSERT INTO t VALUES (3, 'b', '1', 'z'); INSERT INTO child VALUES (2, 'b', '1', 'of z')")
        try fleet.settle()
        let query = "SELECT child.text, value FROM child JOIN t USING (a, b) ORDER BY 1"
        XCTAssertEqual(try fleet.shell(0, query), "of y|y\nof z|z\n")
        try fleet.shell(1, migration)
        try fleet.settle()
        try check(fleet, query, "of y|y\nof z|z\n")
        try fleet.shell(0, "DELETE FROM t WHERE a = 'a' AND b = '2'")
        try fleet.settle()
        try check(fleet, query, "of z|z\n")
    }
}
