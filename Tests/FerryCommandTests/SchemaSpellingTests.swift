import XCTest

/// Schemas in spellings that SQLite takes and few people use: what the app does goes on as before, and devices agree.
final class SchemaSpellingTests: XCTestCase {
    /// Two devices write, and show the same.
    private func assertInStep(
        _ schema: String, _ one: String, _ other: String, shows expected: String, _ query: String = "SELECT * FROM t",
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", schema)
        try workshop.succeed("init", "a.sqlite", "box", "--open", "--name", "a", file: file, line: line)
        try workshop.succeed("join", "b.sqlite", "box", "--name", "b", file: file, line: line)
        try workshop.sql("a.sqlite", one)
        try workshop.succeed("sync", "a.sqlite", file: file, line: line)
        try workshop.sql("b.sqlite", other)
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] {
            try workshop.succeed("sync", database, file: file, line: line)
        }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, query), expected + "\n", database, file: file, line: line)
            try workshop.succeed("verify", database, "--deep", file: file, line: line)
            try workshop.succeed("sync", database, file: file, line: line)
        }
        let status = try workshop.succeed("status", "a.sqlite", "--json", file: file, line: line).json()
        let devices = status["devices"] as? [[String: Any]]
        XCTAssertEqual(devices?.map { $0["standing"] as? String }, ["inStep"], file: file, line: line)
    }

    func testAnIndexMayNameItsTableInItsCondition() throws {
        for name in ["t.gone", "\"t\".gone", "[T].[gone]", "main.t.gone"] {
            try assertInStep(
                """
                CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, gone INTEGER DEFAULT 0);
                CREATE UNIQUE INDEX i ON t(name COLLATE NOCASE) WHERE \(name) = 0;
                """,
                "INSERT INTO t(name) VALUES ('Rock'); UPDATE t SET gone = 0",
                "INSERT INTO t(name) VALUES ('rock'); INSERT OR REPLACE INTO t(name) VALUES ('ROCK')",
                shows: "1", "SELECT count(*) FROM t")
        }
    }

    func testATextOfAnIndexMayStandInDoubleQuotes() throws {
        for rest in ["(name COLLATE NOCASE) WHERE state = \"on\"", "(lower(name || \".on\"))", "(lower(shown))"] {
            try assertInStep(
                """
                CREATE TABLE t(
                    id INTEGER PRIMARY KEY, name TEXT, state TEXT DEFAULT "on" CHECK (state <> "none"),
                    shown TEXT AS (name || "!"));
                CREATE UNIQUE INDEX i ON t\(rest);
                """,
                "INSERT INTO t(name) VALUES ('Rock')", "INSERT INTO t(name) VALUES ('rock')", shows: "rock|on|rock!",
                "SELECT name, state, shown FROM t")
        }
    }

    func testATextOfATriggerOrAViewMayStandInDoubleQuotes() throws {
        try assertInStep(
            """
            CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, state TEXT DEFAULT "on");
            CREATE TABLE log(x);
            CREATE VIEW active AS SELECT * FROM t WHERE state = "on";
            CREATE TRIGGER logs AFTER INSERT ON t WHEN new.state = "on" BEGIN
                INSERT INTO log SELECT "new: " || count(*) FROM active; END;
            """,
            "INSERT INTO t(name) VALUES ('Rock')", "INSERT INTO t(name) VALUES ('Jazz')", shows: "new: 1\nnew: 2",
            "SELECT x FROM log ORDER BY x")
    }

    func testAColumnMayHaveATypeOfManyWords() throws {
        try assertInStep(
            """
            CREATE TABLE t(
                id INTEGER PRIMARY KEY, x "long double precision (3, 5) unsigned" UNIQUE, y 'it''s', z any UNIQUE,
                g "big int" AS (x));
            """,
            "INSERT INTO t(x, y, z) VALUES ('1.5', 'a', '7')", "INSERT INTO t(x, y, z) VALUES (1.5, 'b', 7)",
            shows: "1.5|b|7|1.5", "SELECT x, y, z, g FROM t")
    }
}
