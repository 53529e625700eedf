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

    /// Two rows get the same key, one after the other, and the second replaces the first. SQLite records what follows by ON UPDATE
    /// CASCADE before the row itself.
    func testRowsThatFollowTheSecondOfTwoRowsToOneKeyBelongToThatOne() throws {
        let schema = TestSchema(
            name: "visits",
            sql: """
                CREATE TABLE place(id INTEGER PRIMARY KEY NOT NULL, title TEXT) WITHOUT ROWID;
                CREATE TABLE visit(
                    place INTEGER NOT NULL REFERENCES place(id) ON DELETE CASCADE ON UPDATE CASCADE,
                    day INTEGER NOT NULL, note TEXT, PRIMARY KEY(place, day));
                """)
        for isSent in [false, true] {
            for first in ["", "INSERT INTO visit VALUES (1, 3, 'first');", "INSERT INTO visit VALUES (1, 4, 'first');"]
            {
                let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
                try device.run(
                    "INSERT INTO place VALUES (1, 'a'), (5, 'b'); \(first) INSERT INTO visit VALUES (5, 3, 'second')")
                if isSent { try device.flush() }
                try device.run("UPDATE OR REPLACE place SET id = 0")
                try device.flush()
                try other.receive(device)
                for each in [device, other] {
                    XCTAssertEqual(
                        try each.query("SELECT title, note FROM place JOIN visit ON place = id"), ["b|second"])
                    try assertInOrder(each)
                    XCTAssertEqual(try each.store.verify(deep: true).differences.map(\.problem), [])
                }
            }
        }
    }

    /// One key is given to two rows in turn: each row's followers know it by the row that is about to get it.
    func testRowsThatFollowRowsToAKeyThatTwoOfThemGetInTurn() throws {
        let schema = TestSchema(
            name: "visits",
            sql: """
                CREATE TABLE place(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE visit(
                    place INTEGER NOT NULL REFERENCES place(id) ON UPDATE CASCADE,
                    day INTEGER NOT NULL, note TEXT, PRIMARY KEY(place, day));
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run(
            "INSERT INTO place VALUES (5, 'a'), (6, 'b'); INSERT INTO visit VALUES (5, 3, 'a'), (6, 3, 'b'), (6, 4, 'b')"
        )
        try device.flush()
        try device.run(
            "UPDATE place SET id = 9 WHERE id = 5; UPDATE place SET id = 7 WHERE id = 9; UPDATE place SET id = 9 WHERE id = 6"
        )
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(
                try each.query("SELECT title, day, note FROM place JOIN visit ON place = id ORDER BY 1, 2"),
                ["a|3|a", "b|3|b", "b|4|b"])
            XCTAssertEqual(try each.store.verify(deep: true).differences.map(\.problem), [])
        }
        XCTAssertEqual(try device.query("SELECT kind FROM ferry_conflict"), [])
        try assertInOrder(device)
        try assertInOrder(other)
    }
}
