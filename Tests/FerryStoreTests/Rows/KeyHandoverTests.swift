import FerryCore
import XCTest

@testable import FerryStore

/// Keys that get another owner while rows refer to them, in histories that random tests found.
final class KeyHandoverTests: XCTestCase {
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
        try device.run(
            "INSERT INTO person(id, name) VALUES (1, 'old'); INSERT INTO album(title, owner) VALUES ('x', 1)")
        try device.flush()
        try device.run("DELETE FROM person; INSERT INTO person(id, name) VALUES (1, 'new')", foreignKeys: false)
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT title, name FROM album JOIN person ON person.id = owner"), ["x|new"])
            XCTAssertEqual(try Oracle(.library).complaints(about: each), [])
        }
    }

    func testAValueThatAForeignKeyRefersToIsTakenAwayWithForeignKeysOff() throws {
        let device = try TestDevice(1, .catalogue)
        try device.run(
            "INSERT INTO maker(id, code) VALUES (1, 'd'); INSERT INTO product(id, maker, status) VALUES (1, 'd', NULL); INSERT INTO stock VALUES (1, 1, 'd')"
        )
        try device.flush()
        try device.run("UPDATE maker SET code = NULL", foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.catalogue).complaints(about: device), [])
        try device.run("UPDATE maker SET code = 'd'", foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.catalogue).complaints(about: device), [])
        XCTAssertEqual(try device.query("SELECT count(*) FROM stock"), ["1"])
    }

    func testRowsBelowARowOfWhichTheKeyWentAwayWithForeignKeysOff() throws {
        let device = try TestDevice(1, .tags)
        try device.run("INSERT INTO item(id) VALUES (1); INSERT INTO tag(name) VALUES ('a')")
        try device.flush()
        try device.run("DELETE FROM item; INSERT INTO remark(item, tag) VALUES (1, 'a')", foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.tags).complaints(about: device), [])
    }

    func testTwoRowsThatBecomeOneObjectWithForeignKeysOff() throws {
        let orphan = try TestDevice(1, .tags)
        try orphan.run("INSERT INTO tag(name) VALUES ('c'); ")
        try orphan.flush()
        try orphan.run(
            "INSERT INTO item_tag(item, tag) VALUES (1, 'c'); INSERT INTO item(id) VALUES (1); UPDATE item SET id = 5",
            foreignKeys: false)
        try orphan.run("INSERT INTO item_tag(item, tag) VALUES (5, 'c')")
        try orphan.flush()
        XCTAssertEqual(try Oracle(.tags).complaints(about: orphan), [])
        for isKnown in [true, false] {
            let device = try TestDevice(1, .tags)
            try device.run("INSERT INTO tag(name) VALUES ('c'); INSERT INTO item(id) VALUES (1)")
            if isKnown { try device.flush() }
            try device.run(
                "INSERT INTO item_tag(item, tag) VALUES (1, 'c'); UPDATE item SET id = 5", foreignKeys: false)
            try device.run("INSERT INTO item_tag(item, tag) VALUES (5, 'c')")
            try device.flush()
            XCTAssertEqual(try Oracle(.tags).complaints(about: device), [], "\(isKnown)")
        }
    }

    func testANewRowThatRefersToItselfIsGivenAnotherKey() throws {
        let schema = TestSchema(
            name: "self", sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, up INTEGER REFERENCES t ON UPDATE CASCADE)")
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO t VALUES (1, 1); UPDATE t SET id = 5")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM t"), ["5|5"])
        XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
    }

    func testWhatIsReferredToAgainAfterItsRowCameAndWentKeepsItsKey() throws {
        let device = try TestDevice(1, .library)
        try device.run("INSERT INTO person(id, name, boss) VALUES (1, 'a', 7)", foreignKeys: false)
        try device.flush()
        try device.run(
            "INSERT INTO person(id, name) VALUES (7, 'b'); DELETE FROM person WHERE id = 7", foreignKeys: false)
        try device.run("INSERT INTO person(id, name, boss) VALUES (2, 'c', 7)", foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.library).complaints(about: device), [])
    }

    func testADeletedRowMeantTheParentThatWasGivenAnotherKeyWithForeignKeysOff() throws {
        let (device, other) = (try TestDevice(1, .library), try TestDevice(2, .library))
        try device.run(
            "INSERT INTO person(id, name) VALUES (1, 'p'); INSERT INTO album(id, title, owner) VALUES (1, 'a', 1)")
        try device.flush()
        try device.run("UPDATE person SET id = 5; DELETE FROM album", foreignKeys: false)
        try device.flush()
        try other.receive(device)
        for each in [device, other] { XCTAssertEqual(try Oracle(.library).complaints(about: each), []) }
    }

    func testALinkToOneRowTwiceStaysWhatItIsWhenThatRowIsGivenAnotherKeyWithForeignKeysOff() throws {
        let schema = TestSchema(
            name: "links",
            sql: """
                CREATE TABLE node(id INTEGER PRIMARY KEY);
                CREATE TABLE link(
                    a INTEGER NOT NULL REFERENCES node(id) ON DELETE CASCADE, b INTEGER NOT NULL REFERENCES node(id),
                    PRIMARY KEY (a, b));
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run("INSERT INTO node VALUES (1), (2), (3); INSERT INTO link VALUES (1, 1), (2, 3)")
        try device.flush()
        try device.run("UPDATE node SET id = id + 10", foreignKeys: false)
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
        XCTAssertEqual(try device.query("SELECT * FROM link ORDER BY a"), ["1|1", "2|3"])
    }

    func testADeclaredIdentityThatComesBackUnderAnotherKeyLeavesItsFormerOne() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO tag VALUES (1, 'd'); INSERT INTO song_tag VALUES (7, 1, 'old')")
        try one.flush()
        try one.run(
            """
            DELETE FROM tag; INSERT INTO tag VALUES (4, 'd'); INSERT INTO song_tag VALUES (2, 1, 'new');
            INSERT INTO song_tag VALUES (3, 4, 'named');
            """)
        try one.flush()
        try two.run("INSERT INTO tag VALUES (1, 'b')")
        try two.flush()
        try two.receive(one)
        try one.receive(two)
        for each in [one, two] {
            try assertInOrder(each)
            XCTAssertEqual(try each.query("SELECT name, note FROM song_tag JOIN tag ON tag = id"), ["d|named"])
        }
    }

    /// ON UPDATE CASCADE notes the row's reference to itself under the new key before the row has it; a row that was made and
    /// deleted in the same flush had that key before.
    func testARowThatRefersToItselfIsGivenTheKeyOfARowThatCameAndWent() throws {
        let schema = TestSchema(
            name: "nodes",
            sql: "CREATE TABLE node(id INTEGER PRIMARY KEY, up INTEGER REFERENCES node(id) ON UPDATE CASCADE);")
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run("INSERT INTO node VALUES (2, 2)")
        try device.flush()
        try device.run("INSERT INTO node VALUES (1, NULL); DELETE FROM node WHERE id = 1")
        try device.run("UPDATE node SET id = 1 WHERE id = 2")
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(try each.query("SELECT count(*), sum(id = up) FROM node"), ["1|1"])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
    }

    /// A product gets another integer and a row by it, while its former row is that of a new product.
    func testARowThatIsKnownByAnIntegerIsThatOfTheProductWhichTakesIt() throws {
        let schema = TestSchema(
            name: "deferred stock",
            sql: """
                CREATE TABLE product(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE stock(
                    product INTEGER PRIMARY KEY REFERENCES product(id) DEFERRABLE INITIALLY DEFERRED, amount INTEGER);
                """)
        for isThere in [false, true] {
            let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
            let stock = "INSERT INTO stock VALUES (1, 5)"
            try device.run("INSERT INTO product VALUES (1, 'a')\(isThere ? "; " + stock : "")")
            try device.flush()
            try device.run(
                """
                BEGIN; \(isThere ? "" : stock + ";") UPDATE product SET id = 2; INSERT INTO stock VALUES (2, 7);
                INSERT INTO product VALUES (1, 'b'); COMMIT
                """)
            try device.flush()
            try other.receive(device)
            for each in [device, other] {
                XCTAssertEqual(
                    try each.query("SELECT title, amount FROM product JOIN stock ON product = product.id ORDER BY 1"),
                    ["a|7", "b|5"])
                XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
            }
        }
    }

    /// The tables refer to each other, so rows that refer to the key are packed before the row that had the key first.
    func testARowIsMadeAndDeletedUnderTheKeyOfADeletedRow() throws {
        let device = try TestDevice(1, .circles)
        try device.run("INSERT INTO left(x) VALUES (NULL); INSERT INTO right(other) VALUES (1)")
        try device.flush()
        try device.run(
            "DELETE FROM left; INSERT INTO left(id, other, x) VALUES (1, 5, 'd'); DELETE FROM left WHERE id = 1",
            foreignKeys: false)
        try device.flush()
        XCTAssertEqual(try Oracle(.circles).complaints(about: device), [])
    }

    func testARowThatReplacedAnotherUnderItsKeyIsDeleted() throws {
        let device = try TestDevice(1, .loose)
        try device.run(
            "INSERT INTO tag(id, name) VALUES (5, 'b'), (6, 'A'); INSERT INTO song_tag(song, tag) VALUES (4, 5)")
        try device.flush()
        for key in [6, 1] {
            try device.run("INSERT OR IGNORE INTO tag(id, name) VALUES (1, 'A'), (5, 'b')")
            try device.flush()
            try device.run(
                "UPDATE OR REPLACE tag SET id = 5, name = NULL WHERE id = \(key); DELETE FROM tag WHERE id = 5")
            try device.flush()
            XCTAssertEqual(try Oracle(.loose).complaints(about: device), [])
        }
    }

    /// A deleted row comes back, because another row refers to it, while a new row wishes for its key.
    func testARowComesBackUnderItsKeyBesideANewRowThatWishesForIt() throws {
        let schema = TestSchema(
            name: "restricted",
            sql: """
                CREATE TABLE place(
                    id INTEGER PRIMARY KEY, name TEXT,
                    within INTEGER REFERENCES place(id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED);
                CREATE TABLE visit(
                    code TEXT PRIMARY KEY NOT NULL, place INTEGER REFERENCES place(id) ON DELETE SET NULL,
                    after TEXT REFERENCES visit(code) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
                """)
        for gone in 1...5 {
            let (first, second, third) = (
                try TestDevice(1, schema), try TestDevice(2, schema), try TestDevice(3, schema)
            )
            try second.run("INSERT INTO place VALUES (4, 'A', 4)")
            try first.run(
                """
                INSERT INTO place(name, within) VALUES ('B', 3), ('C', NULL);
                INSERT INTO visit VALUES ('b', 1, 'A'); INSERT INTO place(name, within) VALUES ('D', 2);
                """, foreignKeys: false)
            try third.run(
                "INSERT INTO place(name) VALUES ('E'); INSERT INTO visit VALUES ('d', 2, 'd')", foreignKeys: false)
            for device in [first, second, third] { try device.flush() }
            try first.receive(second)
            try second.run("INSERT INTO place(name, within) VALUES ('F', 4)")
            try third.receive(second, first)
            try second.receive(first)
            try second.run("DELETE FROM visit")
            try second.flush()
            try third.run("DELETE FROM place WHERE id = \(gone)", foreignKeys: false)
            try third.flush()
            try third.receive(second)
            for (one, other) in [(first, third), (second, third), (third, first), (third, second)] {
                try one.receive(other)
            }
            for device in [first, second, third] {
                XCTAssertEqual(try Oracle(schema).complaints(about: device), [], "\(gone)")
            }
        }
    }
}
