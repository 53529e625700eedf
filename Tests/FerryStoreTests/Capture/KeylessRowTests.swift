import FerryCore
import XCTest

@testable import FerryStore

/// Rows that stay because their key holds a NULL follow what they refer to, as rows of tables that stay do.
final class KeylessRowTests: XCTestCase {
    private static func schema(_ action: String) -> TestSchema {
        TestSchema(
            name: "keyless",
            sql: """
                CREATE TABLE v(id INTEGER PRIMARY KEY, value TEXT UNIQUE);
                CREATE TABLE "d e"("the item" INT, field INT, v INTEGER REFERENCES v(id) \(action),
                    PRIMARY KEY ("the item", field));
                CREATE TABLE text_key(k TEXT PRIMARY KEY, v INTEGER REFERENCES v \(action));
                """)
    }

    private let rows = "SELECT value FROM \"d e\" JOIN v ON v.id = v WHERE \"the item\" IS NULL"

    func testTheyFollowARowThatBecomesOneWithAnother() throws {
        for isReversed in [false, true] {
            let (first, second) = (try TestDevice(1, Self.schema("")), try TestDevice(2, Self.schema("")))
            try first.run("INSERT INTO v VALUES (1, 'y'), (2, 'x')")
            try second.run(
                "INSERT INTO v VALUES (1, 'x'); INSERT INTO \"d e\" VALUES (NULL, 1, 1), (5, 5, 1); INSERT INTO text_key VALUES (NULL, 1)"
            )
            if isReversed { try second.flush() }
            try first.flush()
            try second.receive(first)
            XCTAssertEqual(try second.query(rows), ["x"])
            XCTAssertEqual(try second.query("SELECT value FROM text_key JOIN v ON v.id = v"), ["x"])
            XCTAssertEqual(try second.query("PRAGMA foreign_key_check"), [])
            try first.receive(second)
            XCTAssertEqual(try first.query("SELECT count(*) FROM \"d e\""), ["1"])
        }
    }

    func testADeletionElsewhereDoesToThemWhatTheSchemaSays() throws {
        for (action, expected) in [
            ("ON DELETE CASCADE", []), ("ON DELETE SET NULL", ["NULL|1|NULL"]), ("", ["NULL|1|1"]),
        ] {
            let (first, second) = (try TestDevice(1, Self.schema(action)), try TestDevice(2, Self.schema(action)))
            try first.run("INSERT INTO v VALUES (1, 'y'), (2, 'x')")
            try first.flush()
            try second.receive(first)
            try second.run("INSERT INTO \"d e\" VALUES (NULL, 1, 1), (NULL, 2, 2)")
            try second.flush()
            try first.run("DELETE FROM v WHERE id = 1")
            try first.flush()
            try second.receive(first)
            XCTAssertEqual(try second.query("SELECT * FROM \"d e\" WHERE field = 1"), expected, action)
            XCTAssertEqual(try second.query("SELECT * FROM \"d e\" WHERE field = 2"), ["NULL|2|2"], action)
            XCTAssertEqual(try second.store.status().stranded.map(\.rows), action.isEmpty ? [1] : [])
        }
    }
}
