import FerryCore
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryEngine

/// A device joins with a schema of its own: newer, older, or with another thing by a name of the container's.
final class JoinerSchemaTests: XCTestCase {
    private let extra = "CREATE TABLE extra(k TEXT PRIMARY KEY NOT NULL, v)"

    /// Three devices, of which the last joined with a table more.
    private func newerJoiner() throws -> Fleet {
        let fleet = try Fleet.two("CREATE TABLE t(id INTEGER PRIMARY KEY, x); INSERT INTO t VALUES (1, 'one')")
        try fleet.join(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); \(extra); INSERT INTO extra VALUES ('from-2', 1)")
        try fleet.settle()
        return fleet
    }

    func testATableThatAJoinerHasBeforeTheOthersTravelsOnceTheyHaveIt() throws {
        let fleet = try newerJoiner()
        XCTAssertEqual(
            try fleet.replicas[2].store.status().leftOut.map(\.name), ["extra"], "nobody has asked for the table yet")
        for device in 0...1 { try fleet.shell(device, extra + "; INSERT INTO extra VALUES ('from-\(device)', 1)") }
        try fleet.assertSettled("SELECT k FROM extra ORDER BY k", "from-0\nfrom-1\nfrom-2\n")
        try fleet.shell(2, "INSERT INTO extra VALUES ('later', 2); DELETE FROM extra WHERE k = 'from-0'")
        try fleet.assertSettled("SELECT k FROM extra ORDER BY k", "from-1\nfrom-2\nlater\n")
        XCTAssertEqual(try fleet.replicas[2].store.status().leftOut.map(\.name), [])
    }

    func testATableThatOneOtherDeviceMakesIsEnough() throws {
        let fleet = try newerJoiner()
        try fleet.shell(1, extra + "; INSERT INTO extra VALUES ('from-1', 1)")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(2, "SELECT k FROM extra ORDER BY k"), "from-1\nfrom-2\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT k FROM extra ORDER BY k"), "from-1\nfrom-2\n")
    }

    /// Two devices that joined with the table both keep rows for the other.
    func testTwoJoinersWithTheTableMeetOnceAThirdHasIt() throws {
        let fleet = try newerJoiner()
        try fleet.join(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); \(extra); INSERT INTO extra VALUES ('from-3', 1)")
        try fleet.settle()
        try fleet.shell(0, extra)
        try fleet.shell(1, extra)
        try fleet.assertSettled("SELECT k FROM extra ORDER BY k", "from-2\nfrom-3\n")
    }

    /// What the container's schema has and leaves out stays out for good.
    func testATableThatTheContainerLeavesOutStaysHere() throws {
        let fleet = try Fleet()
        try fleet.start(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE TABLE cache(k TEXT PRIMARY KEY NOT NULL, v)",
            selection: TableSelection(except: ["cache"]))
        try fleet.join(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE TABLE cache(k TEXT PRIMARY KEY NOT NULL, v); INSERT INTO cache VALUES ('a', 1)"
        )
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO cache VALUES ('b', 1); ALTER TABLE t ADD COLUMN y")
        try fleet.shell(1, "ALTER TABLE t ADD COLUMN y")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT k FROM cache"), "b\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT k FROM cache"), "a\n")
    }

    func testAnIndexOfAColumnThatTheJoinerLacksIsLeftOut() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, y, x); CREATE INDEX ti ON t(x); INSERT INTO t VALUES (1, 1, 1);
            CREATE VIEW tv AS SELECT x FROM t; CREATE TABLE u(k TEXT PRIMARY KEY, v); INSERT INTO u VALUES ('a', 1);
            """)
        try fleet.join(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, y); INSERT INTO t VALUES (9, 9);
            CREATE TABLE u(k TEXT PRIMARY KEY, v); INSERT INTO u VALUES ('c', 1);
            """)
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(try fleet.shell(device, "SELECT k FROM u ORDER BY k"), "a\nc\n")
            XCTAssertEqual(try fleet.shell(device, "SELECT y FROM t ORDER BY y"), "1\n9\n")
        }
        try fleet.shell(1, "ALTER TABLE t ADD COLUMN x; CREATE INDEX IF NOT EXISTS ti ON t(x)")
        try fleet.assertSettled("SELECT x FROM t WHERE y = 1", "1\n")
    }

    func testAnotherThingByANameConcernsNothingElse() throws {
        for other in [
            "CREATE VIEW t AS SELECT 1 AS id, 'x' AS x", "CREATE TABLE tv(x TEXT PRIMARY KEY)",
            "CREATE TABLE ti(x TEXT PRIMARY KEY)", "CREATE TABLE w(t); CREATE VIEW ti AS SELECT t FROM w",
        ] {
            let fleet = try Fleet()
            try fleet.start(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, x); CREATE INDEX ti ON t(x); CREATE VIEW tv AS SELECT x FROM t;
                INSERT INTO t VALUES (1, 'one'); CREATE TABLE u(k TEXT PRIMARY KEY, v); INSERT INTO u VALUES ('a', 1);
                """)
            try fleet.join("CREATE TABLE u(k TEXT PRIMARY KEY, v); INSERT INTO u VALUES ('c', 1); \(other)")
            try fleet.settle()
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, "SELECT k FROM u ORDER BY k"), "a\nc\n", other)
            }
            XCTAssertEqual(try fleet.shell(0, "SELECT x FROM t"), "one\n")
        }
    }
}
