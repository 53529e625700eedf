import FerryCore
import FerrySchema
import XCTest

@testable import FerryStore

/// OR REPLACE puts a column's default in place of a NULL that the column does not allow, after the triggers that look for the
/// row which is in the way.
final class ReplacedByDefaultTests: XCTestCase {
    private func schema(_ type: String, _ value: String) -> TestSchema {
        TestSchema(
            name: "default \(value)",
            sql: "CREATE TABLE t(id INTEGER PRIMARY KEY, note TEXT, x \(type) NOT NULL DEFAULT \(value) UNIQUE)")
    }

    /// The row that is replaced goes on every device.
    /// - Parameter rows: the values of x that there are, among them the one that the default gives.
    private func assertReplaces(
        _ type: String, _ value: String, rows: String, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let schema = schema(type, value)
        for statement in [
            "INSERT OR REPLACE INTO t VALUES (NULL, 'new', NULL)", "UPDATE OR REPLACE t SET x = NULL WHERE id = 1",
            "INSERT OR REPLACE INTO t(note) VALUES ('new')",
        ] {
            let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
            try device.run("INSERT INTO t(id, x) VALUES (1, '-'); INSERT INTO t(note, x) \(rows)")
            try device.flush()
            try other.receive(device)
            let count = try device.query("SELECT count(*) FROM t")
            try device.run(statement)
            let isUpdate = statement.hasPrefix("UPDATE")
            let expected = "SELECT count(*) \(isUpdate ? "+ 1" : "") FROM t"
            XCTAssertEqual(
                try device.query(expected), count, "\(value): \(statement) replaced nothing", file: file, line: line)
            try device.flush()
            try other.receive(device)
            for each in [device, other] {
                XCTAssertEqual(try each.query(expected), count, "\(value): \(statement)", file: file, line: line)
                XCTAssertEqual(try Oracle(schema).complaints(about: each), [], value, file: file, line: line)
                XCTAssertTrue(try each.store.verify(deep: true).isSound, value, file: file, line: line)
            }
        }
    }

    func testLiterals() throws {
        try assertReplaces("INTEGER", "7", rows: "VALUES ('old', 7)")
        try assertReplaces("INTEGER", "-7", rows: "VALUES ('old', -7)")
        try assertReplaces("INTEGER", "0x10", rows: "VALUES ('old', 16)")
        try assertReplaces("REAL", "1e2", rows: "VALUES ('old', 100)")
        try assertReplaces("TEXT", "'it''s'", rows: "VALUES ('old', 'it''s')")
        try assertReplaces("BLOB", "x'31'", rows: "VALUES ('old', x'31')")
        try assertReplaces("TEXT", "7", rows: "VALUES ('old', '7')")
    }

    /// A word that stands alone is a text, but for some.
    func testWords() throws {
        try assertReplaces("TEXT", "open", rows: "VALUES ('old', 'open')")
        try assertReplaces("TEXT", "note", rows: "VALUES ('old', 'note')")
        try assertReplaces("TEXT", "\"it's\"", rows: "VALUES ('old', 'it''s')")
        try assertReplaces("INTEGER", "TRUE", rows: "VALUES ('old', 1)")
        try assertReplaces("INTEGER", "false", rows: "VALUES ('old', 0)")
    }

    func testExpressions() throws {
        try assertReplaces("INTEGER", "(2 * 3 + length('abc'))", rows: "VALUES ('old', 9)")
        try assertReplaces("TEXT", "(lower('A') || CAST(round(1.5, 1) AS TEXT))", rows: "VALUES ('old', 'a1.5')")
        try assertReplaces("", "(CASE WHEN 1 IS NOT NULL THEN x'3132' ELSE 'b' END)", rows: "VALUES ('old', x'3132')")
        try assertReplaces("TEXT", "(/* , ' */ printf('%d', 5))", rows: "VALUES ('old', '5')")
    }

    /// The time of a statement is one. Whichever it is, a row has it.
    func testTimes() throws {
        func times(_ format: String, _ unit: String) -> String {
            """
            WITH n(n) AS (SELECT -10 UNION ALL SELECT n + 1 FROM n WHERE n < 600)
            SELECT DISTINCT 'old', \(format)('now', n || ' \(unit)') FROM n
            """
        }
        try assertReplaces("TEXT", "CURRENT_TIMESTAMP", rows: times("datetime", "seconds"))
        try assertReplaces("TEXT", "current_time", rows: times("time", "seconds"))
        try assertReplaces("TEXT", "CURRENT_DATE", rows: times("date", "days"))
        try assertReplaces("TEXT", "(datetime('now'))", rows: times("datetime", "seconds"))
        try assertReplaces("INTEGER", "(unixepoch())", rows: times("unixepoch", "seconds"))
        try assertReplaces("INTEGER", "(CAST(strftime('%s', 'now') AS INTEGER))", rows: times("unixepoch", "seconds"))
    }

