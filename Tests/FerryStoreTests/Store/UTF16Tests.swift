import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryStore

/// A database that holds its texts in UTF-16 is one device among others.
final class UTF16Tests: XCTestCase {
    private static let encodings = ["UTF-16le", "UTF-16be"]

    func testTextsOfEveryKindTravelBothWays() throws {
        let sql = "CREATE TABLE \"t é\"(\"K ü\" TEXT PRIMARY KEY, \"v w\" TEXT COLLATE NOCASE UNIQUE, b BLOB, n)"
        for encoding in Self.encodings {
            let wide = try TestDevice(1, TestSchema(name: "wide", sql: "PRAGMA encoding = '\(encoding)'; \(sql)"))
            let narrow = try TestDevice(2, TestSchema(name: "narrow", sql: sql), hoursAhead: 1)
            XCTAssertEqual(try wide.query("PRAGMA encoding"), [encoding])
            try wide.run(
                "INSERT INTO \"t é\" VALUES ('ключ', 'Rock 🎸', x'00ff', 1), ('', 'a' || char(0) || 'b', '', '')")
            try narrow.run("INSERT INTO \"t é\" VALUES ('键', 'rock 🎸', 'blob', 'ß'), ('n', NULL, 2.5, x'')")
            try wide.flush()
            try narrow.flush()
            try wide.receive(narrow)
            try narrow.receive(wide)
            let query = "SELECT \"K ü\", \"v w\", typeof(b), typeof(n), n FROM \"t é\""
            let expected = try narrow.query(query).sorted()
            XCTAssertEqual(try wide.query(query).sorted(), expected)
            XCTAssertEqual(expected.count, 3)
            for device in [wide, narrow] {
                let report = try device.store.verify(deep: true)
                XCTAssertTrue(report.isSound, "\(report)")
            }
        }
    }

    func testRulesHoldInUTF16() throws {
        for encoding in Self.encodings {
            let schema = TestSchema(
                name: "wide",
                sql: """
                    PRAGMA encoding = '\(encoding)';
                    CREATE TABLE artist(id INTEGER PRIMARY KEY, name TEXT UNIQUE COLLATE NOCASE, code TEXT UNIQUE);
                    CREATE TABLE album(title TEXT, artist INTEGER REFERENCES artist ON DELETE CASCADE, code TEXT
                        REFERENCES artist(code) ON DELETE SET NULL, PRIMARY KEY (title, artist));
                    """)
            try story(
                schema, together: "INSERT INTO artist VALUES (1, 'Ж', 'ж')",
                one: "INSERT INTO artist VALUES (2, 'Rock', 'r'); INSERT INTO album VALUES ('ä', 2, 'ж')",
                other:
                    "INSERT INTO artist VALUES (2, 'ROCK', 's'); INSERT INTO album VALUES ('ä', 2, 'ж'), ('ö', 1, 's')",
                query: "SELECT title, name, album.code FROM album JOIN artist ON id = artist ORDER BY 1",
                shows: ["ä|ROCK|ж", "ö|Ж|s"])
        }
    }
}
