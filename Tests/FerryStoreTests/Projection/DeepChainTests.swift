import XCTest

@testable import FerryStore

/// Long chains of rows, and many rows that refer to many others without an index.
final class DeepChainTests: XCTestCase {
    private static let chain = TestSchema(
        name: "chain", sql: "CREATE TABLE t(id TEXT PRIMARY KEY, p TEXT REFERENCES t ON DELETE CASCADE, x);")
    private static let rows =
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 300) "
        + "INSERT INTO t SELECT 'k' || i, 'k' || (i - 1), i FROM n;"

    func testAChainBelowADeletedRowIsHiddenAndComesBackWithTheRow() throws {
        let (a, b) = try (TestDevice(1, Self.chain), TestDevice(2, Self.chain))
        try a.run("INSERT INTO t VALUES ('k1', NULL, 1)")
        try a.flush()
        try b.receive(a)
        a.clock.now += 1
        try a.run("DELETE FROM t")
        try b.run(Self.rows)
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] { XCTAssertEqual(try device.query("SELECT count(*) FROM t"), ["0"]) }
        a.clock.now += 10
        try a.run("INSERT INTO t VALUES ('k1', NULL, 'again')")
        try a.flush()
        try b.receive(a)
        for device in [a, b] {
            XCTAssertEqual(try device.query("SELECT count(*), max(x) FROM t"), ["300|again"])
            XCTAssertTrue(try device.store.verify(deep: true).isSound)
        }
    }

    /// Rows that refer without an index are found for many parents at once, by the parent's collation.
    func testManyParentsAreHeldBackByRowsWithoutAnIndex() throws {
        let schema = TestSchema(
            name: "parents",
            sql: """
                CREATE TABLE parent(name TEXT COLLATE NOCASE PRIMARY KEY, x);
                CREATE TABLE child(id INTEGER PRIMARY KEY, "the parent" TEXT REFERENCES parent, y);
                """)
        let (a, b) = try (TestDevice(1, schema), TestDevice(2, schema))
        try a.run(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30) "
                + "INSERT INTO parent SELECT 'p' || i, i FROM n;")
        try a.flush()
        try b.receive(a)
        a.clock.now += 1
        try a.run("DELETE FROM parent WHERE x > 5")
        try b.run("INSERT INTO child(\"the parent\", y) SELECT upper(name), x FROM parent WHERE x > 3 AND x % 2")
        try a.flush()
        try b.receive(a)
        try a.receive(b)
        for device in [a, b] {
            XCTAssertEqual(try device.query("SELECT count(*) FROM parent"), ["17"])
            XCTAssertEqual(try device.query("SELECT count(*) FROM child"), ["13"])
            XCTAssertEqual(
                try device.query("SELECT count(*) FROM temp.sqlite_schema WHERE name LIKE 'ferry_referring%'"), ["0"])
            XCTAssertTrue(try device.store.verify(deep: true).isSound)
        }
    }
}
