import FerryCore
import FerryStore
import XCTest

@testable import FerryEngine

/// Rows with a NULL in their key stay on their device, and keep the UNIQUE values that rows of other devices have too.
final class KeylessObstacleTests: XCTestCase {
    private let schema = """
        CREATE TABLE k(a TEXT PRIMARY KEY, u UNIQUE, v TEXT);
        CREATE TABLE child(id INTEGER PRIMARY KEY, k TEXT REFERENCES k(a) ON DELETE CASCADE, n TEXT);
        CREATE TABLE loose(id INTEGER PRIMARY KEY, k TEXT REFERENCES k(a) ON DELETE SET NULL);
        """
    private let rows = "SELECT quote(a), u, v FROM k ORDER BY a, u; SELECT k, n FROM child; SELECT quote(k) FROM loose"

    /// Device 0 has a row without a key, and device 1 a row of the same value with rows that refer to it.
    private func fleet() throws -> Fleet {
        let fleet = try Fleet.two(schema)
        try fleet.shell(0, "INSERT INTO k VALUES (NULL, 1, 'stays')")
        try fleet.shell(
            1,
            "INSERT INTO k VALUES ('x', 1, 'travels'); INSERT INTO child(k, n) VALUES ('x', 'c'); INSERT INTO loose(k) VALUES ('x')"
        )
        try fleet.settle()
        return fleet
    }

    private let others = "'x'|1|travels\nx|c\n'x'\n"

    func testTheOtherRowWaitsAndTheDevicesAreInStep() throws {
        let fleet = try fleet()
        XCTAssertEqual(try fleet.shell(0, rows), "NULL|1|stays\nNULL\n")
        XCTAssertEqual(try fleet.shell(1, rows), others)
        try fleet.assertSoundAndInStep()
        let status = try fleet.replicas[0].status()
        XCTAssertEqual(status.hidden, 2)
        XCTAssertEqual(
            status.exceptions.first { $0.kind == .refused }?.reason,
            "a row with NULL in its key, which stays on this device, has the same u")
        let finding = try XCTUnwrap(fleet.replicas[0].examine().findings.first { $0.subject == "table k" })
        XCTAssertEqual(finding.severity, .warning)
        XCTAssertTrue(finding.advice.contains("SELECT * FROM \"k\" WHERE \"a\" IS NULL"), finding.advice)
        XCTAssertNil(try fleet.replicas[1].examine().findings.first { $0.subject == "table k" })
    }

    func testItComesOnceTheValueIsFree() throws {
        for (statement, stays) in [
            ("UPDATE k SET u = 2 WHERE a IS NULL", "NULL|2|stays\n"),
            ("DELETE FROM k WHERE a IS NULL", ""),
            ("REPLACE INTO k VALUES (NULL, 3, 'new'); DELETE FROM k WHERE u = 1", "NULL|3|new\n"),
        ] {
            let fleet = try fleet()
            try fleet.shell(0, statement)
            try fleet.settle()
            XCTAssertEqual(try fleet.shell(0, rows), stays + others, statement)
            try fleet.assertSoundAndInStep()
        }
    }

    /// With a key the row travels. Then the two are one row, as any two rows of one value.
    func testWithAKeyTheTwoBecomeOneRow() throws {
        let fleet = try fleet()
        try fleet.shell(0, "UPDATE k SET a = 'y' WHERE a IS NULL")
        try fleet.assertSettled("SELECT count(*), min(u) FROM k; SELECT count(*) FROM child", "1|1\n1\n")
    }

    func testAnUpdateElsewhereMayTakeTheValue() throws {
        let fleet = try Fleet.two(schema)
        try fleet.shell(0, "INSERT INTO k VALUES (NULL, 1, 'stays')")
        try fleet.shell(1, "INSERT INTO k VALUES ('x', 2, 'travels')")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT quote(a) FROM k ORDER BY u"), "NULL\n'x'\n")
        try fleet.shell(1, "UPDATE k SET u = 1")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT quote(a) FROM k ORDER BY u"), "NULL\n")
        try fleet.assertSoundAndInStep()
        try fleet.shell(1, "UPDATE k SET u = 5")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT quote(a), u FROM k ORDER BY u"), "NULL|1\n'x'|5\n")
        try fleet.assertSoundAndInStep()
    }

    /// All objects of a unified row wait.
    func testAUnifiedRowWaitsWhole() throws {
        let fleet = try Fleet.two(schema)
        try fleet.join()
        try fleet.shell(0, "INSERT INTO k VALUES (NULL, 1, 'stays')")
        try fleet.shell(1, "INSERT INTO k VALUES ('x', 1, 'first')")
        try fleet.shell(2, "INSERT INTO k VALUES ('y', 1, 'second')")
        try fleet.settle()
        try fleet.assertSoundAndInStep()
        XCTAssertEqual(try fleet.shell(1, "SELECT a, v FROM k"), "x|second\n")
        XCTAssertEqual(try fleet.shell(2, "SELECT a, v FROM k"), "x|second\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT quote(a) FROM k"), "NULL\n")
        try fleet.shell(0, "DELETE FROM k")
        try fleet.assertSettled("SELECT a, v FROM k", "x|second\n")
    }

    /// A foreign key's action may delete the row in the way, in a replay.
    func testADeletedParentOfTheRowFreesTheValue() throws {
        let fleet = try Fleet.two(
            """
            CREATE TABLE parent(id INTEGER PRIMARY KEY, n TEXT);
            CREATE TABLE k(a TEXT PRIMARY KEY, u UNIQUE, parent INTEGER REFERENCES parent(id) ON DELETE CASCADE);
            INSERT INTO parent VALUES (1, 'p');
            """)
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO k VALUES (NULL, 1, 1)")
        try fleet.shell(1, "INSERT INTO k VALUES ('x', 1, NULL)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT quote(a) FROM k"), "NULL\n")
        try fleet.shell(1, "DELETE FROM parent")
        try fleet.assertSettled("SELECT quote(a) FROM k", "'x'\n")
    }

    /// A deep check asks the table, and does not believe the list.
    func testADeepCheckNamesARowThatNothingIsInTheWayOf() throws {
        let fleet = try fleet()
        let triggers = try fleet.shell(
            0,
            "SELECT group_concat('DROP TRIGGER ' || name, ';') FROM sqlite_schema WHERE name LIKE 'ferry%' AND type = 'trigger'"
        )
        try fleet.shell(0, "BEGIN; \(triggers); DELETE FROM k WHERE a IS NULL; COMMIT;")
        let report = try fleet.replicas[0].store.verify(deep: true)
        XCTAssertFalse(report.differences.isEmpty)
    }
}
