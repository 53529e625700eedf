import XCTest

@testable import FerryStore

/// Tables that stay on a device and refer to ones that travel: what their foreign keys say is done when another device's
/// changes come, as SQLite would have done it here.
final class LocalTablesTests: XCTestCase {
    /// What two devices have, and the rows that only the second one has.
    private func devices(
        _ sql: String, staying: [String], rows: String, stayingRows: String
    ) throws -> (TestDevice, TestDevice) {
        let schema = TestSchema(name: "staying", sql: sql, staying: staying)
        let first = try TestDevice(1, schema)
        let second = try TestDevice(2, schema, hoursAhead: 1)
        try first.run(rows)
        try first.flush()
        try second.receive(first)
        try second.run(stayingRows)
        return (first, second)
    }

    private func assertSound(_ device: TestDevice, file: StaticString = #filePath, line: UInt = #line) throws {
        let report = try device.store.verify(deep: true)
        XCTAssertTrue(report.isSound, "\(report)", file: file, line: line)
        XCTAssertEqual(try device.store.status().stranded.count, 0, file: file, line: line)
        XCTAssertEqual(try device.query("SELECT * FROM ferry_pending"), [], file: file, line: line)
    }

    private static let articles = """
        CREATE TABLE article(id INTEGER PRIMARY KEY, title TEXT);
        CREATE TABLE download(
            article INTEGER PRIMARY KEY REFERENCES article(id) ON DELETE CASCADE ON UPDATE CASCADE, file TEXT);
        CREATE TABLE part(
            number INTEGER, download INTEGER NOT NULL REFERENCES download(article) ON DELETE CASCADE ON UPDATE CASCADE);
        CREATE TABLE visit(
            article INTEGER REFERENCES article(id) ON DELETE SET NULL, title AS (coalesce(article, 'none')),
            place INTEGER DEFAULT 1 REFERENCES article ON DELETE SET DEFAULT);
        CREATE INDEX visit_article ON visit(article);
        """
    private static let staying = ["download", "part", "visit"]

    func testADeletionThatComesIsFollowedAsSQLiteFollowsOne() throws {
        let (first, second) = try devices(
            Self.articles, staying: Self.staying, rows: "INSERT INTO article VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            stayingRows: """
                INSERT INTO download VALUES (2, 'two'), (3, 'three');
                INSERT INTO part VALUES (1, 2), (2, 2), (1, 3);
                INSERT INTO visit(article, place) VALUES (2, 2), (3, 3), (NULL, 2);
                """)
        try first.run("DELETE FROM article WHERE id = 2")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM download"), ["3|three"])
        XCTAssertEqual(try second.query("SELECT * FROM part"), ["1|3"])
        XCTAssertEqual(try second.query("SELECT * FROM visit"), ["NULL|none|1", "3|3|3", "NULL|none|1"])
        try assertSound(second)
    }

    /// As in tables that travel.
    func testADefaultThatRefersToNothingIsNull() throws {
        let (first, second) = try devices(
            Self.articles, staying: Self.staying, rows: "INSERT INTO article VALUES (1, 'a'), (2, 'b')",
            stayingRows: "INSERT INTO visit(place) VALUES (2)")
        try first.run("DELETE FROM article")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT place FROM visit"), ["NULL"])
        try assertSound(second)
    }

    func testARowThatIsThereInTheEndHasNotGone() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE tag(name TEXT PRIMARY KEY, color TEXT);
            CREATE TABLE article(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE use(tag TEXT REFERENCES tag ON DELETE CASCADE, article REFERENCES article ON DELETE CASCADE);
            """, staying: ["use"],
            rows: "INSERT INTO tag VALUES ('x', 'red'), ('y', 'red'); INSERT INTO article VALUES (1, 'a'), (2, 'b')",
            stayingRows: "INSERT INTO use VALUES ('x', 1), ('y', 1), (NULL, 2)")
        try first.run("DELETE FROM tag WHERE name = 'x'; INSERT OR REPLACE INTO tag VALUES ('y', 'blue')")
        try first.run("INSERT OR REPLACE INTO article VALUES (1, 'A')")
        try first.flush()
        try first.run("INSERT INTO tag VALUES ('x', 'green')")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM use"), ["x|1", "y|1", "NULL|2"])
        // An integer that is used again is another row's.
        try first.run("DELETE FROM article WHERE id = 2; INSERT INTO article(title) VALUES ('c')")
        XCTAssertEqual(try first.query("SELECT max(id) FROM article"), ["2"])
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM article"), ["1|A", "2|c"])
        XCTAssertEqual(try second.query("SELECT * FROM use"), ["x|1", "y|1"])
        try assertSound(second)
    }

