import XCTest

@testable import FerryStore

/// After a change of the schema only those triggers are made anew that are not right any more: each one that is made costs SQLite
/// a look at the whole schema.
final class PresentTriggersTests: XCTestCase {
    private let schema = TestSchema(
        name: "two tables",
        sql: "CREATE TABLE one(id INTEGER PRIMARY KEY, x TEXT); CREATE TABLE two(id INTEGER PRIMARY KEY, x TEXT UNIQUE)"
    )

    /// Ferry's triggers of a table, with their places in the schema: one that is made anew comes last.
    private func places(_ table: String, _ device: TestDevice) throws -> [String] {
        try device.query(
            "SELECT rowid || ' ' || name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = '\(table)' "
                + "AND name LIKE 'ferry%' ORDER BY rowid")
    }

    private func assertNotes(
        _ sql: String, _ device: TestDevice, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let other = try TestDevice(2, schema)
        try device.run(sql)
        try device.flush()
        try other.receive(device)
        for table in ["one", "two"] {
            let text = "SELECT id || ' ' || x FROM \(table) ORDER BY id"
            XCTAssertEqual(try other.query(text), try device.query(text), file: file, line: line)
        }
        XCTAssertTrue(try device.store.verify(deep: true).isSound, file: file, line: line)
    }

    func testAColumnOfOneTableLeavesTheTriggersOfOthersAlone() throws {
        let device = try TestDevice(1, schema)
        let (one, two) = (try places("one", device), try places("two", device))
        XCTAssertGreaterThan(one.count, 3)
        try device.run("ALTER TABLE two ADD COLUMN y")
        try device.flush()
        XCTAssertEqual(try places("one", device), one)
        XCTAssertTrue(Set(try places("two", device)).isDisjoint(with: two))
        try assertNotes(
            "INSERT INTO one VALUES (1, 'a'), (2, 'b'); UPDATE one SET x = 'c' WHERE id = 2; DELETE FROM one WHERE id = 1;"
                + "INSERT INTO two VALUES (1, 'a', 'y'); UPDATE two SET x = 'b'", device)
    }

    func testATriggerThatIsGoneComesBackAndOthersStay() throws {
        let device = try TestDevice(1, schema)
        let (one, two) = (try places("one", device), try places("two", device))
        let name = try XCTUnwrap(one.first { $0.hasSuffix("_update_0") }).split(separator: " ")[1]
        try device.run("DROP TRIGGER \(name)")
        try device.flush()
        XCTAssertEqual(try places("one", device).count, one.count)
        XCTAssertEqual(try places("two", device), two)
        try assertNotes("INSERT INTO one VALUES (1, 'a'); UPDATE one SET x = 'b'", device)
    }

    /// Of a table's triggers SQLite runs the last one first: Ferry's are always the last ones.
    func testATriggerOfTheAppsIsNeverTheLastOne() throws {
        let device = try TestDevice(1, schema)
        let two = try places("two", device)
        try device.run(
            "CREATE TRIGGER later AFTER INSERT ON one BEGIN UPDATE one SET x = 'later' WHERE id = NEW.id; END")
        try device.flush()
        let last = try device.query("SELECT name FROM sqlite_schema WHERE tbl_name = 'one' ORDER BY rowid DESC LIMIT 1")
        XCTAssertTrue(last[0].hasPrefix("ferry_"), last[0])
        XCTAssertEqual(try places("two", device), two)
        try assertNotes("INSERT INTO one VALUES (1, 'a')", device)
    }

    func testTriggersOfARenamedTableAreMadeAnew() throws {
        let device = try TestDevice(1, schema)
        let two = try places("two", device)
        try device.run("ALTER TABLE one RENAME TO other; CREATE TABLE one(id INTEGER PRIMARY KEY, x TEXT)")
        try device.flush()
        XCTAssertEqual(try places("two", device), two)
        XCTAssertGreaterThan(try places("one", device).count, 3)
        try assertNotes("INSERT INTO one VALUES (1, 'a'); UPDATE one SET x = 'b'", device)
    }
}
