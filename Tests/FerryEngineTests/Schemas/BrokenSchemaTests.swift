import FerryStore
import XCTest

@testable import FerryEngine

/// What is broken elsewhere in an app's schema, and has been for years, does not stop Ferry.
final class BrokenSchemaTests: XCTestCase {
    func testABrokenViewAndABrokenTriggerDoNotKeepATableFromBeingMadeAnew() throws {
        let fleet = try Fleet()
        try fleet.start(
            """
            CREATE TABLE "my item"(k INTEGER PRIMARY KEY, a, b, c); INSERT INTO "my item" VALUES (1, 2, 3, 4);
            CREATE TABLE log(x);
            CREATE VIEW v AS SELECT * FROM gone;
            CREATE TRIGGER t AFTER INSERT ON log BEGIN INSERT INTO gone VALUES (1); END;
            """)
        try fleet.join()
        for device in 0...1 {
            try fleet.shell(device, "DROP TABLE \"my item\"; CREATE TABLE \"my item\"(k INTEGER PRIMARY KEY, y, z);")
        }
        try fleet.settle()
        try fleet.shell(0, "INSERT INTO \"my item\" VALUES (7, 8, 9); DELETE FROM \"my item\" WHERE k = 7;")
        try fleet.shell(0, "ALTER TABLE \"my item\" ADD COLUMN w; INSERT INTO \"my item\" VALUES (8, 8, 9, 1);")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(0, "SELECT * FROM \"my item\" WHERE k = 8"), "8|8|9|1\n")
        XCTAssertEqual(try fleet.shell(1, "SELECT * FROM \"my item\" WHERE k = 8"), "8|8|9\n")
    }

    func testALogIsRolledUpAlsoWhereItsFirstChangesetsHaveNoTimeOfTheirOwn() throws {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE z(id INTEGER PRIMARY KEY, x); CREATE TABLE t1(x TEXT PRIMARY KEY);")
        // Notes of a table that is gone, and then a schema alone.
        try fleet.shell(0, "INSERT INTO t1 VALUES ('a'); DROP TABLE t1;")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "CREATE TABLE t2(a TEXT PRIMARY KEY);")
        _ = try fleet.replicas[0].sync()
        for value in 0..<20 {
            try fleet.shell(0, "INSERT INTO z(x) VALUES (\(value))")
            _ = try fleet.replicas[0].sync()
        }
        let segments = try fleet.replicas[0].store.ownSegments()
        XCTAssertTrue(segments.contains { $0.changesets >= 16 }, "\(segments.map(\.changesets))")
        XCTAssertEqual(segments.map(\.time), segments.map(\.time).sorted())
    }

    func testSegmentsOutOfTheOrderOfTimesAreNotPutTogether() throws {
        let segments = (1...40).map { number in
            OwnSegment(
                first: number, last: number, changes: 1, bytes: 100, checksum: .init(high: number, low: 0),
                time: .init(rawValue: number == 3 ? 1 : number + 100), publishedMilliseconds: 0)
        }
        let runs = RollUpPlan(maximumBytes: 1 << 20).runs(segments)
        XCTAssertFalse(runs.isEmpty)
        XCTAssertFalse(runs.contains { $0.first < 3 && $0.last >= 3 })
    }
}