    func testWhatMayNotBeDeletedIsKeptAndToldAndItsReferenceGoesToNobodyElse() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE queue(song INTEGER NOT NULL REFERENCES song);
            CREATE TABLE pin(song INTEGER PRIMARY KEY REFERENCES song ON DELETE RESTRICT) WITHOUT ROWID;
            """, staying: ["queue", "pin"], rows: "INSERT INTO song VALUES (1, 'a'), (2, 'b')",
            stayingRows: "INSERT INTO queue VALUES (2), (2), (1); INSERT INTO pin VALUES (2)")
        let song = try XCTUnwrap(second.store.objectIDs(of: [[.integer(2)]], in: "song").first ?? nil)
        try first.run("DELETE FROM song WHERE id = 2; INSERT INTO song(title) VALUES ('c')")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try first.query("SELECT * FROM song"), ["1|a", "2|c"])
        XCTAssertEqual(try second.query("SELECT * FROM song"), ["1|a", "3|c"])
        XCTAssertEqual(try second.query("SELECT * FROM queue"), ["2", "2", "1"])
        let stranded = try second.store.status().stranded
        XCTAssertEqual(stranded.map { "\($0.table) \($0.parent) \($0.rows)" }, ["pin song 1", "queue song 2"])
        XCTAssertEqual(try second.store.verify(deep: true).differences, [])
        XCTAssertEqual(try second.store.verify().foreignKeys.count, 3)
        // Nor later, nor once the deletion is forgotten.
        try second.collectTombstones([first])
        try first.run(
            "INSERT INTO song VALUES (9, 'd'); DELETE FROM song WHERE id = 9; INSERT INTO song(title) VALUES ('e')")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT count(*) FROM song WHERE id = 2"), ["0"])
        // The song comes back, and is what the rows refer to.
        _ = try first.restoreRow(song, table: "song", to: .values(["title": .text("b")]))
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT title FROM song WHERE id = 2"), ["b"])
        try assertSound(second)
    }

    func testRowsFollowOneThatBecameOneWithAnother() throws {
        let sql = """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE portrait(artist INTEGER PRIMARY KEY REFERENCES artist ON DELETE CASCADE, file TEXT);
            CREATE TABLE visit(artist INTEGER REFERENCES artist, at TEXT);
            """
        let (first, second) = try devices(
            sql, staying: ["portrait", "visit"], rows: "INSERT INTO artist VALUES (1, 'Gil')", stayingRows: "")
        first.clock.now += 1000
        second.clock.now += 1000
        try first.run("INSERT INTO artist VALUES (2, 'Miles'), (3, 'Bill')")
        try second.run(
            """
            INSERT INTO artist VALUES (5, 'Miles'), (6, 'Bill');
            INSERT INTO portrait VALUES (5, 'miles'), (6, 'bill');
            INSERT INTO visit VALUES (5, 'noon'), (1, 'dusk');
            """)
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM artist"), ["1|Gil", "2|Miles", "3|Bill"])
        XCTAssertEqual(try second.query("SELECT * FROM portrait"), ["2|miles", "3|bill"])
        XCTAssertEqual(try second.query("SELECT * FROM visit"), ["2|noon", "1|dusk"])
        try assertSound(second)
    }

    /// Where one place is for both, the row of the one that is shown keeps it.
    func testOfTwoRowsThatWouldFollowToOnePlaceOneGoesAsOnDeleteSays() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
            CREATE TABLE portrait(artist INTEGER PRIMARY KEY REFERENCES artist ON DELETE CASCADE, file TEXT);
            CREATE TABLE visit(artist INTEGER UNIQUE REFERENCES artist ON DELETE SET NULL, at TEXT);
            CREATE TABLE track(artist INTEGER REFERENCES artist ON DELETE CASCADE, title TEXT, UNIQUE(artist, title));
            """, staying: ["portrait", "visit", "track"],
            rows: "INSERT INTO artist VALUES (1, 'Gil'), (2, 'Miles'), (3, 'Bill')",
            stayingRows: """
                INSERT INTO portrait VALUES (1, 'gil'), (2, 'miles'), (3, 'bill');
                INSERT INTO track VALUES (1, 'a'), (3, 'a'), (3, 'b'), (2, 'b');
                INSERT INTO visit VALUES (1, 'dawn'), (2, 'noon'), (3, 'dusk');
                """)
        try second.run("UPDATE artist SET name = 'Miles D.' WHERE id = 3")
        try first.run("UPDATE artist SET name = 'Miles D.' WHERE id = 1")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM artist"), ["1|Miles D.", "2|Miles"])
        XCTAssertEqual(try second.query("SELECT * FROM portrait"), ["1|gil", "2|miles"])
        XCTAssertEqual(try second.query("SELECT * FROM visit"), ["1|dawn", "2|noon", "NULL|dusk"])
        XCTAssertEqual(try second.query("SELECT * FROM track ORDER BY 1, 2"), ["1|a", "1|b", "2|b"])
        XCTAssertTrue(try second.store.verify(deep: true).isSound)
    }

    func testRowsThatReferToValuesFollowThemAsOnUpdateSays() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT COLLATE NOCASE UNIQUE);
            CREATE TABLE price(maker TEXT UNIQUE REFERENCES maker(code) ON UPDATE CASCADE ON DELETE CASCADE);
            CREATE TABLE list(
                follows TEXT REFERENCES maker(code) ON UPDATE CASCADE, clears TEXT REFERENCES maker(code) ON UPDATE SET NULL,
                stays TEXT REFERENCES maker(code));
            """, staying: ["price", "list"], rows: "INSERT INTO maker VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')",
            stayingRows: """
                INSERT INTO price VALUES ('A'), ('b'), ('c'), ('d');
                INSERT INTO list VALUES ('a', 'a', 'A'), ('b', 'b', 'b'), ('c', 'c', 'c'), ('d', 'd', 'd');
                """)
        // One after the other, into places that others leave.
        try first.run("DELETE FROM maker WHERE id = 4; UPDATE maker SET code = 'd' WHERE id = 3")
        try first.run("UPDATE maker SET code = 'c' WHERE id = 2; UPDATE maker SET code = 'b' WHERE id = 1")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM maker"), ["1|b", "2|c", "3|d"])
        XCTAssertEqual(
            try second.query("SELECT * FROM list"),
            ["b|NULL|b", "c|NULL|b", "d|NULL|c", "d|d|d"])
        try assertSound(second)
        // Letter case is no other value where the key's collation says so.
        try first.run("UPDATE maker SET code = 'B' WHERE id = 1")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM list LIMIT 1"), ["b|NULL|b"])
        // Two change places.
        try first.run(
            "UPDATE maker SET code = 'x' WHERE id = 2; UPDATE maker SET code = 'c' WHERE id = 3; "
                + "UPDATE maker SET code = 'd' WHERE id = 2")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT follows FROM list"), ["b", "d", "c", "c"])
        try assertSound(second)
    }

    func testKeysOfReferencesFollowTheirRows() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT UNIQUE);
            CREATE TABLE tag(name TEXT PRIMARY KEY);
            CREATE TABLE song_tag(
                song INTEGER REFERENCES song ON DELETE CASCADE, tag TEXT REFERENCES tag ON DELETE CASCADE,
                PRIMARY KEY(song, tag));
            CREATE TABLE place(
                tag TEXT, song INTEGER, x, PRIMARY KEY(tag, song),
                FOREIGN KEY(song, tag) REFERENCES song_tag(song, tag) ON DELETE CASCADE) WITHOUT ROWID;
            CREATE TABLE mark(x, song, tag, FOREIGN KEY(song, tag) REFERENCES song_tag ON DELETE SET NULL);
            """, staying: ["place", "mark"], rows: "INSERT INTO tag VALUES ('t'), ('u')", stayingRows: "")
        try first.run("INSERT INTO song VALUES (2, 'x'); INSERT INTO song_tag VALUES (2, 'u')")
        try second.run(
            """
            INSERT INTO song VALUES (7, 'x'); INSERT INTO song_tag VALUES (7, 't'), (7, 'u');
            INSERT INTO place VALUES ('t', 7, 1), ('u', 7, 2);
            INSERT INTO mark VALUES (1, 7, 't'), (2, 7, 'u'), (3, 7, NULL);
            """)
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM song_tag ORDER BY 2"), ["2|t", "2|u"])
        XCTAssertEqual(try second.query("SELECT * FROM place"), ["t|2|1", "u|2|2"])
        XCTAssertEqual(try second.query("SELECT * FROM mark"), ["1|2|t", "2|2|u", "3|7|NULL"])
        try first.receive(second)
        try first.run("DELETE FROM tag WHERE name = 'u'")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM place"), ["t|2|1"])
        XCTAssertEqual(try second.query("SELECT * FROM mark"), ["1|2|t", "2|NULL|NULL", "3|7|NULL"])
        try assertSound(second)
    }

    /// What one thing refuses does not keep others; what goes together is refused by nothing.
    func testWhatTheSchemaRefusesIsKeptAndTheRestIsDone() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE item(
                id INTEGER PRIMARY KEY, song INTEGER REFERENCES song ON DELETE CASCADE, above INTEGER REFERENCES item);
            CREATE TABLE note(item INTEGER REFERENCES item ON DELETE RESTRICT, song INTEGER REFERENCES song ON DELETE CASCADE);
            CREATE TABLE must(song INTEGER NOT NULL REFERENCES song ON DELETE SET NULL);
            CREATE TRIGGER item_stays BEFORE DELETE ON item WHEN OLD.id = 30 BEGIN SELECT RAISE(ABORT, 'mine'); END;
            """, staying: ["item", "note", "must"],
            rows: "INSERT INTO song VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')",
            stayingRows: """
                INSERT INTO item VALUES (10, 1, NULL), (11, 1, 10), (20, 2, NULL), (30, 3, NULL), (40, 4, NULL), (41, 4, 40);
                UPDATE item SET above = 11 WHERE id = 10;
                INSERT INTO note VALUES (10, 1), (20, 5), (40, 4);
                INSERT INTO must VALUES (4);
                """)
        try first.run("DELETE FROM song WHERE id < 5")
        try first.flush()
        try second.receive(first)
        // 20 has a note that stays, 30 a trigger.
        XCTAssertEqual(try second.query("SELECT id FROM item"), ["20", "30"])
        XCTAssertEqual(try second.query("SELECT * FROM note"), ["20|5"])
        XCTAssertEqual(try second.query("SELECT * FROM must"), ["4"])
        XCTAssertEqual(
            try second.store.status().stranded.map { "\($0.table) \($0.parent) \($0.rows)" },
            ["item song 2", "must song 1"])
        XCTAssertEqual(try second.store.verify(deep: true).differences, [])
        // Mended by the app.
        try second.run("DELETE FROM note; DELETE FROM item WHERE id = 20; DROP TRIGGER item_stays; DELETE FROM item")
        try second.run("DELETE FROM must")
        XCTAssertEqual(try second.store.status().stranded.count, 0)
    }

    func testTriggersOfTablesThatStayRunAndTouchNothingThatTravels() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER DEFAULT 0);
            CREATE TABLE play(song INTEGER REFERENCES song ON DELETE CASCADE, at TEXT);
            CREATE TABLE trail(what);
            CREATE TRIGGER play_ended AFTER DELETE ON play BEGIN
                INSERT INTO trail VALUES ('gone ' || OLD.at);
                UPDATE song SET plays = plays - 1;
            END;
            """, staying: ["play", "trail"], rows: "INSERT INTO song VALUES (1, 'a', 5), (2, 'b', 5)",
            stayingRows: "INSERT INTO play VALUES (1, 'noon'), (1, 'dusk'), (2, 'dawn')")
        try first.run("DELETE FROM song WHERE id = 1")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT at FROM play"), ["dawn"])
        XCTAssertEqual(try second.query("SELECT * FROM trail"), ["gone noon", "gone dusk"])
        XCTAssertEqual(try second.query("SELECT * FROM song"), ["2|b|5"])
        try assertSound(second)
    }

    /// As far as this device's own rows are concerned a hidden row is no row.
    func testAHiddenRowTakesItsRowsAlong() throws {
        let (first, second) = try devices(
            """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album ON DELETE CASCADE);
            CREATE TABLE download(song INTEGER REFERENCES song ON DELETE CASCADE);
            CREATE TABLE queue(song INTEGER REFERENCES song ON DELETE SET NULL);
            CREATE TABLE pin(song INTEGER REFERENCES song);
            """, staying: ["download", "queue", "pin"],
            rows: "INSERT INTO album VALUES (1, 'a'), (2, 'b'); INSERT INTO song VALUES (1, 1), (2, 2)",
            stayingRows: "")
        try second.run("UPDATE song SET album = 2 WHERE id = 1")
        try second.run("INSERT INTO download VALUES (1); INSERT INTO queue VALUES (1); INSERT INTO pin VALUES (1)")
        try first.run("DELETE FROM album WHERE id = 2")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM song"), [])
        XCTAssertEqual(try second.store.status().hidden, 1)
        XCTAssertEqual(try second.query("SELECT * FROM download"), [])
        XCTAssertEqual(try second.query("SELECT * FROM queue"), ["NULL"])
        XCTAssertEqual(try second.query("SELECT * FROM pin"), ["1"])
        try first.receive(second)
        let album = try XCTUnwrap(first.rowsWithoutPlace("album").first)
        _ = try first.restoreRow(album.object, table: "album", to: .values(album.values))
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM song"), ["1|2"])
        XCTAssertEqual(try second.query("SELECT * FROM download"), [])
        XCTAssertEqual(try second.query("SELECT * FROM pin"), ["1"])
        try assertSound(second)
    }

    /// The app's hook runs with foreign keys enforced, and finds them whole.
    func testTheAppsHookFindsRowsThatStayInLine() throws {
        let (first, second) = try devices(
            Self.articles, staying: Self.staying, rows: "INSERT INTO article VALUES (1, 'a'), (2, 'b')",
            stayingRows: "INSERT INTO download VALUES (2, 'two')")
        second.store.willCommitReplay = { database, _ in
            try database.execute(
                sql: "INSERT INTO download SELECT 1, count(*) FROM download; INSERT INTO part VALUES (7, 1)")
        }
        try first.run("DELETE FROM article WHERE id = 2")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM download"), ["1|0"])
        XCTAssertEqual(try second.query("SELECT * FROM part"), ["7|1"])
        try assertSound(second)
    }

    /// A table without tables that refer to it is not looked at.
    func testNothingIsNotedWhereNothingStaysThatRefers() throws {
        let (first, second) = try devices(
            "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE log(song INTEGER, text)",
            staying: ["log"], rows: "INSERT INTO song VALUES (1, 'a')", stayingRows: "INSERT INTO log VALUES (1, 'x')")
        try second.store.readAccess { access in
            XCTAssertEqual(access.registry.referringLocalTables, [])
            XCTAssertTrue(access.registry.tables.values.allSatisfy { $0.localParentKeys.isEmpty })
        }
        try first.run("DELETE FROM song")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM log"), ["1|x"])
        try assertSound(second)
    }
}
