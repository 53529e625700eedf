import FerryCore
import XCTest

@testable import FerryStore

/// What random histories ask of a statement's effect: that it stands, but for what Docs/Rules.md excepts.
final class WrittenRowTests: XCTestCase {
    private let schema = TestSchema(
        name: "boxes",
        sql: """
            CREATE TABLE box(id INTEGER PRIMARY KEY, label TEXT UNIQUE);
            CREATE TABLE thing(
                id INTEGER PRIMARY KEY, name TEXT, box TEXT REFERENCES box(label) ON DELETE SET NULL,
                spare TEXT REFERENCES box(label) ON DELETE SET NULL);
            """)

    /// A device on which the box of a thing is gone, and that has written the thing's name and a box with that label since.
    private func written() throws -> (device: TestDevice, row: WrittenRow, oracle: Oracle) {
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run("INSERT INTO box VALUES (1, 'a'), (2, 'b')")
        try device.flush()
        try other.receive(device)
        try device.run("INSERT INTO thing VALUES (1, 'one', 'a', NULL)")
        try other.run("DELETE FROM box WHERE id = 1")
        try other.flush()
        try device.receive(other)
        XCTAssertEqual(try device.query("SELECT * FROM thing"), ["1|one|NULL|NULL"])
        try device.run("UPDATE thing SET name = 'two'; INSERT INTO box VALUES (3, 'a')")
        let oracle = try Oracle(schema)
        let row = try XCTUnwrap(WrittenRow.all(on: device, oracle.schema).first { $0.table.name == "thing" })
        return (device, row, oracle)
    }

    func testAClearedReferenceMayComeBack() throws {
        let (device, row, oracle) = try written()
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM thing"), ["1|two|a|NULL"])
        XCTAssertNil(try row.complaint(on: device, oracle))
    }

    func testNothingElseOfTheRowMayChange() throws {
        for change in ["name = 'three'", "spare = 'b'", "box = NULL, name = 'three'", "box = 'b', spare = 'b'"] {
            let (device, row, oracle) = try written()
            try device.flush()
            try device.run("UPDATE thing SET \(change)")
            XCTAssertNotNil(try row.complaint(on: device, oracle), change)
        }
        let (device, row, oracle) = try written()
        try device.flush()
        try device.run("DELETE FROM thing")
        XCTAssertNotNil(try row.complaint(on: device, oracle))
    }

    /// What is cleared without having been so before was changed by something else.
    func testAReferenceThatIsClearedDoesNotStand() throws {
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO box VALUES (1, 'a'); INSERT INTO thing VALUES (1, 'one', 'a', NULL)")
        let oracle = try Oracle(schema)
        let row = try XCTUnwrap(WrittenRow.all(on: device, oracle.schema).first { $0.table.name == "thing" })
        try device.flush()
        XCTAssertNil(try row.complaint(on: device, oracle))
        try device.run("DELETE FROM box")
        try device.flush()
        XCTAssertNotNil(try row.complaint(on: device, oracle))
    }
}
