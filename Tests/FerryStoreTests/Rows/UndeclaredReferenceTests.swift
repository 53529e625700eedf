import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// References that the schema does not declare: told device by device, with plain SQL.
final class UndeclaredReferenceTests: XCTestCase {
    private static let schema = TestSchema(
        name: "albums",
        sql: """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE track(id INTEGER PRIMARY KEY, title TEXT, album_id INTEGER);
            CREATE TABLE folder(id INTEGER PRIMARY KEY, name TEXT, parent_id INTEGER);
            CREATE TABLE track_folder(track_id INTEGER, folder_id INTEGER, PRIMARY KEY (track_id, folder_id));
            """,
        references: [
            UndeclaredReference(table: "track", column: "album_id", parent: "album"),
            UndeclaredReference(table: "folder", column: "parent_id", parent: "folder"),
            UndeclaredReference(table: "track_folder", column: "track_id", parent: "track"),
            UndeclaredReference(table: "track_folder", column: "folder_id", parent: "folder"),
        ])

    private let titles = "SELECT track.title, album.title FROM track LEFT JOIN album ON album.id = album_id ORDER BY 1"

    private func devices(_ count: Int) throws -> [TestDevice] {
        try (1...count).map { try TestDevice($0, Self.schema) }
    }

    /// An app makes its tables before it has rows.
    func testAColumnNamedLikeAKeyIsAHintWithoutAnyRow() throws {
        let schema = TestSchema(
            name: "empty",
            sql: """
                CREATE TABLE albums(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE items(id INTEGER PRIMARY KEY, album_id INTEGER, album INTEGER, albums TEXT, cover_id INTEGER,
                    albumId REAL);
                """)
        let device = try TestDevice(1, schema)
        XCTAssertEqual(
            try device.store.referenceHints(TableSelection()),
            [UndeclaredReference(table: "items", column: "album_id", parent: "albums")])
    }

