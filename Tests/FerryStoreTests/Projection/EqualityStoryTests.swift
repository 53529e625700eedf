import XCTest

@testable import FerryStore

/// SQLite decides what is equal: rows that it takes for one are one on every device, however the schema says so.
final class EqualityStoryTests: XCTestCase {
    private func schema(_ sql: String) -> TestSchema { TestSchema(name: "equality", sql: sql) }

    /// Two people enter what SQLite takes for one value.
    private func assertOne(
        _ sql: String, _ one: String, _ other: String, table: String = "u", shows: [String], query: String? = nil,
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        let name = table.replacing("\"", with: "\"\"")
        try story(
            schema(sql), one: "INSERT INTO \"\(name)\" VALUES (\(one))",
            other: "INSERT INTO \"\(name)\" VALUES (\(other))",
            query: query ?? "SELECT * FROM \"\(name)\"", shows: shows, file: file, line: line)
    }

    // MARK: Names of collations

    func testACollationCountsInWhicheverLettersItIsWritten() throws {
        for name in ["nocase", "NoCase", "\"nocase\"", "[NOCASE]", "`nOcAsE`", "'nocase'"] {
            try assertOne(
                "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT NOT NULL COLLATE \(name) UNIQUE)", "'1', 'Rock'",
                "'2', 'rock'",
                shows: ["1|rock"])
        }
        try assertOne(
            "create table u(k text primary key, v text collate rtrim unique)", "'1', 'a'", "'2', 'a  '",
            shows: ["1|a  "])
    }

    func testACollationOfAnIndexCountsInWhicheverLettersItIsWritten() throws {
        try assertOne(
            "create table u(k text primary key, v text, w text); create unique index \"on e\" on u(v collate nocase, w)",
            "'1', 'Rock', 'x'", "'2', 'rock', 'x'", shows: ["1|rock|x"])
        try assertOne(
            "create table u(k text primary key, v text); create unique index i on u(v collate Rtrim) where v > ''",
            "'1', 'a'", "'2', 'a '", shows: ["1|a "])
        try assertOne(
            "create table u(k text primary key, v text); create unique index i on u(trim(v) collate nocase)",
            "'1', 'Rock'", "'2', 'rock '", shows: ["1|rock "])
        try assertOne(
            "create table u(k text primary key collate NoCase, v)", "'Rock', 1", "'rock', 2", shows: ["rock|2"])
    }

    // MARK: NUL

