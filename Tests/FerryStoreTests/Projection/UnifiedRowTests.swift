import FerryCore
import XCTest

@testable import FerryStore

/// Rows that show several objects, and rows that refer to them, in histories that random tests found.
final class UnifiedRowTests: XCTestCase {
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
}
