import FerryCore
import FerrySQL
import XCTest

@testable import FerryStore

/// Names and texts in SQL.
final class QuotingTests: XCTestCase {
    /// A quote and the combining mark behind it are one character to Swift, and two to SQLite.
    private static let marked = "a\"\u{301}b'\u{301}"

    func testQuotesAreDoubledBeforeCombiningMarksToo() {
        XCTAssertEqual(Array(quoted(Self.marked).utf8), Array("\"a\"\"\u{301}b'\u{301}\"".utf8))
        XCTAssertEqual(Array(quotedText(Self.marked).utf8), Array("'a\"\u{301}b''\u{301}'".utf8))
        XCTAssertEqual(quoted("plain"), "\"plain\"")
        XCTAssertEqual(quotedText(""), "''")
    }

    func testTablesAndColumnsMayHaveSuchNames() throws {
        let schema = TestSchema(
            name: "marked",
            sql: """
                CREATE TABLE \(quoted(Self.marked))(
                    \(quoted("k" + Self.marked)) TEXT PRIMARY KEY NOT NULL, n INTEGER DEFAULT 1) WITHOUT ROWID;
                """)
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try first.run("INSERT INTO \(quoted(Self.marked)) VALUES ('one', 2)")
        try first.flush()
        try second.receive(first)
        XCTAssertEqual(try second.query("SELECT * FROM \(quoted(Self.marked))"), ["one|2"])
    }
}
