import FerryCore
import FerrySQL
import FerrySchema
import XCTest

@testable import FerryStore

/// What `status`, `conflicts` and `history` ask of large tables.
final class ObjectCountsTests: XCTestCase {
    private static let schema = TestSchema(
        name: "shop",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, artist INTEGER REFERENCES artist, title TEXT);
            CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour TEXT) WITHOUT ROWID;
            """)

    private func device(_ number: Int = 1) throws -> TestDevice {
        let device = try TestDevice(number, Self.schema, hoursAhead: Int64(number))
        try device.run(
            """
            INSERT INTO artist VALUES (\(number), 'artist \(number)'), (\(number + 10), 'same');
            INSERT INTO song VALUES (\(number), \(number), 'one'), (\(number + 10), \(number + 10), 'two');
            INSERT INTO tag VALUES ('tag \(number)', 'red'), ('same', 'tag \(number)');
            """)
        try device.flush()
        return device
    }

    private func objects(_ device: TestDevice) throws -> [String: Int] {
        Dictionary(uniqueKeysWithValues: try device.store.status().tables.map { ($0.name, $0.objects) })
    }

    /// The steps of a query's plan.
    private func plan(_ device: TestDevice, _ query: String) throws -> String {
        try device.store.read { try plan($0, query) }
    }

    private func plan(_ connection: SQLConnection, _ query: String) throws -> String {
        var steps: [String] = []
        try connection.forEachRow("EXPLAIN QUERY PLAN " + query) { steps.append($0.string(3)) }
        return steps.joined(separator: "; ")
    }

    func testObjectsOfOneRowCountOnceAndDeletedOnesNotAtAll() throws {
        let (first, second) = (try device(1), try device(2))
        try first.receive(second)
        try second.receive(first)
        for device in [first, second] {
            // The artists of one name are one row.
            XCTAssertEqual(try objects(device), ["artist": 3, "song": 4, "tag": 3])
            XCTAssertEqual(try device.store.miscounts(), [])
        }
        try first.run("DELETE FROM song WHERE id = 1; DELETE FROM tag WHERE name = 'same'")
        try first.flush()
        // A song that refers to the artist holds the artist back.
        try second.run("INSERT INTO song VALUES (50, 2, 'three')")
        try second.flush()
        try first.run("DELETE FROM song WHERE artist = (SELECT id FROM artist WHERE name = 'artist 2')")
        try first.run("DELETE FROM artist WHERE name = 'artist 2'")
        try first.flush()
        try first.receive(second)
        try second.receive(first)
        for device in [first, second] {
            XCTAssertEqual(try objects(device), ["artist": 3, "song": 3, "tag": 2])
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_exception WHERE kind = 4"), ["1"])
            XCTAssertEqual(try device.store.miscounts(), [])
        }
    }

    func testRowsThatWentWithTheirTableAreCountedAsLeft() throws {
        let device = try device()
        try device.run("DROP TABLE tag; CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour TEXT) WITHOUT ROWID;")
        try device.flush()
        XCTAssertEqual(try device.store.status().left, ["tag": 2])
        XCTAssertEqual(try device.store.miscounts(), [])
    }

    func testAStatusReadsNoRowThatIsSimplyShown() throws {
        let device = try device()
        try device.store.readAccess { access in
            for table in access.registry.tables.values {
                for query in [ObjectCounts.difference(table), ObjectState.leftCount(table.objectTable)] {
                    let plan = try self.plan(access.connection, query)
                    XCTAssertTrue(
                        plan.hasPrefix("SEARCH \(table.objectTable) USING INDEX \(table.objectTable)_apart"), plan)
                }
                let index = "\(table.objectTable)_apart"
                let tombstones =
                    "SELECT object FROM \(table.objectTable) WHERE \(Visibility.tombstoneCondition) AND object > x'00' "
                    + "ORDER BY object"
                XCTAssertEqual(
                    try self.plan(access.connection, tombstones),
                    "SEARCH \(table.objectTable) USING COVERING INDEX \(index) (shown=? AND object>?)")
                // What a key that nothing has now is looked for among.
                XCTAssertEqual(
                    try self.plan(access.connection, RowSearch.formerKeys(table)),
                    "SCAN \(table.objectTable) USING INDEX \(index)"
                )
            }
        }
    }

    func testCountsOfUnresolvedConflictsReadAnIndexAlone() throws {
        let device = try device()
        let index = "ferry_conflict_unresolved"
        XCTAssertEqual(
            try plan(device, "SELECT count(*) FROM ferry_conflict WHERE resolved IS NULL"),
            "SCAN ferry_conflict USING COVERING INDEX \(index)")
        XCTAssertEqual(
            try plan(device, "SELECT count(*) FROM ferry_conflict WHERE \"table\" = 1 AND resolved IS NULL"),
            "SEARCH ferry_conflict USING COVERING INDEX \(index) (table=? AND resolved=?)")
        let list = try plan(
            device,
            "SELECT lost_value FROM ferry_conflict WHERE \"table\" = 1 AND resolved IS NULL ORDER BY number DESC LIMIT 50"
        )
        XCTAssertEqual(list, "SEARCH ferry_conflict USING INDEX \(index) (table=? AND resolved=?)")
    }

    func testAStoreOfAnEarlierFerryGetsTheIndexesWithItsNextSchema() throws {
        let device = try device()
        let names = try device.query(
            "SELECT name FROM sqlite_schema WHERE name LIKE 'ferry%apart' OR name = 'ferry_conflict_unresolved' ORDER BY 1"
        )
        XCTAssertGreaterThan(names.count, 3)
        try device.store.read { connection in
            for name in names { try connection.executeScript("DROP INDEX \(name)") }
            for name in names where name.hasSuffix("_apart") {
                let table = name.dropLast("_apart".count)
                try connection.executeScript(
                    "CREATE INDEX \(table)_tombstone ON \(table)(object) WHERE shown = \(Visibility.tombstone)")
            }
        }
        XCTAssertEqual(try device.store.miscounts(), [])
        try device.run("ALTER TABLE song ADD COLUMN year INTEGER")
        try device.flush()
        XCTAssertEqual(
            try device.query(
                """
                SELECT name FROM sqlite_schema
                WHERE name LIKE 'ferry%apart' OR name = 'ferry_conflict_unresolved' OR name LIKE '%tombstone' ORDER BY 1
                """), names)
        XCTAssertEqual(try device.store.miscounts(), [])
    }
}