    func testACompoundIndexAndOneOfExpressions() throws {
        let schema = TestSchema(
            name: "days",
            sql: """
                CREATE TABLE t(
                    id INTEGER PRIMARY KEY, kind TEXT, day TEXT NOT NULL DEFAULT (date('2026-11-22', '-1 day')),
                    tag TEXT NOT NULL DEFAULT none, UNIQUE(kind, day));
                CREATE UNIQUE INDEX t_tag ON t(upper(tag)) WHERE tag <> 'x';
                """)
        let (device, other) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try device.run(
            """
            INSERT INTO t VALUES (1, 'a', '2026-11-21', 'x'), (2, 'b', '2026-11-21', 'x'), (3, 'c', '2026-11-20', 'None')
            """)
        try device.flush()
        try other.receive(device)
        try device.run("INSERT OR REPLACE INTO t VALUES (4, 'a', NULL, NULL)")
        try device.flush()
        try other.receive(device)
        for each in [device, other] {
            XCTAssertEqual(
                try each.query("SELECT * FROM t"), ["2|b|2026-11-21|x", "4|a|2026-11-21|none"])
            XCTAssertEqual(try Oracle(schema).complaints(about: each), [])
        }
    }

    /// No trigger can know the value before: `ReplacedByRandomDefaultTests` has more.
    func testDefaultsThatAreOthersEachTime() throws {
        try assertReplaces("INTEGER", "(abs(random()) % 1)", rows: "VALUES ('old', 0)")
        try assertReplaces("TEXT", "(substr(hex(randomblob(1)), 3))", rows: "VALUES ('old', '')")
        try assertReplaces("INTEGER", "(last_insert_rowid() * 0 + 4)", rows: "VALUES ('old', 4)")
    }

    /// Elsewhere a default's word would be a column's name.
    func testAWordIsTheDefaultOfAReferenceAndOfANewColumn() throws {
        let schema = TestSchema(
            name: "words",
            sql: """
                CREATE TABLE status(code TEXT PRIMARY KEY NOT NULL);
                CREATE TABLE item(
                    id INTEGER PRIMARY KEY, title TEXT,
                    status TEXT DEFAULT open REFERENCES status(code) ON DELETE SET DEFAULT);
                """)
        try story(
            schema, together: "INSERT INTO status VALUES ('open'), ('done'); INSERT INTO item VALUES (1, 'a', 'done')",
            one: "DELETE FROM status WHERE code = 'done'", other: "INSERT INTO item VALUES (2, 'b', 'done')",
            query: "SELECT title, status FROM item ORDER BY 1", shows: ["a|open", "b|open"])
        let device = try TestDevice(1, schema)
        try device.run("INSERT INTO status VALUES ('open'); INSERT INTO item(title) VALUES ('a')")
        try device.flush()
        try device.run("ALTER TABLE item ADD COLUMN kind TEXT NOT NULL DEFAULT title")
        try device.flush()
        XCTAssertEqual(try device.query("SELECT kind FROM item"), ["title"])
        XCTAssertEqual(device.log.last?.operationCount, 0, "a new column's default is no news")
    }

    func testWhatIsTakenForSteadyIsSoToSQLite() throws {
        for text in [
            "random()", "abs(random()) % 10", "hex(randomblob(16))", "own_function()", "last_insert_rowid()",
            "changes()",
            "\"word\"", "note", "lower(note)", "?1",
        ] {
            XCTAssertFalse(DefaultText.isSteady(text), text)
        }
        let device = try TestDevice(1, schema("TEXT", "1"))
        // https://www.sqlite.org/c3ref/c_deterministic.html
        let known = try Set(device.query("SELECT name FROM pragma_function_list WHERE builtin AND flags & 0x800"))
        let taken = try device.query("SELECT DISTINCT name FROM pragma_function_list WHERE builtin").filter {
            // The words for the time are functions, too, and one in a statement.
            DefaultText.isSteady("\($0)(1)") && !$0.hasPrefix("current_")
        }
        XCTAssertGreaterThan(taken.count, 20)
        XCTAssertEqual(taken.filter { !known.contains($0) }, [])
    }
}
