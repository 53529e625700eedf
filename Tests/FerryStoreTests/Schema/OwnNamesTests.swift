import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// What is Ferry's in a database is known by its exact name; an app may begin names of its own with `ferry_`.
final class OwnNamesTests: XCTestCase {
    private let schema = TestSchema(
        name: "ferry_",
        sql: """
            CREATE TABLE t(id INTEGER PRIMARY KEY, x);
            CREATE TABLE ferry_schedule(id INTEGER PRIMARY KEY, t INTEGER REFERENCES t ON DELETE CASCADE, x);
            CREATE TABLE Ferry_Object_1(object, x);
            CREATE TABLE ferry_old_7(id INTEGER PRIMARY KEY);
            CREATE TRIGGER ferry_stamp AFTER INSERT ON t BEGIN INSERT INTO ferry_schedule(t, x) VALUES (NEW.id, 'new'); END;
            CREATE TRIGGER ferry_1_insert_log AFTER DELETE ON t BEGIN INSERT INTO ferry_old_7 VALUES (NULL); END;
            """)

    func testAnAppsTablesWhoseNamesBeginAsFerrysDoStayAndAreNamedAsLeftOut() throws {
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO t VALUES (1, 'a')")
        try device.flush()
        XCTAssertEqual(
            try device.store.status().leftOut.map(\.name), ["ferry_schedule", "Ferry_Object_1", "ferry_old_7"])
        XCTAssertFalse(try device.store.status().tables.contains { $0.name.hasPrefix("ferry_") })
        try device.store.endTracking()
        try device.run("INSERT INTO t VALUES (2, 'b'); DELETE FROM t WHERE id = 1")
        XCTAssertEqual(
            try device.query("SELECT name FROM sqlite_schema WHERE type IN ('table', 'trigger') ORDER BY rowid"),
            ["t", "ferry_schedule", "Ferry_Object_1", "ferry_old_7", "ferry_stamp", "ferry_1_insert_log"])
        XCTAssertEqual(try device.query("SELECT t, x FROM ferry_schedule"), ["2|new"])
        XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_old_7"), ["1"])
    }

    func testTheAppsTriggersRunDuringReplayWhateverTheirNames() throws {
        let devices = [try TestDevice(1, schema), try TestDevice(2, schema)]
        try devices[0].run("INSERT INTO t VALUES (1, 'a')")
        try devices[0].flush()
        try devices[1].receive(devices[0])
        XCTAssertEqual(try devices[1].query("SELECT t, x FROM ferry_schedule"), ["1|new"])
    }

    func testADatabaseWithATableByANameThatFerryNeedsIsRefusedUntouched() throws {
        for name in ["ferry_meta", "FERRY_Pending", "ferry_kv_value"] {
            let sql = "CREATE TABLE t(id INTEGER PRIMARY KEY); CREATE TABLE \(name)(x);"
            XCTAssertThrowsError(try TestDevice(1, TestSchema(name: "taken", sql: sql))) { error in
                XCTAssertEqual((error as? FerryError)?.code, .unsupportedTable)
                XCTAssertTrue("\(error)".contains(name), "\(error)")
            }
        }
    }

    func testNamesOfTriggersTellTheirTable() {
        for name in [
            "ferry_1_insert", "ferry_1_update_0", "ferry_1_update_key_32", "ferry_1_reference_4",
            "ferry_1_displace_new_key",
            "ferry_1_unforeseen_update",
        ] {
            XCTAssertEqual(OwnNames.table(ofTrigger: name), 1, name)
        }
        for name in [
            "ferry_insert", "ferry_1_update_x", "ferry_1", "ferry_a_insert", "ferry_1_inserted", "my_1_insert",
        ] {
            XCTAssertNil(OwnNames.table(ofTrigger: name), name)
        }
    }
}
