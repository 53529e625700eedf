import XCTest

@testable import FerryStore

/// What devices do that do not enforce foreign keys, in histories that were made small.
final class BrokenKeyStoryTests: XCTestCase {
    private func assertHolds(
        _ schema: TestSchema, _ story: String, deleteWins: String? = nil, pace: Int = 0, file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let lines = try XCTUnwrap(HistoryScript.lines(of: story.split(separator: "\n").map(String.init)))
        let policies = PlainPolicies(deleteWins: deleteWins.map { [$0] } ?? [])
        let script = try HistoryScript(
            schema: schema, oracle: Oracle(schema, policies: policies), devices: lines.map(\.device).max() ?? 1,
            deleteWins: deleteWins, pace: pace)
        XCTAssertNil(script.failure(of: lines), file: file, line: line)
    }

    func testARowThatIsKnownByARowUnderZeroThatIsUnmade() throws {
        try assertHolds(
            .catalogue,
            """
            1: INSERT INTO product(id) VALUES (0)  -- foreign keys off
            1: INSERT INTO stock VALUES (0, 4, NULL); DELETE FROM product  -- foreign keys off
            1: UPDATE stock SET amount = 5  -- foreign keys off
            1: pass
            1: UPDATE stock SET amount = 6  -- foreign keys off
            """)
    }

    func testARowUnderZeroGetsAnotherKey() throws {
        try assertHolds(
            .catalogue,
            """
            1: INSERT INTO category(id) VALUES (0); INSERT INTO product(category) VALUES (0)  -- foreign keys off
            1: pass
            1: UPDATE category SET id = 2  -- foreign keys off
            """)
    }

    /// The row that stays is known by zero from then on.
    func testARowThatIsKnownByARowUnderZeroThatIsReplaced() throws {
        let schema = TestSchema(
            name: "pairs",
            sql: """
                CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT UNIQUE);
                CREATE TABLE road(
                    a INTEGER NOT NULL REFERENCES place, b INTEGER NOT NULL REFERENCES place, length REAL, PRIMARY KEY(a, b));
                """)
        try assertHolds(
            schema,
            """
            1: INSERT INTO place VALUES (0, 'x'); INSERT INTO road VALUES (4, 0, 2)  -- foreign keys off
            1: INSERT OR REPLACE INTO place(name) VALUES ('x')  -- foreign keys off
            1: pass
            1: UPDATE road SET length = 9  -- foreign keys off
            """)
    }

    /// What a row never said does not become news where it leaves its place to another object.
    func testWhatIsKnownByARowWhoseKeyAnotherOneGets() throws {
        let schema = TestSchema(
            name: "parts",
            sql: """
                CREATE TABLE whole(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE part(id INTEGER PRIMARY KEY REFERENCES whole, beside INTEGER REFERENCES whole, name TEXT);
                """)
        try assertHolds(
            schema,
            """
            1: INSERT INTO whole VALUES (1, 'a'); INSERT INTO part VALUES (1, 1, 'b')  -- foreign keys off
            1: pass
            1: DELETE FROM whole; INSERT INTO whole(name) VALUES ('c')  -- foreign keys off
            """)
    }

    /// Both columns of the key get the one that the row takes.
    func testARowThatIsKnownTwiceByARowThatComes() throws {
        let schema = TestSchema(
            name: "loops",
            sql: """
                CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE road(
                    a INTEGER NOT NULL REFERENCES place, b INTEGER NOT NULL REFERENCES place,
                    beside INTEGER REFERENCES place, PRIMARY KEY(a, b));
                """)
        try assertHolds(
            schema,
            """
            1: INSERT INTO road VALUES (5, 5, 5)  -- foreign keys off
            1: pass
            2: pass 1
            1: INSERT INTO place VALUES (5, 'x')  -- foreign keys off
            1: pass
            2: pass 1
            2: UPDATE road SET beside = NULL
            """)
    }
}