    func testNoCaseComparesNothingBehindANul() throws {
        try assertOne(
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT COLLATE NOCASE UNIQUE)", "'1', 'a' || char(0) || 'b'",
            "'2', 'A' || char(0) || 'c'", shows: ["1|A\u{0}c"], query: "SELECT k, v FROM u")
        // Of another length it is another value.
        try assertOne(
            "CREATE TABLE u(k TEXT PRIMARY KEY, v TEXT COLLATE NOCASE UNIQUE)", "'1', 'a' || char(0) || 'b'",
            "'2', 'a' || char(0)", shows: ["1|a\u{0}b", "2|a\u{0}"], query: "SELECT k, v FROM u ORDER BY k")
        try assertOne(
            "CREATE TABLE u(k TEXT COLLATE NOCASE PRIMARY KEY, v)", "'a' || char(0) || 'b', 1",
            "'a' || char(0) || 'c', 2",
            shows: ["2"], query: "SELECT v FROM u")
    }

    // MARK: Keys

    func testACollationThatStandsInThePrimaryKeyCounts() throws {
        for clause in ["", " WITHOUT ROWID"] {
            try assertOne(
                "CREATE TABLE u(k TEXT, x, PRIMARY KEY(k COLLATE NOCASE))\(clause)", "'Rock', 1", "'ROCK', 2",
                shows: ["Rock|2"])
            try assertOne(
                "CREATE TABLE u(k TEXT, \"l e\" TEXT, x, PRIMARY KEY(\"l e\", k collate rtrim DESC))\(clause)",
                "'a', 'b', 1", "'a ', 'b', 2", shows: ["a|b|2"])
            try assertOne(
                "CREATE TABLE u(k TEXT COLLATE RTRIM, x, PRIMARY KEY(k COLLATE NOCASE))\(clause)", "'a', 1", "'A', 2",
                shows: ["a|2"])
        }
    }

    func testAKeyThatTellsMoreApartThanItsColumnIsTwo() throws {
        try assertOne(
            "CREATE TABLE u(k TEXT COLLATE NOCASE, x, PRIMARY KEY(k COLLATE BINARY))", "'Rock', 1", "'rock', 2",
            shows: ["Rock|1", "rock|2"], query: "SELECT * FROM u ORDER BY x")
    }

    func testAUUIDWithASpaceBehindItIsTheSameKeyUnderRTRIM() throws {
        let id = "6b2f0cba-1c2d-4b3e-8f40-5a6b7c8d9e0f"
        try assertOne(
            "CREATE TABLE u(k TEXT COLLATE RTRIM PRIMARY KEY, x)", "'\(id)', 1", "'\(id) ', 2", shows: ["\(id)|2"])
    }

    func testARowThatReplacesTheOneWithTheSameKeyTakesItsPlaceEverywhere() throws {
        try story(
            schema("CREATE TABLE u(k TEXT, x, y, PRIMARY KEY(k COLLATE NOCASE))"),
            together: "INSERT INTO u VALUES ('Rock', 1, 1), ('Pop', 1, 1)",
            one: "INSERT OR REPLACE INTO u VALUES ('ROCK', 2, 2)", other: "UPDATE u SET x = 5 WHERE k = 'Pop'",
            query: "SELECT * FROM u ORDER BY k", shows: ["Pop|5|1", "ROCK|2|2"])
        try story(
            schema("CREATE TABLE u(k TEXT, x, y, PRIMARY KEY(k COLLATE NOCASE))"),
            together: "INSERT INTO u VALUES ('Rock', 1, 1)", one: "UPDATE u SET k = 'ROCK'",
            other: "UPDATE u SET x = 5",
            query: "SELECT upper(k), x, y FROM u", shows: ["ROCK|5|1"])
    }

    func testAReferenceMeansTheKeyThatSQLiteTakesForItsOwn() throws {
        for action in ["CASCADE", "RESTRICT", "SET NULL"] {
            try story(
                schema(
                    """
                    CREATE TABLE u(k TEXT, x, PRIMARY KEY(k COLLATE NOCASE));
                    CREATE TABLE child(c TEXT PRIMARY KEY, u TEXT REFERENCES u ON DELETE \(action));
                    """), together: "INSERT INTO u VALUES ('Rock', 1); INSERT INTO child VALUES ('a', 'ROCK')",
                one: "INSERT INTO child VALUES ('b', 'rock')", other: "UPDATE u SET x = 2",
                query: "SELECT c, child.u, x FROM child JOIN u ON u.k = child.u COLLATE NOCASE ORDER BY c",
                shows: ["a|ROCK|2", "b|rock|2"])
        }
    }

    func testChildrenOfRowsThatAreOneByTheirKeyStay() throws {
        try story(
            schema(
                """
                CREATE TABLE u(k TEXT, x, PRIMARY KEY(k COLLATE NOCASE));
                CREATE TABLE child(c TEXT PRIMARY KEY, u TEXT REFERENCES u);
                """), one: "INSERT INTO u VALUES ('Rock', 1); INSERT INTO child VALUES ('a', 'Rock')",
            other: "INSERT INTO u VALUES ('ROCK', 2); INSERT INTO child VALUES ('b', 'ROCK')",
            query: "SELECT c, x FROM child JOIN u ON u.k = child.u COLLATE NOCASE ORDER BY c",
            shows: ["a|2", "b|2"])
    }

    // MARK: Generated columns

    func testAGeneratedColumnUnderAUniqueConstraintIsComputed() throws {
        for kind in ["VIRTUAL", "STORED"] {
            try assertOne(
                "CREATE TABLE u(k TEXT PRIMARY KEY, a TEXT, \"B c\" INT GENERATED ALWAYS AS (length(a)) \(kind), UNIQUE(\"B c\"))",
                "'1', 'x'", "'2', 'z'", table: "u", shows: ["1|z|1"])
        }
    }
}
