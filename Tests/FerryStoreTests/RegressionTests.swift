import FerryCore
import XCTest

@testable import FerryStore

/// Histories that random tests have found, cut down to what matters.
final class RegressionTests: XCTestCase {
    func testAnObjectThatReplacesTheOneOfItsKeyAndRefersToItself() throws {
        let device = try TestDevice(1, .library)
        try device.run("INSERT INTO person(id, email) VALUES (0, 'c')")
        try device.flush()
        try device.run("INSERT INTO person(name, email, boss) VALUES ('d', 'b', 0)")
        try device.run("UPDATE person SET boss = 0, age = 4")
        for sql in ["INSERT INTO person(id, name, email) VALUES (2, 'c', 'b')"] { XCTAssertThrowsError(try device.run(sql)) }
        try device.flush()
        XCTAssertEqual(try Oracle(.library).complaints(about: device), [])
    }

    func testARowDeletedWithForeignKeysOffLeavesItsChildrenCleared() throws {
        let device = try TestDevice(1, .catalogue)
        try device.run("INSERT INTO status(code) VALUES ('A'), ('b'); INSERT INTO product(status) VALUES ('b'), ('A')")
        try device.flush()
        try device.run("DELETE FROM status", foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.catalogue).complaints(about: device), [])
    }

    func testAKeyThatChangesHandsWhileForeignKeysAreOffTakesItsChildrenAlong() throws {
        let (device, other) = (try TestDevice(1, .library), try TestDevice(2, .library))
        try device.run("INSERT INTO person(id, name) VALUES (1, 'old'); INSERT INTO album(title, owner) VALUES ('x', 1)")
        try device.flush()
        try device.run("DELETE FROM person; INSERT INTO person(id, name) VALUES (1, 'new')", foreignKeys: false)
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT title, name FROM album JOIN person ON person.id = owner"), ["x|new"])
            XCTAssertEqual(try Oracle(.library).complaints(about: each), [])
        }
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

    func testANewKeyTakesTheRowThatIsAsNew() throws {
        let device = try TestDevice(1, .catalogue)
        try device.run("INSERT INTO maker(code) VALUES ('c'), ('a'), ('d')")
        try device.run("UPDATE OR REPLACE maker SET id = 3 WHERE id = 2")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT id, code FROM maker ORDER BY id"), ["1|c", "3|a"])
        XCTAssertEqual(try Oracle(.catalogue).complaints(about: device), [])
    }
}
