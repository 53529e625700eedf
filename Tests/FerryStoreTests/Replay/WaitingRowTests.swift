import FerryCore
import XCTest

@testable import FerryStore

/// Rows that wait for their targets, are held back or are revived, in histories that random tests found.
final class WaitingRowTests: XCTestCase {
    func testADefaultThatArrivesLaterIsShown() throws {
        let (device, other) = (try TestDevice(1, .catalogue), try TestDevice(2, .catalogue))
        try device.run("INSERT INTO status(code) VALUES ('b')")
        try device.flush()
        try other.receive(device)
        try device.run("INSERT INTO product(status) VALUES ('b')")
        try device.flush()
        try other.run("DELETE FROM status")
        try other.flush()
        try device.receive(other)
        XCTAssertEqual(try device.query("SELECT status FROM product"), ["NULL"])
        try other.run("INSERT INTO status(code) VALUES ('a')")
        try other.flush()
        try device.receive(other)
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT status FROM product"), ["a"])
            XCTAssertEqual(try Oracle(.catalogue).complaints(about: each), [])
        }
    }

    func testALaterChangeThanTheOneThatAForeignKeyUndidIsKept() throws {
        let (device, other) = (try TestDevice(1, .circles), try TestDevice(2, .circles))
        try device.run("INSERT INTO node(id) VALUES (3); INSERT INTO right(id) VALUES (1)")
        try device.flush()
        try device.run("UPDATE right SET node = 3; DELETE FROM node")
        try device.flush()
        try other.receive(device)
        for each in [device, other] { XCTAssertEqual(try Oracle(.circles).complaints(about: each), []) }
    }

    func testAParentThatArrivesAlreadyDeletedIsHeldBackByTheRowThatWaitsForIt() throws {
        let devices = try (1...4).map { try TestDevice($0, .library) }
        try devices[0].run("INSERT INTO person(id, name) VALUES (1, 'p')")
        try devices[0].flush()
        try devices[1].receive(devices[0])
        try devices[2].receive(devices[0])
        try devices[1].run("DELETE FROM person")
        try devices[1].flush()
        try devices[2].run(
            "INSERT INTO album(id, title) VALUES (1, 'a'); INSERT INTO song(album, writer) VALUES (1, 1)")
        try devices[2].flush()
        for index in [2, 1, 0] { try devices[3].receive(devices[index]) }
        XCTAssertEqual(try devices[3].query("SELECT name FROM person JOIN song ON writer = person.id"), ["p"])
        XCTAssertEqual(try Oracle(.library).complaints(about: devices[3]), [])
    }

    func testADeletedRowIsMeantByARowBelowALinkThatIsGone() throws {
        let device = try TestDevice(1, .loose)
        try device.run(
            """
            INSERT INTO song(id) VALUES (1); INSERT INTO tag(id, name) VALUES (1, 'a');
            INSERT INTO song_tag VALUES (1, 1, NULL); INSERT INTO remark VALUES (1, 1, 1, 'r');
            """)
        try device.flush()
        try device.run("DELETE FROM tag; DELETE FROM song_tag", foreignKeys: false)
        try device.flush()
        try assertInOrder(device)
    }

    func testARowThatIsRevivedRefersToItself() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO folder(id, parent, label) VALUES (1, 9, 'a')")
        try one.flush()
        try two.receive(one)
        try two.run("DELETE FROM folder")
        try two.flush()
        one.clock.now += 1000
        try one.run("UPDATE folder SET parent = 1")
        try one.flush()
        try two.receive(one)
        try one.receive(two)
        for each in [one, two] {
            XCTAssertEqual(try each.query("SELECT id = parent, label FROM folder"), ["1|a"])
            try assertInOrder(each)
        }
    }

    func testARowThatRefersToAValueWhichIsShownClearedWaitsForIt() throws {
        let schema = TestSchema(
            name: "chain",
            sql: """
                CREATE TABLE a(id TEXT PRIMARY KEY NOT NULL, v UNIQUE);
                CREATE TABLE b(id TEXT PRIMARY KEY NOT NULL, r UNIQUE REFERENCES a(v) ON DELETE SET NULL);
                CREATE TABLE c(id TEXT PRIMARY KEY NOT NULL, r REFERENCES b(r));
                """)
        let (one, two) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try one.run("INSERT INTO a VALUES ('x', 1)")
        try one.flush()
        try two.receive(one)
        try two.run("DELETE FROM a")
        try two.flush()
        try one.run("INSERT INTO b VALUES ('y', 1); INSERT INTO c VALUES ('z', 1)")
        try one.flush()
        try two.receive(one)
        try one.receive(two)
        for each in [one, two] {
            XCTAssertEqual(try each.query("SELECT id, r FROM b UNION ALL SELECT id, r FROM c"), ["y|NULL"])
            try assertInOrder(each)
        }
        two.clock.now += 1000
        try two.run("INSERT INTO a VALUES ('x', 1)")
        try two.flush()
        try one.receive(two)
        for each in [one, two] {
            XCTAssertEqual(try each.query("SELECT id, r FROM b UNION ALL SELECT id, r FROM c"), ["y|1", "z|1"])
            try assertInOrder(each)
        }
    }

    func testAReferenceWrittenAfterItsTargetWasDeletedStands() throws {
        let schema = TestSchema(
            name: "written",
            sql: """
                CREATE TABLE parent(id INTEGER PRIMARY KEY);
                CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE SET NULL);
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run("INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1)")
        try device.flush()
        try device.run("DELETE FROM parent WHERE id = 1; UPDATE child SET parent = 2")
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT parent FROM child"), ["2"])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
    }

    /// The link is known by the song that is there in the end, so that others know what its deletion is about.
    func testALinkOfASongThatComesAndGoesAndComesAgainAtOnce() throws {
        let schema = TestSchema(
            name: "deferred",
            sql: """
                CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE song_tag(
                    song INTEGER NOT NULL REFERENCES song(id) DEFERRABLE INITIALLY DEFERRED, tag TEXT NOT NULL,
                    PRIMARY KEY(song, tag));
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run(
            """
            BEGIN; INSERT INTO song VALUES (1, 'a'); INSERT INTO song_tag VALUES (1, 'x'); DELETE FROM song;
            INSERT INTO song VALUES (1, 'b'); COMMIT
            """)
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT title, tag FROM song JOIN song_tag ON song = song.id"), ["b|x"])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
        try other.run("DELETE FROM song_tag")
        try other.flush()
        try device.receive(other)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT tag FROM song_tag"), [])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
    }
}
