import FerryCore
import XCTest

@testable import FerryStore

/// Two people enter the same thing, which the schema allows only once: it becomes one row, with all that refers to it.
final class JoinStoryTests: XCTestCase {
    private static let music = TestSchema(
        name: "music",
        sql: """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, site TEXT UNIQUE, born INTEGER);
            CREATE TABLE album(
                id INTEGER PRIMARY KEY, artist INTEGER NOT NULL REFERENCES artist ON DELETE CASCADE, title TEXT NOT NULL,
                year INTEGER, UNIQUE(artist, title));
            CREATE TABLE song(
                id INTEGER PRIMARY KEY, album INTEGER REFERENCES album ON DELETE RESTRICT, title TEXT, rating INTEGER);
            CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE);
            CREATE TABLE song_tag(
                song INTEGER NOT NULL REFERENCES song ON DELETE CASCADE,
                tag INTEGER NOT NULL REFERENCES tag ON DELETE CASCADE, note TEXT, PRIMARY KEY (song, tag));
            CREATE TABLE remark(
                id INTEGER PRIMARY KEY, song INTEGER, tag INTEGER, text TEXT,
                FOREIGN KEY (song, tag) REFERENCES song_tag ON DELETE CASCADE);
            """)

    private static let library =
        "SELECT artist.name, album.title, song.title FROM song JOIN album ON album.id = song.album "
        + "JOIN artist ON artist.id = album.artist ORDER BY 1, 2, 3"

    /// Two devices that know nothing of each other; the second's clock is an hour ahead.
    private func pair() throws -> (TestDevice, TestDevice) {
        (try TestDevice(1, Self.music), try TestDevice(2, Self.music, hoursAhead: 1))
    }

    private func exchange(_ devices: TestDevice...) throws {
        for device in devices {
            device.clock.now += 1000
            try device.flush()
        }
        for _ in 0..<2 {
            for device in devices {
                for other in devices where other !== device { try device.receive(other) }
            }
        }
    }

    private func expect(
        _ devices: [TestDevice], _ query: String, _ rows: [String], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let oracle = try Oracle(Self.music)
        for device in devices {
            XCTAssertEqual(try device.query(query), rows, "device \(device.id.low)", file: file, line: line)
            XCTAssertEqual(try oracle.complaints(about: device), [], "device \(device.id.low)", file: file, line: line)
        }
    }

    func testTheSameArtistAndAlbumWithTheirSongsAreThereOnce() throws {
        let (first, second) = try pair()
        try first.run(
            """
            INSERT INTO artist(id, name, born) VALUES (1, 'Miles', 1926); INSERT INTO album VALUES (1, 1, 'Kind', 1959);
            INSERT INTO song VALUES (1, 1, 'So What', 5)
            """)
        try second.run(
            """
            INSERT INTO artist(id, name) VALUES (1, 'Gil'), (2, 'Miles'); INSERT INTO album VALUES (1, 2, 'Kind', NULL);
            INSERT INTO song VALUES (1, 1, 'Blue in Green', 4)
            """)
        try exchange(first, second)
        let third = try TestDevice(3, Self.music)
        try third.receive(first, second)
        let all = [first, second, third]
        try expect(all, Self.library, ["Miles|Kind|Blue in Green", "Miles|Kind|So What"])
        try expect(all, "SELECT name FROM artist ORDER BY name", ["Gil", "Miles"])
        try expect(all, "SELECT count(*) FROM album", ["1"])
    }

