import XCTest

@testable import FerryStore

/// What each constraint of a schema makes of what two people did at the same time: the table of Docs/Merging.md.
final class ConstraintStoryTests: XCTestCase {
    private func schema(_ sql: String) -> TestSchema { TestSchema(name: "constraint", sql: sql) }

    // MARK: UNIQUE

    func testRowsThatAreGivenOneUniqueValueAreOneRow() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE, w, x)"),
            together: "INSERT INTO u VALUES (1, 'a', 1, 1), (2, 'b', 2, 2)",
            one: "UPDATE u SET v = 'z', w = 'one' WHERE id = 1",
            other: "UPDATE u SET v = 'z', x = 'other' WHERE id = 2",
            query: "SELECT id, v, w, x FROM u", shows: ["1|z|one|other"])
    }

    func testValuesThatACollationTakesForEqualAreOne() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE COLLATE NOCASE)"),
            one: "INSERT INTO u(v) VALUES ('Rock')", other: "INSERT INTO u(v) VALUES ('ROCK')",
            query: "SELECT v FROM u", shows: ["ROCK"])
    }

    func testNullsClaimNothing() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT, w TEXT, UNIQUE (v, w))"),
            one: "INSERT INTO u(v, w) VALUES ('a', NULL)", other: "INSERT INTO u(v, w) VALUES ('a', NULL)",
            query: "SELECT v, w FROM u", shows: ["a|NULL", "a|NULL"])
    }

    func testACompoundUniqueValueIsOne() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT, w TEXT, x, UNIQUE (v, w))"),
            one: "INSERT INTO u(v, w, x) VALUES ('a', 'b', 1), ('a', 'c', 1)",
            other: "INSERT INTO u(v, w, x) VALUES ('a', 'b', 2), ('d', 'b', 2)",
            query: "SELECT v, w, x FROM u ORDER BY 1, 2", shows: ["a|b|2", "a|c|1", "d|b|2"])
    }

    func testFieldsThatTogetherMakeATakenTupleJoinItsRowToo() throws {
        // Rows 1 and 2 become one by their code, and then show the tuple that row 3 has.
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, code TEXT UNIQUE, a, b, UNIQUE (a, b))"),
            together: "INSERT INTO u VALUES (1, 'x', 0, 1), (2, 'y', 2, 2), (3, 'z', 1, 9)",
            one: "UPDATE u SET code = 'k', a = 1 WHERE id = 1",
            other: "UPDATE u SET code = 'k', b = 9 WHERE id = 2", query: "SELECT code, a, b FROM u", shows: ["k|1|9"])
    }

    func testAPartialIndexCountsOnlyWhereItsConditionHolds() throws {
        try story(
            schema(
                """
                CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT, gone INTEGER NOT NULL DEFAULT 0);
                CREATE UNIQUE INDEX present ON u(v) WHERE gone = 0
                """),
            one: "INSERT INTO u(v, gone) VALUES ('a', 1), ('b', 0)",
            other: "INSERT INTO u(v, gone) VALUES ('a', 0), ('b', 0)", query: "SELECT v, gone FROM u ORDER BY 1, 2",
            shows: ["a|0", "a|1", "b|0"])
    }

    func testAnExpressionOfAGeneratedColumnIsComputed() throws {
        try story(
            schema(
                """
                CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT, folded TEXT AS (lower(trim(v))));
                CREATE UNIQUE INDEX once ON u(folded || '!')
                """),
            one: "INSERT INTO u(v) VALUES ('Rock ')", other: "INSERT INTO u(v) VALUES ('rock')",
            query: "SELECT v, folded FROM u", shows: ["rock|rock"])
    }

    func testValuesThatChangePlacesInAChainAreNoRivals() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE, n)"),
            together: "INSERT INTO u VALUES (1, 'a', 0), (2, 'b', 0)",
            one:
                "UPDATE u SET v = 't' WHERE id = 1; UPDATE u SET v = 'a' WHERE id = 2; UPDATE u SET v = 'b' WHERE id = 1",
            other: "UPDATE u SET n = 1", query: "SELECT id, v, n FROM u", shows: ["1|b|1", "2|a|1"], conflicts: [])
    }

    func testARowReplacedHereAndUpdatedThereIsOneRowWithItsSuccessor() throws {
        try story(
            schema("CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE, n)"),
            together: "INSERT INTO u VALUES (1, 'a', 0)", one: "INSERT OR REPLACE INTO u VALUES (7, 'a', 7)",
            other: "UPDATE u SET n = 1", query: "SELECT v, n FROM u", shows: ["a|1"])
    }

    func testChildrenOfRowsThatBecomeOneReferToIt() throws {
        for action in ["CASCADE", "RESTRICT", "NO ACTION", "SET NULL"] {
            try story(
                schema(
                    """
                    CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                    CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE \(action), n);
                    """), together: "INSERT INTO parent VALUES (1, 'together')",
                one: "INSERT INTO parent VALUES (2, 'p'); INSERT INTO child VALUES (1, 2, 'one')",
                other: "INSERT INTO parent VALUES (2, 'p'); INSERT INTO child VALUES (1, 2, 'other')",
                query: "SELECT name, n FROM child JOIN parent ON parent.id = parent ORDER BY n",
                shows: ["p|one", "p|other"])
        }
    }

    // MARK: Foreign keys to other columns than the key

    func testAReferenceByValueFollowsTheValue() throws {
        try story(
            schema(
                """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT UNIQUE, name);
                CREATE TABLE product(id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker(code) ON UPDATE CASCADE, n);
                """), together: "INSERT INTO maker VALUES (1, 'ab', 'A'); INSERT INTO product VALUES (1, 'ab', 0)",
            one: "UPDATE maker SET code = 'xy'", other: "UPDATE product SET n = 1",
            query: "SELECT maker, n, name FROM product JOIN maker ON code = maker", shows: ["xy|1|A"])
    }

    func testAReferenceByValueLeadsToTheRowThatItsTargetBecameOneWith() throws {
        try story(
            schema(
                """
                CREATE TABLE maker(id INTEGER PRIMARY KEY, code TEXT UNIQUE, site TEXT UNIQUE);
                CREATE TABLE product(id INTEGER PRIMARY KEY, maker TEXT REFERENCES maker(code), n);
                """), one: "INSERT INTO maker VALUES (1, 'old', 's'); INSERT INTO product VALUES (1, 'old', 'one')",
            other: "INSERT INTO maker VALUES (1, 'new', 's'); INSERT INTO product VALUES (1, 'new', 'other')",
            query: "SELECT n, code, site FROM product JOIN maker ON code = maker ORDER BY n",
            shows: ["one|new|s", "other|new|s"])
    }

    // MARK: CHECK, NOT NULL, STRICT

    func testFieldsThatTogetherBreakACheckAreHidden() throws {
        try story(
            schema("CREATE TABLE r(id INTEGER PRIMARY KEY, low INTEGER, high INTEGER, CHECK (low <= high))"),
            together: "INSERT INTO r VALUES (1, 1, 10), (2, 1, 10)", one: "UPDATE r SET low = 9 WHERE id = 1",
            other: "UPDATE r SET high = 2 WHERE id = 1", query: "SELECT * FROM r", shows: ["2|1|10"])
    }

    func testAReferenceThatMayNotBeNullHidesItsRowWhereItWouldBeCleared() throws {
        try story(
            schema(
                """
                CREATE TABLE parent(id INTEGER PRIMARY KEY);
                CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parent ON DELETE SET NULL);
                """), together: "INSERT INTO parent VALUES (1), (2)", one: "INSERT INTO child VALUES (1, 1), (2, 2)",
            other: "DELETE FROM parent WHERE id = 1", query: "SELECT * FROM child", shows: ["2|2"])
    }

    func testAStrictTableTakesWhatBothWrote() throws {
        try story(
            schema("CREATE TABLE t(id INTEGER PRIMARY KEY, a ANY, b INTEGER) STRICT"),
            together: "INSERT INTO t VALUES (1, 1, 1)", one: "UPDATE t SET a = '1'", other: "UPDATE t SET b = 2",
            query: "SELECT typeof(a), a, b FROM t", shows: ["text|1|2"])
    }

    func testRowsThatAreMovedBelowEachOtherAreACycle() throws {
        try story(
            schema("CREATE TABLE n(id INTEGER PRIMARY KEY, up INTEGER REFERENCES n, name)"),
            together: "INSERT INTO n VALUES (1, NULL, 'root'), (2, 1, 'a'), (3, 1, 'b')",
            one: "UPDATE n SET up = 3 WHERE id = 2", other: "UPDATE n SET up = 2 WHERE id = 3",
            query: "SELECT id, up FROM n", shows: ["1|NULL", "2|3", "3|2"])
    }

    func testAReferenceInOtherCaseIsOneWhereTheParentsCollationSaysSo() throws {
        let expected = [
            "CASCADE": ["c"], "SET NULL": ["-", "c"], "RESTRICT": ["B", "b", "c"], "NO ACTION": ["B", "b", "c"],
        ]
        for (action, shown) in expected.sorted(by: { $0.key < $1.key }) {
            try story(
                schema(
                    """
                    CREATE TABLE p(key TEXT PRIMARY KEY COLLATE NOCASE);
                    CREATE TABLE c(id INTEGER PRIMARY KEY, p TEXT REFERENCES p ON DELETE \(action));
                    """),
                together: "INSERT INTO p VALUES ('b'), ('c')", one: "DELETE FROM p WHERE key = 'b'",
                other: "INSERT INTO c(p) VALUES ('B')",
                query: "SELECT ifnull(p, '-') FROM c UNION ALL SELECT key FROM p ORDER BY 1", shows: shown)
        }
    }

    func testADeletedParentThatSomebodyMeansByItsDefaultIsShownAsTheDefault() throws {
        try story(
            schema(
                """
                CREATE TABLE status(code TEXT PRIMARY KEY NOT NULL);
                CREATE TABLE task(id INTEGER PRIMARY KEY, status TEXT DEFAULT 'new' REFERENCES status ON DELETE SET DEFAULT);
                """), together: "INSERT INTO status VALUES ('new'), ('late')",
            one: "INSERT INTO task VALUES (1, 'late')",
            other: "DELETE FROM status WHERE code = 'late'", query: "SELECT status FROM task", shows: ["new"])
    }

    func testAnUpdateOfTheKeyOfALinkIsADeletionAndAnInsertion() throws {
        try story(
            schema(
                """
                CREATE TABLE a(id INTEGER PRIMARY KEY, n);
                CREATE TABLE link(x INTEGER REFERENCES a ON DELETE CASCADE, y INTEGER REFERENCES a ON DELETE CASCADE,
                    note, PRIMARY KEY (x, y)) WITHOUT ROWID;
                """), together: "INSERT INTO a VALUES (1, 1), (2, 2), (3, 3); INSERT INTO link VALUES (1, 2, 'old')",
            one: "UPDATE link SET y = 3", other: "UPDATE link SET note = 'new'", query: "SELECT * FROM link ORDER BY y",
            shows: ["1|2|new", "1|3|old"])
    }

    /// What the schema says of rows in each other's way is for the app's writes. Those that come are moved by the rules.
    func testAConflictClauseOfTheSchemaRemovesNoRowThatComes() throws {
        let trigger = """
            CREATE TABLE note(id INTEGER PRIMARY KEY, text TEXT);
            CREATE TRIGGER noting AFTER UPDATE ON t BEGIN INSERT INTO note(text) VALUES (NEW.name); END;
            """
        for (clause, more) in [("REPLACE", ""), ("IGNORE", ""), ("FAIL", ""), ("REPLACE", trigger)] {
            let schema = TestSchema(
                name: clause,
                sql: """
                    CREATE TABLE t(id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT \(clause), name TEXT);
                    \(more)
                    """)
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
            try first.run("INSERT INTO t VALUES (1, 'a', 'one'), (2, 'b', 'two'), (3, 'c', 'three')")
            try first.flush()
            try second.receive(first)
            // Three rows hand their codes on in a circle.
            try first.run(
                """
                BEGIN; UPDATE t SET code = NULL WHERE id = 1; UPDATE t SET code = 'a' WHERE id = 3;
                UPDATE t SET code = 'c' WHERE id = 2; UPDATE t SET code = 'b' WHERE id = 1; COMMIT
                """)
            try first.flush()
            try second.receive(first)
            for device in [first, second] {
                XCTAssertEqual(
                    try device.query("SELECT id, code, name FROM t ORDER BY id"),
                    ["1|b|one", "2|c|two", "3|a|three"], clause)
                XCTAssertEqual(try device.store.verify(deep: true).differences, [], clause)
            }
            // And two devices take one code at once.
            try first.run("INSERT INTO t(code, name) VALUES ('d', 'first')")
            second.clock.now += 1000
            try second.run("INSERT INTO t(code, name) VALUES ('d', 'second')")
            try first.flush()
            try second.flush()
            try second.receive(first)
            try first.receive(second)
            for device in [first, second] {
                XCTAssertEqual(try device.store.verify(deep: true).differences, [], clause)
            }
            let query = "SELECT code, name FROM t ORDER BY code"
            XCTAssertEqual(try first.query(query), try second.query(query), clause)
        }
    }
}
