import FerryCore
import XCTest

@testable import FerryStore

/// Keys as people type them lead to the objects that have or had them.
final class RowSearchTests: XCTestCase {
    private static let schema = TestSchema(
        name: "keys",
        sql: """
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE genre(name TEXT PRIMARY KEY COLLATE NOCASE, n) WITHOUT ROWID;
            CREATE TABLE song_genre(
                song_id INTEGER REFERENCES song, genre TEXT, weight, PRIMARY KEY(song_id, genre)) WITHOUT ROWID;
            CREATE TABLE level(at REAL PRIMARY KEY NOT NULL, n) WITHOUT ROWID;
            CREATE TABLE loose(k PRIMARY KEY NOT NULL, n) WITHOUT ROWID;
            CREATE TABLE seed(id INTEGER PRIMARY KEY, name TEXT);
            """, declared: ["seed": ["name"]])

    private func device() throws -> TestDevice {
        let device = try TestDevice(1, Self.schema)
        try device.run(
            """
            INSERT INTO song VALUES (1, 'One'), (2, 'Two'), (-3, 'Three');
            INSERT INTO genre VALUES ('Rock', 1);
            INSERT INTO song_genre VALUES (1, 'Rock', 1), (2, 'Rock', 2);
            INSERT INTO level VALUES (1.0, 1), (2.5, 2);
            INSERT INTO loose VALUES (7, 'integer'), ('7', 'text'), (x'00ff', 'blob');
            INSERT INTO seed VALUES (1, 'food');
            """)
        try device.flush()
        return device
    }

    private func find(_ device: TestDevice, _ table: String, _ key: String...) throws -> [FoundRow] {
        try device.store.findRows(table: table, key: key)
    }

    func testRowsAreFoundAsSQLiteComparesTheirKeys() throws {
        let device = try device()
        XCTAssertEqual(try find(device, "song", "2").map(\.key), [[.integer(2)]])
        XCTAssertEqual(try find(device, "song", "-3").map(\.key), [[.integer(-3)]])
        XCTAssertEqual(try find(device, "GENRE", "rock").map(\.key), [[.text("Rock")]])
        XCTAssertEqual(try find(device, "song_genre", "2", "Rock").map(\.key), [[.integer(2), .text("Rock")]])
        XCTAssertEqual(try find(device, "level", "1").map(\.key), [[.real(1)]])
        XCTAssertEqual(try find(device, "level", "2.5").map(\.key), [[.real(2.5)]])
        XCTAssertEqual(try find(device, "loose", "7").map(\.key), [[.text("7")], [.integer(7)]])
        XCTAssertEqual(try find(device, "loose", "x'00FF'").map(\.key), [[.blob([0, 255])]])
        XCTAssertEqual(try find(device, "seed", "1").map(\.presence), [.shown])
    }

    func testDeletedRowsAreFoundByTheKeysThatTheyHad() throws {
        let device = try device()
        let former = try find(device, "song", "1")
        try device.run("DELETE FROM song_genre; DELETE FROM song WHERE id = 1; DELETE FROM genre; DELETE FROM level;")
        try device.flush()
        XCTAssertEqual(try find(device, "song", "1").map(\.object), former.map(\.object))
        XCTAssertEqual(try find(device, "song", "1").map(\.presence), [.deleted])
        XCTAssertEqual(try find(device, "genre", "ROCK").map(\.key), [[.text("Rock")]])
        // Through a song that is deleted itself.
        XCTAssertEqual(try find(device, "song_genre", "1", "Rock").map(\.presence), [.deleted])
        XCTAssertEqual(try find(device, "song_genre", "1", "Rock").map(\.key), [[.integer(1), .text("Rock")]])
        XCTAssertEqual(try find(device, "level", "1.0").map(\.presence), [.deleted])
    }

    func testAnIntegerThatWasHandedOutAgainLeadsToAllThatHadIt() throws {
        let device = try device()
        for title in ["again", "and again"] {
            try device.run(
                "DELETE FROM song WHERE id = 2 AND 1; INSERT INTO song VALUES (2, '\(title)')", foreignKeys: false)
            try device.flush()
        }
        let found = try find(device, "song", "2")
        XCTAssertEqual(found.map(\.presence), [.shown, .deleted, .deleted])
        XCTAssertEqual(Set(found.map(\.object)).count, 3)
    }

    func testWhatIsNoKeyIsTold() throws {
        let device = try device()
        for (table, key, code) in [
            ("sonk", ["1"], FerryError.Code.invalidArgument), ("song", ["1", "2"], .invalidArgument),
            ("song_genre", ["1"], .invalidArgument), ("song", ["99"], .nothingFound), ("song", ["one"], .nothingFound),
            ("song_genre", ["99", "Rock"], .nothingFound),
        ] {
            XCTAssertThrowsError(try device.store.findRows(table: table, key: key)) { error in
                XCTAssertEqual((error as? FerryError)?.code, code, "\(table) \(key)")
            }
        }
    }
}
