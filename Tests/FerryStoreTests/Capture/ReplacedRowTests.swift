import FerryCore
import XCTest

@testable import FerryStore

/// Rows that OR REPLACE and upserts put in the place of others, in histories that random tests found.
final class ReplacedRowTests: XCTestCase {
    func testAnObjectThatReplacesTheOneOfItsKeyAndRefersToItself() throws {
        let device = try TestDevice(1, .library)
        try device.run("INSERT INTO person(id, email) VALUES (0, 'c')")
        try device.flush()
        try device.run("INSERT INTO person(name, email, boss) VALUES ('d', 'b', 0)")
        try device.run("UPDATE person SET boss = 0, age = 4")
        for sql in ["INSERT INTO person(id, name, email) VALUES (2, 'c', 'b')"] {
            XCTAssertThrowsError(try device.run(sql))
        }
        try device.flush()
        XCTAssertEqual(try Oracle(.library).complaints(about: device), [])
    }

    func testAKeyAndAnotherColumnChangeInOneUpdateThatDisplacesARow() throws {
        let (device, other) = (try TestDevice(1, .library), try TestDevice(2, .library))
        try device.run("INSERT INTO person(id, name, age) VALUES (1, 'one', 1), (2, 'two', 2)")
        try device.flush()
        try device.run("UPDATE OR REPLACE person SET id = 2, age = 3 WHERE id = 1")
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT name, age FROM person"), ["one|3"])
            XCTAssertEqual(try Oracle(.library).complaints(about: each), [])
        }
    }

    /// The replaced rows are two: one by the key, the other by the UNIQUE value, whose reference to the first is cleared
    /// before it goes.
    func testARowWhoseReferenceIsClearedWhileItIsReplacedKeepsItsValues() throws {
        for keyIsReused in [false, true] {
            let (device, other) = (try TestDevice(1, .library), try TestDevice(2, .library))
            try device.run(
                "INSERT INTO person(id, name, email, boss) VALUES (2, 'a', 'A', NULL); "
                    + "INSERT INTO person(id, name, email, boss) VALUES (4, 'c', 'b', 2)")
            try device.flush()
            try other.receive(device)
            try other.run("UPDATE person SET age = 1 WHERE id = 4")
            try other.flush()
            try device.run("INSERT OR REPLACE INTO person(id, email) VALUES (2, 'b')")
            if keyIsReused { try device.run("INSERT INTO person(id, name) VALUES (4, 'new')") }
            try device.flush()
            XCTAssertEqual(try Oracle(.library).complaints(about: device), [])
            try device.receive(other)
            try other.receive(device)
            for each in [device, other] {
                XCTAssertEqual(try each.query("SELECT name, age FROM person WHERE email = 'b'").count, 1)
                XCTAssertEqual(try each.query("SELECT age FROM person WHERE name = 'new'").count, keyIsReused ? 1 : 0)
                XCTAssertEqual(try Oracle(.library).complaints(about: each), [])
            }
        }
    }

    /// An upsert looks at the row that holds the value, changes it, and the next statement replaces it.
    func testARowThatAnUpsertChangedIsReplaced() throws {
        for next in ["INSERT OR REPLACE INTO person(id, email) VALUES (9, 'b')", "REPLACE INTO person(id) VALUES (4)"] {
            let (device, other) = (try TestDevice(1, .library), try TestDevice(2, .library))
            try device.run("INSERT INTO person(id, name, email) VALUES (4, 'c', 'b')")
            try device.flush()
            try other.receive(device)
            try other.run("UPDATE person SET boss = 4 WHERE id = 4")
            try other.flush()
            try device.run(
                "INSERT INTO person(email) VALUES ('b') ON CONFLICT(email) DO UPDATE SET age = 3; " + next)
            try device.flush()
            XCTAssertEqual(try Oracle(.library).complaints(about: device), [])
            try device.receive(other)
            try other.receive(device)
            for each in [device, other] { XCTAssertEqual(try Oracle(.library).complaints(about: each), []) }
        }
    }

    func testANewKeyTakesTheRowThatIsAsNew() throws {
        let device = try TestDevice(1, .catalogue)
        try device.run("INSERT INTO maker(code) VALUES ('c'), ('a'), ('d')")
        try device.run("UPDATE OR REPLACE maker SET id = 3 WHERE id = 2")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT id, code FROM maker ORDER BY id"), ["1|c", "3|a"])
        XCTAssertEqual(try Oracle(.catalogue).complaints(about: device), [])
    }

    func testARowThatReplacesTheOneOfAParentThatWasGivenAnotherKey() throws {
        let device = try TestDevice(1, .loose)
        try device.run("INSERT INTO song(id) VALUES (1); INSERT INTO cover VALUES (1, 3)")
        try device.flush()
        try device.run("UPDATE song SET id = 4; INSERT OR REPLACE INTO cover VALUES (1, 1)")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM cover"), ["1|1"])
        XCTAssertEqual(try Oracle(.loose).complaints(about: device), [])
    }

    func testARowThatIsReplacedBecauseOfTheDefaultThatTakesTheNullsPlace() throws {
        let schema = TestSchema(
            name: "defaults",
            sql: "CREATE TABLE t(name TEXT PRIMARY KEY NOT NULL, place INTEGER NOT NULL DEFAULT 1, UNIQUE (place))")
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO t VALUES ('a', 1), ('b', 2)")
        try device.flush()
        try device.run("INSERT OR REPLACE INTO t VALUES ('c', NULL)")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM t ORDER BY name"), ["b|2", "c|1"])
        try assertInOrder(device)
        try device.run("UPDATE OR REPLACE t SET place = NULL WHERE name = 'b'")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM t"), ["b|1"])
        try assertInOrder(device)
    }
}