    func testWhatIsWrittenToAJoinedRowIsWrittenToAllOfIt() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Kind', 1959)")
        try second.run(
            "INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Blue', 1960)")
        try exchange(first, second)
        try first.run("UPDATE artist SET name = 'Miles Davis'")
        try exchange(first, second)
        try expect(
            [first, second], "SELECT name, title FROM artist JOIN album ON artist = artist.id ORDER BY title",
            ["Miles Davis|Blue", "Miles Davis|Kind"])
        try second.run("DELETE FROM artist")
        try exchange(first, second)
        try expect([first, second], "SELECT name FROM artist UNION SELECT title FROM album", [])
    }

    func testAJoinedRowThatOneSideRenamedComesApart() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Kind', 1959)")
        try second.run(
            "INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Blue', 1960)")
        try first.flush()
        try second.flush()
        let third = try TestDevice(3, Self.music)
        try third.receive(first, second)
        try expect([third], "SELECT count(*) FROM artist", ["1"])
        second.clock.now += 1000
        try second.run("UPDATE artist SET name = 'Gil'")
        try second.flush()
        try third.receive(second)
        try expect(
            [third], "SELECT name, title FROM artist JOIN album ON artist = artist.id ORDER BY title",
            ["Gil|Blue", "Miles|Kind"])
    }

    func testLinksAndWhatRefersToThemFollowAJoinedTag() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO song VALUES (1, NULL, 'So What', 5)")
        try exchange(first, second)
        try first.run("INSERT INTO tag VALUES (1, 'Blue'); INSERT INTO song_tag VALUES (1, 1, 'mine')")
        try second.run(
            """
            INSERT INTO tag VALUES (5, 'jazz'), (7, 'blue'); INSERT INTO song_tag VALUES (1, 7, 'yours');
            INSERT INTO remark VALUES (1, 1, 7, 'why?')
            """)
        try exchange(first, second)
        let query =
            "SELECT song.title, tag.name, note, text FROM remark JOIN song_tag USING (song, tag) "
            + "JOIN song ON song.id = song JOIN tag ON tag.id = tag"
        try expect([first, second], query, ["So What|blue|yours|why?"])
        try first.run("INSERT INTO remark VALUES (9, 1, (SELECT id FROM tag WHERE name = 'blue'), 'because')")
        try exchange(first, second)
        try expect(
            [first, second], query + " ORDER BY text", ["So What|blue|yours|because", "So What|blue|yours|why?"])
        try second.run("UPDATE song_tag SET note = 'ours'")
        try first.run("DELETE FROM remark WHERE text = 'why?'")
        try exchange(first, second)
        try expect([first, second], query, ["So What|blue|ours|because"])
    }

    func testALinkUnderTheYoungerTagIsShownUnderTheOlderOne() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO song VALUES (1, NULL, 'So What', 5)")
        try exchange(first, second)
        try first.run("INSERT INTO tag VALUES (1, 'blue')")
        try second.run("INSERT INTO tag VALUES (7, 'blue'); INSERT INTO song_tag VALUES (1, 7, 'yours')")
        try exchange(first, second)
        let query =
            "SELECT song.title, tag.name, note FROM song_tag JOIN song ON song.id = song JOIN tag ON tag.id = tag"
        try expect([first, second], query, ["So What|blue|yours"])
        try first.run("INSERT INTO remark SELECT 1, song, tag, 'first' FROM song_tag")
        try second.run("INSERT INTO remark SELECT 1, song, tag, 'second' FROM song_tag")
        try exchange(first, second)
        try expect(
            [first, second], "SELECT text, note FROM remark JOIN song_tag USING (song, tag) ORDER BY text",
            ["first|yours", "second|yours"])
        try first.run("DELETE FROM song_tag")
        try exchange(first, second)
        try expect([first, second], "SELECT note FROM song_tag UNION SELECT text FROM remark", [])
        try second.run("INSERT INTO song_tag SELECT song.id, tag.id, 'again' FROM song, tag")
        try exchange(first, second)
        try expect([first, second], query, ["So What|blue|again"])
    }

    func testALinkUnderTheOlderTagIsReplaced() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO song VALUES (1, NULL, 'So What', 5)")
        try exchange(first, second)
        try first.run("INSERT INTO tag VALUES (1, 'blue')")
        try second.run("INSERT INTO tag VALUES (7, 'blue'); INSERT INTO song_tag VALUES (1, 7, 'yours')")
        try exchange(first, second)
        let query = "SELECT tag.id, name, note FROM song_tag JOIN tag ON tag.id = tag"
        try expect([first, second], query, ["1|blue|yours"])
        try first.run("INSERT OR REPLACE INTO song_tag VALUES (1, 1, 'mine')")
        try exchange(first, second)
        try expect([first, second], query, ["1|blue|mine"])
        try second.run("INSERT OR REPLACE INTO song_tag VALUES (1, 1, 'ours'); DELETE FROM song_tag")
        try exchange(first, second)
        try expect([first, second], query, [])
        // What was deleted is brought back as it was last.
        first.clock.now += 1000
        try first.run("INSERT INTO song_tag VALUES (1, 1, 'again')")
        try exchange(first, second)
        try expect([first, second], query, ["1|blue|again"])
    }

    func testARowIsReplacedOfWhichTheKeyIsPartOfAReferenceToAJoinedRow() throws {
        let schema = TestSchema(
            name: "parts",
            sql: """
                CREATE TABLE shelf(room TEXT, number INTEGER, label TEXT UNIQUE, PRIMARY KEY (room, number));
                CREATE TABLE box(room TEXT PRIMARY KEY, number INTEGER, note TEXT,
                    FOREIGN KEY (room, number) REFERENCES shelf);
                """)
        for number in [1, 3] {
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run("INSERT INTO shelf VALUES ('hall', 1, 'a'), ('hall', 3, 'b')")
            try second.run("INSERT INTO shelf VALUES ('attic', 2, 'a'); INSERT INTO box VALUES ('attic', 2, 'old')")
            try exchange(first, second)
            XCTAssertEqual(try first.query("SELECT * FROM box"), ["hall|1|old"])
            try first.run("INSERT OR REPLACE INTO box VALUES ('hall', \(number), 'new')")
            try exchange(first, second)
            for device in [first, second] {
                XCTAssertEqual(try device.query("SELECT * FROM box"), ["hall|\(number)|new"])
                XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
            }
        }
    }

    func testAPartOfAReferenceThatTheRowDoesNotShowIsClaimedAllTheSame() throws {
        let schema = TestSchema(
            name: "parts",
            sql: """
                CREATE TABLE shelf(room TEXT, number INTEGER, label TEXT UNIQUE, PRIMARY KEY (room, number));
                CREATE TABLE box(id TEXT PRIMARY KEY, room TEXT UNIQUE, number INTEGER, note TEXT,
                    FOREIGN KEY (room, number) REFERENCES shelf);
                """)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        let third = try TestDevice(3, schema, hoursAhead: 2)
        try first.run("INSERT INTO shelf VALUES ('hall', 1, 'a')")
        try second.run("INSERT INTO shelf VALUES ('attic', 2, 'a'); INSERT INTO box VALUES ('x', 'attic', 2, 'old')")
        try exchange(first, second)
        XCTAssertEqual(try first.query("SELECT * FROM box"), ["x|hall|1|old"])
        // Who did not know that box enters another one in the same room.
        try third.run("INSERT INTO shelf VALUES ('attic', 9, 'z'); INSERT INTO box VALUES ('y', 'attic', 9, 'new')")
        try exchange(first, second, third)
        for device in [first, second, third] {
            XCTAssertEqual(try device.query("SELECT id, note FROM box"), ["x|new"], "device \(device.id.low)")
            XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
        }
        // To a person who sees it in the hall the attic is free.
        let fourth = try TestDevice(4, schema, hoursAhead: 3)
        try fourth.receive(first, second)
        XCTAssertEqual(try fourth.query("SELECT * FROM box"), ["x|hall|1|old"])
        try fourth.run("INSERT INTO shelf VALUES ('attic', 7, 'y'); INSERT INTO box VALUES ('z', 'attic', 7, 'mine')")
        try fourth.flush()
        XCTAssertEqual(try fourth.query("SELECT * FROM box ORDER BY id"), ["x|hall|1|old", "z|attic|7|mine"])
        XCTAssertEqual(try Oracle(schema).complaints(about: fourth), [])
    }

    func testAPartOfAReferenceThatTheRowShowedOnTheWayIsClaimedToo() throws {
        let schema = TestSchema(
            name: "parts",
            sql: """
                CREATE TABLE shelf(room TEXT, number INTEGER, label TEXT UNIQUE, u INTEGER, v INTEGER,
                    PRIMARY KEY (room, number), UNIQUE (u, v));
                CREATE TABLE box(id TEXT PRIMARY KEY, room TEXT UNIQUE, number INTEGER, note TEXT,
                    FOREIGN KEY (room, number) REFERENCES shelf);
                """)
        let devices = try (1...4).map { try TestDevice($0, schema, hoursAhead: Int64($0)) }
        try devices[0].run("INSERT INTO shelf VALUES ('hall', 3, 'q', 1, 1)")
        try devices[1].run("INSERT INTO shelf VALUES ('loft', 2, 'p', 2, 0)")
        try devices[1].flush()
        devices[1].clock.now += 3 * 3_600_000
        // The loft and the attic have one label; together they show the hall's u and v.
        try devices[1].run("UPDATE shelf SET u = 1")
        try devices[2].run(
            "INSERT INTO shelf VALUES ('attic', 1, 'p', 0, 1); INSERT INTO box VALUES ('x', 'attic', 1, 'old')")
        try exchange(devices[0], devices[1], devices[2])
        XCTAssertEqual(try devices[0].query("SELECT * FROM box"), ["x|hall|3|old"])
        try devices[3].run(
            "INSERT INTO shelf VALUES ('loft', 9, 'z', 9, 9); INSERT INTO box VALUES ('y', 'loft', 9, 'new')")
        try exchange(devices[0], devices[1], devices[2], devices[3])
        for device in devices { XCTAssertEqual(try Oracle(schema).complaints(about: device), []) }
        XCTAssertEqual(try devices[0].query("SELECT id, note FROM box"), ["x|new"])
    }

    func testALinkUnderTheOlderTagIsDisplacedByTheRowThatTakesItsKey() throws {
        let schema = TestSchema(
            name: "places",
            sql: """
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE pin(tag INTEGER, side TEXT, place INTEGER UNIQUE, note TEXT, PRIMARY KEY (tag, side),
                    FOREIGN KEY (tag) REFERENCES tag);
                """)
        for statement in [
            "UPDATE OR REPLACE pin SET tag = 1 WHERE tag = 2",
            "INSERT OR REPLACE INTO pin VALUES (1, 'left', 2, 'new')",
            "INSERT OR REPLACE INTO pin VALUES (2, 'right', 1, 'new'); INSERT INTO pin VALUES (1, 'left', 4, 'newer')",
        ] {
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run("INSERT INTO tag VALUES (1, 'a'), (2, 'b'); INSERT INTO pin VALUES (2, 'left', 2, 'kept')")
            try second.run("INSERT INTO tag VALUES (5, 'a'); INSERT INTO pin VALUES (5, 'left', 1, 'old')")
            try exchange(first, second)
            XCTAssertEqual(
                try first.query("SELECT * FROM pin ORDER BY place"), ["1|left|1|old", "2|left|2|kept"])
            try first.run(statement)
            let rows = try first.query(
                "SELECT tag.name, side, place, note FROM pin JOIN tag ON id = tag ORDER BY place")
            try exchange(first, second)
            for device in [first, second] {
                XCTAssertEqual(
                    try device.query("SELECT tag.name, side, place, note FROM pin JOIN tag ON id = tag ORDER BY place"),
                    rows, statement)
                XCTAssertEqual(try Oracle(schema).complaints(about: device), [], statement)
            }
        }
    }

    func testAUniqueValueThatAJoinedRowDoesNotShowIsFree() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO artist VALUES (1, 'Miles', 'old.example', 1926)")
        try second.run("INSERT INTO artist VALUES (1, 'Miles', 'new.example', NULL)")
        try exchange(first, second)
        try expect([first, second], "SELECT name, site FROM artist", ["Miles|new.example"])
        try first.run("INSERT INTO artist VALUES (9, 'Gil', 'old.example', 1912)")
        try exchange(first, second)
        try expect(
            [first, second], "SELECT name, site FROM artist ORDER BY name", ["Gil|old.example", "Miles|new.example"])
    }

    func testTheFieldsOfAJoinedRowAreTheNewestOnes() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO artist VALUES (1, 'Miles', NULL, 1926)")
        try second.run("INSERT INTO artist VALUES (4, 'Miles', 'miles.example', NULL)")
        try exchange(first, second)
        try expect([first, second], "SELECT id, name, site, born FROM artist", ["1|Miles|miles.example|NULL"])
        XCTAssertEqual(
            try first.query("SELECT kind, count(*) FROM ferry_conflict GROUP BY kind"), ["joined|2"],
            "what the older one said is kept")
    }

    func testADeletedRepresentativeLeavesTheOtherRowWithItsChildren() throws {
        let (first, second) = try pair()
        try first.run("INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Kind', 1959)")
        try second.run(
            "INSERT INTO artist(id, name) VALUES (1, 'Miles'); INSERT INTO album VALUES (1, 1, 'Blue', 1960)")
        try first.flush()
        try second.flush()
        let third = try TestDevice(3, Self.music)
        try third.receive(first, second)
        // The first one does not know of the second's artist when it deletes its own.
        first.clock.now += 1000
        try first.run("DELETE FROM artist")
        try first.flush()
        try third.receive(first)
        try expect(
            [third], "SELECT name, title FROM artist JOIN album ON artist = artist.id", ["Miles|Blue"])
        try first.receive(second)
        try second.receive(first)
        try expect(
            [first, second], "SELECT name, title FROM artist JOIN album ON artist = artist.id", ["Miles|Blue"])
    }

    func testARowUnderAJoinedKeyThatRefersToItselfKeepsItsOwnReference() throws {
        let schema = TestSchema(
            name: "itself",
            sql: """
                CREATE TABLE tag(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE note(tag INTEGER PRIMARY KEY REFERENCES tag, about INTEGER REFERENCES note(tag));
                """)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try first.run("INSERT INTO tag VALUES (1, 'a')")
        try second.run("INSERT INTO tag VALUES (5, 'a'); INSERT INTO note VALUES (5, 5)")
        try exchange(first, second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT name, about = tag FROM note JOIN tag ON id = tag"), ["a|1"])
            XCTAssertEqual(try Oracle(schema).complaints(about: device), [])
        }
    }

    func testRowsUnderJoinedKeysThatReferToThemselvesAndToEachOtherFollowTheirKeys() throws {
        // Which of a table's references is looked at first makes no difference.
        for columns in [
            "tag TEXT PRIMARY KEY NOT NULL REFERENCES tag(code), about TEXT REFERENCES note(tag)",
            "about TEXT REFERENCES note(tag), tag TEXT PRIMARY KEY NOT NULL REFERENCES tag(code)",
        ] {
            let schema = TestSchema(
                name: "themselves",
                sql: """
                    CREATE TABLE tag(code TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE);
                    CREATE TABLE note(\(columns));
                    """)
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run("INSERT INTO tag VALUES ('a', 'one'), ('b', 'two'), ('c', 'three')")
            try second.run("INSERT INTO tag VALUES ('x', 'one'), ('y', 'two'), ('z', 'three')")
            try second.run(
                """
                BEGIN; PRAGMA defer_foreign_keys = ON;
                INSERT INTO note(tag, about) VALUES ('x', 'x'), ('y', 'z'), ('z', 'y');
                COMMIT
                """)
            try exchange(first, second)
            for device in [first, second] {
                XCTAssertEqual(
                    try device.query("SELECT tag, about FROM note ORDER BY tag"), ["a|a", "b|c", "c|b"], columns)
                XCTAssertEqual(try device.query("PRAGMA foreign_key_check"), [], columns)
                XCTAssertEqual(try Oracle(schema).complaints(about: device), [], columns)
            }
        }
    }

    func testARowThatShowsSeveralKeepsItsKeyWhenItIsReplacedByIt() throws {
        let (first, second) = (try TestDevice(1, .library), try TestDevice(2, .library))
        try first.run("INSERT INTO person(id, name, email) VALUES (1, 'a', 'x')")
        second.clock.now += 1000
        try second.run("INSERT INTO person(id, name, email) VALUES (2, 'b', 'x')")
        for device in [first, second] { try device.flush() }
        try first.receive(second)
        try second.receive(first)
        XCTAssertEqual(try first.query("SELECT id, name FROM person"), ["1|b"])
        second.clock.now += 1000
        let key = try XCTUnwrap(second.query("SELECT id FROM person").first)
        try second.run("INSERT OR REPLACE INTO person(id, name, email) VALUES (\(key), 'c', 'y')")
        try second.flush()
        XCTAssertEqual(try second.query("SELECT id, name, email FROM person"), ["\(key)|c|y"])
        try first.receive(second)
        XCTAssertEqual(try first.query("SELECT id, name, email FROM person"), ["1|c|y"])
        for device in [first, second] { XCTAssertEqual(try Oracle(.library).complaints(about: device), []) }
    }
}