    func testTheReferenceFollowsItsRowToAnotherInteger() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 'a', 1)")
        try d[1].run("INSERT INTO album VALUES (1, 'Red'); INSERT INTO track VALUES (1, 'b', 1)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        for device in d { XCTAssertEqual(try device.query(titles), ["a|Blue", "b|Red"]) }
        XCTAssertEqual(try d[0].query("SELECT count(DISTINCT album_id) FROM track"), ["2"])
    }

    func testAReferenceInAKeyIsTheSamePairOnEveryDevice() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO track(title) VALUES ('a'); INSERT INTO folder(name) VALUES ('x')")
        try d[1].run("INSERT INTO track(title) VALUES ('b'); INSERT INTO folder(name) VALUES ('y')")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        let pair = """
            INSERT INTO track_folder SELECT track.id, folder.id FROM track, folder WHERE title = 'b' AND name = 'x'
            """
        for device in d { try device.run(pair) }
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        for device in d {
            XCTAssertEqual(
                try device.query(
                    """
                    SELECT title, name FROM track_folder JOIN track ON track.id = track_id
                    JOIN folder ON folder.id = folder_id
                    """), ["b|x"])
        }
    }

    func testWhatMeansNoneStaysWhatItIs() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO track(title, album_id) VALUES ('a', 0), ('b', -1), ('c', NULL), ('d', '')")
        try d[0].flush()
        try d[1].receive(d[0])
        XCTAssertEqual(try d[1].query("SELECT album_id FROM track ORDER BY id"), ["0", "-1", "NULL", ""])
    }

    func testADanglingReferenceKeepsOneIntegerOnEachDeviceAndIsNoOtherRow() throws {
        let d = try devices(3)
        try d[0].run("INSERT INTO track VALUES (1, 'a', 7)")
        try d[0].flush()
        for device in d[1...] { try device.receive(d[0]) }
        let standIn = try d[1].query("SELECT album_id FROM track")
        XCTAssertEqual(try d[0].query("SELECT album_id FROM track"), ["7"])
        // Rows that come meanwhile, here or by replay, are not what it refers to.
        try d[1].run("INSERT INTO album VALUES (1, 'Red'), (7, 'Seven')")
        try d[1].flush()
        for device in [d[0], d[2]] { try device.receive(d[1]) }
        XCTAssertEqual(try d[1].query("SELECT album_id FROM track"), standIn)
        for device in d { XCTAssertEqual(try device.query(titles), ["a|NULL"]) }
        XCTAssertEqual(try d[0].query("SELECT album_id FROM track"), ["7"])
    }

    func testARowThatComesLaterIsWhatWasReferredTo() throws {
        let d = try devices(3)
        try d[0].run("INSERT INTO track VALUES (1, 'a', 7)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].run("INSERT INTO album VALUES (7, 'Blue')")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[2].receive(d[0])
        for device in d {
            XCTAssertEqual(try device.query(titles), ["a|Blue"])
            XCTAssertEqual(try device.query("SELECT album_id FROM track"), ["7"])
        }
    }

    func testAReferenceThatArrivesBeforeItsRowIsWrittenAnewWhenTheRowComes() throws {
        let d = try devices(3)
        try d[0].run("INSERT INTO album VALUES (4, 'Blue'); INSERT INTO folder VALUES (2, 'x', NULL)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[1].run(
            "INSERT INTO track VALUES (1, 'a', 4); INSERT INTO track_folder VALUES (1, 2); INSERT INTO folder VALUES (3, 'y', 2)"
        )
        try d[1].flush()
        // The third device has an album under that integer, and hears of the second's log first.
        try d[2].run("INSERT INTO album VALUES (4, 'Red')")
        try d[2].receive(d[1])
        XCTAssertEqual(try d[2].query(titles), ["a|NULL"])
        try d[2].receive(d[0])
        XCTAssertEqual(try d[2].query(titles), ["a|Blue"])
        XCTAssertEqual(try d[2].query("SELECT album_id FROM track"), ["5"])
        XCTAssertEqual(try d[2].query("SELECT * FROM track_folder"), ["1|2"])
        XCTAssertEqual(try d[2].query("SELECT parent_id FROM folder WHERE name = 'y'"), ["2"])
        // The rows are still the objects that they were.
        try d[2].run("DELETE FROM track_folder; UPDATE track SET title = 'A'")
        try d[2].flush()
        try d[0].receive(d[1], d[2])
        XCTAssertEqual(try d[0].query("SELECT count(*) FROM track_folder"), ["0"])
        XCTAssertEqual(try d[0].query("SELECT title FROM track"), ["A"])
    }

    /// The row that comes gets another integer on this device, and a CHECK refuses the integer in a referring row.
    func testARowThatCannotReferByTheNewKeyIsHiddenAndNoPassFails() throws {
        let schema = TestSchema(
            name: "checked",
            sql: """
                CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE track(id INTEGER PRIMARY KEY, title TEXT, album_id INTEGER CHECK (album_id < 10));
                CREATE TABLE pair(track_id INTEGER, album_id INTEGER CHECK (album_id < 10),
                    PRIMARY KEY (track_id, album_id));
                """,
            references: [
                UndeclaredReference(table: "track", column: "album_id", parent: "album"),
                UndeclaredReference(table: "pair", column: "track_id", parent: "track"),
                UndeclaredReference(table: "pair", column: "album_id", parent: "album"),
            ])
        // Many tracks go through the fast path of new rows, a single one through the rules.
        for isConflicting in [false, true] {
            let d = try (1...3).map { try TestDevice($0, schema) }
            try d[0].run("INSERT INTO album VALUES (4, 'Blue'), (5, 'Green')")
            try d[0].flush()
            try d[1].receive(d[0])
            try d[1].run(
                "INSERT INTO track VALUES (1, 'a', 4), (2, 'b', 5), (3, 'c', NULL); INSERT INTO pair VALUES (1, 4), (2, 5)"
            )
            try d[1].flush()
            // The third device has an album under the integer, and its next free integer is 21.
            try d[2].run("INSERT INTO album VALUES (4, 'Red'), (20, 'Grey')")
            try d[2].flush()
            try d[2].receive(d[1])
            XCTAssertEqual(try d[2].query("SELECT title FROM track ORDER BY 1"), ["a", "b", "c"])
            if isConflicting {
                try d[2].run("INSERT INTO album VALUES (5, 'Black')")
                try d[2].flush()
            }
            try d[2].receive(d[0])
            let shown = isConflicting ? ["c"] : ["b", "c"]
            XCTAssertEqual(try d[2].query("SELECT title FROM track ORDER BY 1"), shown)
            XCTAssertEqual(try d[2].query("SELECT track_id FROM pair"), isConflicting ? [] : ["2"])
            XCTAssertEqual(try d[2].store.verify(deep: true).differences, [])
            // Rows that refer to a row no more are shown again.
            try d[0].run("DELETE FROM album")
            try d[0].flush()
            try d[2].receive(d[0])
            XCTAssertEqual(try d[2].query("SELECT title FROM track ORDER BY 1"), ["a", "b", "c"])
            XCTAssertEqual(try d[2].store.verify(deep: true).differences, [])
        }
    }

    /// Rows refer to a deleted row by the integer that it had, and a CHECK sees that integer.
    func testVerificationChecksTheIntegerThatRowsHaveOfADeletedRow() throws {
        let schema = TestSchema(
            name: "checked",
            sql: """
                CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
                CREATE TABLE track(id INTEGER PRIMARY KEY, album_id INTEGER CHECK (album_id NOT BETWEEN 1 AND 9));
                """, references: [UndeclaredReference(table: "track", column: "album_id", parent: "album")])
        let d = try (1...2).map { try TestDevice($0, schema) }
        try d[0].run("INSERT INTO album VALUES (14, 'Blue'); INSERT INTO track VALUES (1, 14), (2, 15)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].run("DELETE FROM album")
        try d[0].flush()
        try d[1].receive(d[0])
        for device in d {
            XCTAssertEqual(try device.query("SELECT count(*) FROM track"), ["2"])
            XCTAssertEqual(try device.store.verify(deep: true).differences, [])
        }
    }

    /// The row that comes leaves its stand-in in the same pass in which what it refers to needs one.
    func testAStandInIsNotUsedAgain() throws {
        let d = try devices(3)
        try d[0].run("INSERT INTO folder VALUES (1, 'gone', NULL), (2, 'x', 1)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[1].run("INSERT INTO folder VALUES (3, 'y', 2); DELETE FROM folder WHERE id = 1")
        try d[1].flush()
        try d[2].run("INSERT INTO folder VALUES (1, 'z', 1)")
        try d[2].flush()
        try d[2].receive(d[1])
        try d[2].receive(d[0])
        XCTAssertEqual(
            try d[2].query("SELECT c.name, p.name FROM folder c LEFT JOIN folder p ON p.id = c.parent_id ORDER BY 1"),
            ["x|NULL", "y|x", "z|z"])
        XCTAssertEqual(try Oracle(Self.schema).complaints(about: d[2]), [])
        XCTAssertEqual(try d[2].store.verify(deep: true).differences, [])
    }

    func testADeletedTargetLeavesAnIntegerThatNoRowHas() throws {
        let d = try devices(3)
        try d[0].run("INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 'a', 1)")
        try d[0].flush()
        for device in d[1...] { try device.receive(d[0]) }
        try d[0].run("DELETE FROM album")
        try d[0].flush()
        for device in d[1...] { try device.receive(d[0]) }
        for device in d { XCTAssertEqual(try device.query("SELECT album_id FROM track"), ["1"]) }
        // SQLite hands out the integer again on the second device: there the track shows the new row, as its app sees it.
        try d[1].run("INSERT INTO album(title) VALUES ('Red')")
        XCTAssertEqual(try d[1].query(titles), ["a|Red"])
        try d[1].flush()
        for device in [d[0], d[2]] { try device.receive(d[1]) }
        for device in d { XCTAssertEqual(try device.query(titles), ["a|Red"]) }
    }

    func testARowOfAnotherDeviceNeverTakesADeletedTargetsPlace() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 'a', 1)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].run("DELETE FROM track; DELETE FROM album; INSERT INTO album(title) VALUES ('Red')")
        try d[1].run("UPDATE track SET title = 'A'")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        for device in d { XCTAssertEqual(try device.query(titles), ["A|NULL"]) }
    }

    func testATargetThatComesBackIsReferredToAgain() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 'a', 1)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].run("DELETE FROM album")
        d[1].clock.now += 5000
        try d[1].run("UPDATE album SET title = 'Bleu'")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        for device in d { XCTAssertEqual(try device.query(titles), ["a|Bleu"]) }
    }

    func testATargetThatIsRestoredIsReferredToAgain() throws {
        let d = try devices(2)
        try d[0].run("INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 'a', 1)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[1].run("UPDATE album SET title = 'Bleu'")
        d[0].clock.now += 5000
        try d[0].run("DELETE FROM album")
        try d[0].flush()
        try d[1].receive(d[0])
        XCTAssertEqual(try d[1].query(titles), ["a|NULL"])
        let conflict = try XCTUnwrap(d[1].store.conflicts().first)
        XCTAssertEqual(conflict.kind, .deleted)
        d[1].clock.now += 9000
        XCTAssertEqual(try d[1].restoreConflict(conflict.number).action, .inserted)
        try d[1].flush()
        try d[0].receive(d[1])
        for device in d {
            XCTAssertEqual(try device.query(titles), ["a|Bleu"])
            XCTAssertEqual(try device.query("SELECT album_id FROM track"), ["1"])
        }
    }

    func testManyRowsMayReferToThemselvesInAnyOrder() throws {
        let d = try devices(2)
        try d[0].run(
            """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300)
            INSERT INTO folder SELECT i, 'f' || i, CASE WHEN i < 300 THEN i + 1 END FROM n
            """)
        try d[0].flush()
        try d[1].run("INSERT INTO folder VALUES (150, 'own', NULL)")
        try d[1].receive(d[0])
        XCTAssertEqual(
            try d[1].query(
                "SELECT count(*) FROM folder c JOIN folder p ON p.id = c.parent_id WHERE p.name = 'f' || (substr(c.name, 2) + 1)"
            ), ["299"])
        XCTAssertEqual(try d[1].query("SELECT count(*) FROM folder WHERE id < 0 OR parent_id < 0"), ["0"])
    }

    func testRowsOfTablesThatNameTheirRowsAlikeAreFoundByTheirNames() throws {
        let schema = TestSchema(
            name: "categories",
            sql: """
                CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, category INTEGER);
                CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT);
                """, declared: ["category": ["name"]],
            references: [UndeclaredReference(table: "song", column: "category", parent: "category")])
        let d = try [1, 2].map { try TestDevice($0, schema) }
        // The reference is published before the row that it leads to.
        try d[0].run("INSERT INTO song VALUES (1, 'a', 5)")
        try d[0].flush()
        try d[0].run("INSERT INTO category VALUES (5, 'Rock')")
        try d[1].run("INSERT INTO category VALUES (2, 'Rock'); INSERT INTO song VALUES (9, 'b', 2)")
        try d[0].flush()
        try d[1].receive(d[0])
        try d[0].receive(d[1])
        for device in d {
            XCTAssertEqual(
                try device.query("SELECT title, name FROM song JOIN category ON category.id = category ORDER BY 1"),
                ["a|Rock", "b|Rock"])
            XCTAssertEqual(try device.query("SELECT count(*) FROM category"), ["1"])
        }
    }

    func testReferencesThatCannotBeAreRefused() throws {
        let sql = """
            CREATE TABLE album(id INTEGER PRIMARY KEY);
            CREATE TABLE pair(a, b, PRIMARY KEY (a, b));
            CREATE TABLE loose(x);
            CREATE TABLE track(id INTEGER PRIMARY KEY, album_id INTEGER, note TEXT, twice AS (album_id * 2));
            """
        let cases: [(UndeclaredReference, String)] = [
            (.init(table: "tracks", column: "album_id", parent: "album"), "no table “tracks”"),
            (.init(table: "track", column: "album", parent: "album"), "no such column"),
            (.init(table: "track", column: "twice", parent: "album"), "no such column"),
            (.init(table: "track", column: "album_id", parent: "albums"), "no table “albums”"),
            (.init(table: "track", column: "album_id", parent: "pair"), "is 2 columns"),
            (.init(table: "track", column: "album_id", parent: "loose"), "does not travel"),
            (.init(table: "track", column: "note", parent: "album"), "keeps text"),
            (.init(table: "track", column: "id", parent: "track"), "refers to nothing"),
        ]
        for (reference, words) in cases {
            XCTAssertThrowsError(
                try TestDevice(1, TestSchema(name: "bad", sql: sql, references: [reference]))
            ) { error in
                XCTAssertEqual((error as? FerryError)?.code, .invalidArgument)
                XCTAssertTrue((error as? FerryError)?.message.contains(words) ?? false, "\(error)")
            }
        }
    }

    private func isNamed(_ column: String, after table: String) -> Bool {
        !ReferenceHints.words(of: column).isDisjoint(with: ReferenceHints.words(ofTable: table))
    }

    func testNamesThatMayMeanATable() {
        for name in [
            "album_id", "albumId", "album", "albumID", "fk_album", "id_album", "ALBUM", "albums_id", "album_fk",
        ] {
            for table in ["album", "albums", "Album"] {
                XCTAssertTrue(isNamed(name, after: table), "\(name) \(table)")
            }
        }
        XCTAssertTrue(isNamed("category_id", after: "categories"))
        XCTAssertTrue(ReferenceHints.words(of: "parent_id").contains("parent"))
        for (name, table) in [("title", "album"), ("id", "album"), ("album_title", "album"), ("parent_id", "folder")] {
            XCTAssertFalse(isNamed(name, after: table), "\(name) \(table)")
        }
    }

    func testColumnsThatLookLikeReferencesAreFoundByNameAndValues() throws {
        let device = try TestDevice(
            1,
            TestSchema(
                name: "hints",
                sql: """
                    CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
                    CREATE TABLE artist(id INTEGER PRIMARY KEY);
                    CREATE TABLE genre(name TEXT PRIMARY KEY);
                    CREATE TABLE track(
                        id INTEGER PRIMARY KEY, album_id INTEGER, artist INTEGER, declared INTEGER REFERENCES album,
                        genre INTEGER, album REAL, place INTEGER);
                    CREATE TABLE empty(id INTEGER PRIMARY KEY, album_id INTEGER);
                    INSERT INTO album VALUES (1, 'a'), (2, 'b');
                    INSERT INTO artist VALUES (1);
                    INSERT INTO track VALUES (1, 1, 1, 1, 1, 1.5, 1), (2, 2, 9, 1, 1, 1.5, 1), (3, 0, 9, 1, 1, 1, 1);
                    """))
        XCTAssertEqual(
            try device.store.referenceHints(TableSelection()),
            [
                UndeclaredReference(table: "track", column: "album_id", parent: "album"),
                UndeclaredReference(table: "empty", column: "album_id", parent: "album"),
            ])
        XCTAssertEqual(
            try device.store.referenceHints(
                TableSelection(references: [
                    .init(table: "TRACK", column: "Album_ID", parent: "album"),
                    .init(table: "empty", column: "album_id", parent: "album"),
                ])), [])
    }
}
