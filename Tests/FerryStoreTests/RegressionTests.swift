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
        for sql in ["INSERT INTO person(id, name, email) VALUES (2, 'c', 'b')"] {
            XCTAssertThrowsError(try device.run(sql))
        }
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

    func testARowThatReplacesTheOneOfAParentThatWasGivenAnotherKey() throws {
        let device = try TestDevice(1, .loose)
        try device.run("INSERT INTO song(id) VALUES (1); INSERT INTO cover VALUES (1, 3)")
        try device.flush()
        try device.run("UPDATE song SET id = 4; INSERT OR REPLACE INTO cover VALUES (1, 1)")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT * FROM cover"), ["1|1"])
        XCTAssertEqual(try Oracle(.loose).complaints(about: device), [])
    }

    func testWhatReferredToAJoinedRowThatIsDeletedRefersToItsOwnAlbum() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO album(title) VALUES ('A')")
        try one.flush()
        two.clock.now += 1000
        try two.run("INSERT INTO album(id, title) VALUES (2, 'A'); INSERT INTO song(id, album) VALUES (1, 2)")
        try two.flush()
        try two.receive(one)
        try two.run("DELETE FROM album")
        try two.flush()
        try one.receive(two)
        for each in [one, two] { try assertInOrder(each) }
    }

    func testARowThatRefersToWhatWasJoinedAndIsDeletedInTheSameBatch() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try two.run("INSERT INTO album(title) VALUES ('A')")
        try two.flush()
        one.clock.now += 1000
        try one.run("INSERT INTO album(id, title) VALUES (2, 'A')")
        try one.flush()
        try two.receive(one)
        try one.run("INSERT INTO song(id, album) VALUES (1, 2); DELETE FROM album")
        try one.flush()
        try two.receive(one)
        try one.receive(two)
        for each in [one, two] { try assertInOrder(each) }
    }

    func testAJoinedRowShowsAReferenceThatLooksLikeThePlainValueOfAnother() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO album(artist, title) VALUES (0, 'A')")
        try one.flush()
        two.clock.now += 1000
        try two.run("INSERT INTO artist(id) VALUES (0); INSERT INTO album(artist, title) VALUES (0, 'A')")
        try two.flush()
        try two.receive(one)
        try one.receive(two)
        XCTAssertEqual(try two.query("SELECT artist, title FROM album"), ["0|A"])
        for each in [one, two] { try assertInOrder(each) }
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

    func testRowsWhoseKeysMoveUpBecauseTheirParentsWereJoined() throws {
        let schema = TestSchema(
            name: "parts",
            sql: """
                CREATE TABLE p(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE part(p INTEGER PRIMARY KEY REFERENCES p(id), note) WITHOUT ROWID;
                """)
        for (x, y) in [("a", "b"), ("b", "a")] {
            let (one, two) = (try TestDevice(1, schema), try TestDevice(2, schema))
            try one.run("INSERT INTO p VALUES (1, '\(x)'), (2, '\(y)')")
            try one.flush()
            two.clock.now += 1000
            try two.run("INSERT INTO p VALUES (1, 'b'), (2, 'a'); INSERT INTO part VALUES (1, 'b'), (2, 'a')")
            try two.flush()
            try two.receive(one)
            try one.receive(two)
            for each in [one, two] {
                try assertInOrder(each)
                XCTAssertEqual(
                    try each.query("SELECT name, note FROM p JOIN part ON p = id ORDER BY 1"), ["a|a", "b|b"])
            }
        }
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

    func testARowThatComesJoinedIsMeantByRowsThatReferredToItBeforeItCame() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO song(id, title) VALUES (1, 'a')")
        try one.flush()
        try two.run("INSERT INTO cover VALUES (1, 3); INSERT INTO song_tag VALUES (1, 4, 'n')")
        try two.flush()
        two.clock.now += 1000
        try two.run("INSERT INTO song(id, title) VALUES (1, 'a')")
        try two.flush()
        // The reference comes first, by a stand-in, and then the row that is one with another.
        try one.pass(one.news(from: two, limit: 1))
        try one.receive(two)
        try two.receive(one)
        for each in [one, two] {
            XCTAssertEqual(try each.query("SELECT title, place FROM cover JOIN song ON song = id"), ["a|3"])
            XCTAssertEqual(try each.query("SELECT title, note FROM song_tag JOIN song ON song = id"), ["a|n"])
            try assertInOrder(each)
        }
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

    func testAJoinedRowShowsAPlainValueThatLooksLikeAReference() throws {
        let (one, two) = (try TestDevice(1, .loose), try TestDevice(2, .loose))
        try one.run("INSERT INTO artist(id) VALUES (0), (3); INSERT INTO album(artist, title) VALUES (3, 'A')")
        try one.flush()
        two.clock.now += 1000
        try two.run("INSERT INTO album(artist, title) VALUES (0, 'A')")
        try two.flush()
        try one.receive(two)
        try two.receive(one)
        XCTAssertEqual(try one.query("SELECT artist, title FROM album"), ["0|A"])
        for each in [one, two] { try assertInOrder(each) }
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

    func testPartOfAReferenceIsWrittenWhoseTargetIsOneWithAnother() throws {
        let schema = TestSchema(
            name: "halves",
            sql: """
                CREATE TABLE p(a TEXT, b INTEGER, u UNIQUE, PRIMARY KEY (a, b));
                CREATE TABLE c(id INTEGER PRIMARY KEY, pa TEXT, pb INTEGER, FOREIGN KEY (pa, pb) REFERENCES p(a, b));
                """)
        for writer in 0..<2 {
            let all = [try TestDevice(1, schema), try TestDevice(2, schema)]
            try all[0].run("INSERT INTO p VALUES ('a', 4, 'one')")
            try all[0].flush()
            all[1].clock.now += 1000
            try all[1].run(
                """
                INSERT INTO p VALUES ('A', 1, 'one'), ('c', 4, NULL), ('c', 1, NULL);
                INSERT INTO c VALUES (1, 'A', 1);
                """)
            try all[1].flush()
            try all[0].receive(all[1])
            if writer == 0 { try all[1].receive(all[0]) }
            XCTAssertEqual(try all[0].query("SELECT pa, pb FROM c"), ["a|4"])
            for device in all { device.clock.now += 1000 }
            // One sees ('a', 4), the other one ('A', 1).
            let shown = writer == 0 ? "c|4" : "c|1"
            try all[1].run("UPDATE c SET pa = 'c'")
            try all[1].flush()
            XCTAssertEqual(try all[1].query("SELECT pa, pb FROM c"), [shown])
            try all[0].receive(all[1])
            try all[1].receive(all[0])
            for device in all {
                XCTAssertEqual(try device.query("SELECT pa, pb FROM c"), [shown], "\(writer)")
                try assertInOrder(device)
            }
        }
    }

    private func assertInOrder(_ device: TestDevice) throws {
        XCTAssertEqual(try Oracle(device.schema).complaints(about: device), [])
        XCTAssertEqual(try device.store.verify(deep: true).differences, [])
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

    /// The row that held the integer is one with another row now, so nothing does while the rules are at work, and a row that
    /// comes with them is given it.
    func testAnIntegerThatARowWaitsByGoesToAnotherRowWhileRowsBecomeOne() throws {
        let schema = TestSchema(
            name: "folders",
            sql: """
                CREATE TABLE folder(id INTEGER PRIMARY KEY, parent INTEGER, label TEXT);
                CREATE TABLE song(id INTEGER PRIMARY KEY, folder INTEGER, title TEXT UNIQUE);
                """,
            references: [
                UndeclaredReference(table: "folder", column: "parent", parent: "folder"),
                UndeclaredReference(table: "song", column: "folder", parent: "folder"),
            ])
        let (one, two) = (try TestDevice(1, schema), try TestDevice(2, schema))
        let three = try TestDevice(3, schema, hoursAhead: 1)
        try one.run("INSERT INTO song VALUES (1, NULL, 'a')")
        try two.run("INSERT INTO folder VALUES (3, 3, 'theirs')")
        try three.run("INSERT INTO song VALUES (4, 3, 'a')")
        for each in [one, two, three] { try each.flush() }
        for each in [one, two, three] { try each.receive(one, two, three) }
        for each in [one, two, three] {
            XCTAssertEqual(
                try each.query("SELECT title, label FROM song LEFT JOIN folder ON folder.id = folder"), ["a|NULL"])
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
}
