import FerryCore
import XCTest

@testable import FerryStore

/// What two people do at the same time, and what both see afterwards. Every story is told in both orders of delivery,
/// with a third device that hears of everything at once, and the second device's clock is an hour ahead.
final class ConflictStoryTests: XCTestCase {
    private static let simple = TestSchema(
        name: "simple",
        sql: """
            CREATE TABLE s(id INTEGER PRIMARY KEY, a, b);
            CREATE TABLE k(code TEXT PRIMARY KEY NOT NULL, a, b) WITHOUT ROWID;
            CREATE TABLE d(id INTEGER PRIMARY KEY, name TEXT, n);
            CREATE TABLE u(id INTEGER PRIMARY KEY, v TEXT UNIQUE);
            """, declared: ["d": ["name"]])

    private static func family(_ action: String) -> TestSchema {
        TestSchema(
            name: action,
            sql: """
                CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE child(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE \(action), name TEXT);
                """)
    }

    // MARK: Insertions

    func testTheSameKeyInsertedTwiceIsOneRow() throws {
        try story(
            Self.simple, one: "INSERT INTO k VALUES ('x', 1, 1)", other: "INSERT INTO k VALUES ('x', 2, 2)",
            query: "SELECT * FROM k", shows: ["x|2|2"], conflicts: ["field", "field"])
    }

    func testTheSameIntegerInsertedTwiceIsTwoRows() throws {
        try story(
            Self.simple, one: "INSERT INTO s VALUES (1, 'one', 1)", other: "INSERT INTO s VALUES (1, 'other', 2)",
            query: "SELECT a, b FROM s ORDER BY b", shows: ["one|1", "other|2"], conflicts: [])
    }

    func testTheSameDeclaredIdentityInsertedTwiceIsOneRow() throws {
        try story(
            Self.simple, one: "INSERT INTO d(name, n) VALUES ('food', 1)",
            other: "INSERT INTO d(name, n) VALUES ('other', 0), ('food', 2)",
            query: "SELECT name, n FROM d ORDER BY name", shows: ["food|2", "other|0"], conflicts: ["field"])
    }

    // MARK: Updates

    func testOneColumnUpdatedTwiceShowsTheNewest() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 0, 0)", one: "UPDATE s SET a = 'one'",
            other: "UPDATE s SET a = 'other'", query: "SELECT * FROM s", shows: ["1|other|0"], conflicts: ["field"])
    }

    func testTwoColumnsUpdatedShowBoth() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 0, 0)", one: "UPDATE s SET a = 'one'",
            other: "UPDATE s SET b = 'other'", query: "SELECT * FROM s", shows: ["1|one|other"], conflicts: [])
    }

    func testALaterUpdateRevivesWhatWasDeleted() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 'a', 0)", one: "DELETE FROM s",
            other: "UPDATE s SET b = 1", query: "SELECT a, b FROM s", shows: ["a|1"], conflicts: ["revived"])
    }

    func testAnEarlierUpdateIsLostToADeletion() throws {
        try story(
            Self.simple, together: "INSERT INTO k VALUES ('x', 1, 1)", one: "UPDATE k SET a = 2",
            other: "DELETE FROM k",
            query: "SELECT * FROM k", shows: [], conflicts: ["deleted"])
    }

    func testADeletionOnBothSidesIsOneDeletion() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 'a', 0)", one: "DELETE FROM s", other: "DELETE FROM s",
            query: "SELECT * FROM s", shows: [], conflicts: [])
    }

    func testADeletedKeyThatComesBackIsShown() throws {
        try story(
            Self.simple, together: "INSERT INTO k VALUES ('x', 1, 1)",
            one: "DELETE FROM k; INSERT INTO k VALUES ('x', 5, 5)", other: "UPDATE k SET b = 2",
            query: "SELECT * FROM k", shows: ["x|5|2"])
    }

    func testAKeyThatIsReinsertedLaterSurvivesADeletion() throws {
        try story(
            Self.simple, together: "INSERT INTO k VALUES ('x', 1, 1)", one: "DELETE FROM k",
            other: "DELETE FROM k; INSERT INTO k VALUES ('x', 5, 5)", query: "SELECT * FROM k", shows: ["x|5|5"])
    }

    func testAKeyRenamedOnOneSideAndUpdatedOnTheOther() throws {
        try story(
            Self.simple, together: "INSERT INTO k VALUES ('x', 1, 1)", one: "UPDATE k SET code = 'y'",
            other: "UPDATE k SET a = 2", query: "SELECT * FROM k ORDER BY code", shows: ["x|2|1", "y|1|1"])
    }

    func testAnIntegerRenamedOnOneSideAndUpdatedOnTheOtherIsOneRow() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 1, 1)", one: "UPDATE s SET id = 9",
            other: "UPDATE s SET a = 2",
            query: "SELECT a, b FROM s", shows: ["2|1"], conflicts: [])
    }

    func testAnIntegerUsedAgainIsAnotherObject() throws {
        try story(
            Self.simple, together: "INSERT INTO s VALUES (1, 'old', 0)",
            one: "DELETE FROM s; INSERT INTO s VALUES (1, 'new', 1)", other: "UPDATE s SET a = 'touched'",
            query: "SELECT a, b FROM s ORDER BY b", shows: ["touched|0", "new|1"])
    }

    // MARK: Foreign keys

    func testAChildOfAParentThatIsDeletedByCascadeIsHidden() throws {
        try story(
            Self.family("CASCADE"), together: "INSERT INTO parent VALUES (1, 'p')",
            one: "INSERT INTO child VALUES (1, 1, 'c')",
            other: "DELETE FROM parent", query: "SELECT name FROM parent UNION SELECT name FROM child", shows: [])
    }

    func testAChildHoldsItsParentBackByRestrictAndNoAction() throws {
        for action in ["RESTRICT", "NO ACTION"] {
            try story(
                Self.family(action), together: "INSERT INTO parent VALUES (1, 'p')",
                one: "INSERT INTO child VALUES (1, 1, 'c')", other: "DELETE FROM parent",
                query: "SELECT child.name, parent.name FROM child JOIN parent ON parent.id = child.parent",
                shows: ["c|p"])
        }
    }

    func testAChildOfADeletedParentShowsNullOrTheDefault() throws {
        for action in ["SET NULL", "SET DEFAULT"] {
            try story(
                Self.family(action), together: "INSERT INTO parent VALUES (1, 'p')",
                one: "INSERT INTO child VALUES (1, 1, 'c')", other: "DELETE FROM parent",
                query: "SELECT name, parent FROM child", shows: ["c|NULL"])
        }
    }

    func testWhatSetNullDidDoesNotReviveARow() throws {
        // The deletion of the parent cleared the child's reference on one side; the other deleted the child before.
        try story(
            Self.family("SET NULL"),
            together: "INSERT INTO parent VALUES (1, 'p'); INSERT INTO child VALUES (1, 1, 'c')",
            one: "DELETE FROM child", other: "DELETE FROM parent", query: "SELECT name FROM child", shows: [])
    }

    func testAParentThatIsRevivedTakesItsClearedChildrenBack() throws {
        try story(
            Self.family("SET NULL"),
            together: "INSERT INTO parent VALUES (1, 'p'); INSERT INTO child VALUES (1, 1, 'c')",
            one: "DELETE FROM parent", other: "UPDATE parent SET name = 'q'",
            query: "SELECT child.name, parent.name FROM child JOIN parent ON parent.id = child.parent", shows: ["c|q"])
    }

    func testARevivedParentTakesChildrenThatCascadedBackOnlyIfTheyWereWritten() throws {
        try story(
            Self.family("CASCADE"),
            together: "INSERT INTO parent VALUES (1, 'p'); INSERT INTO child VALUES (1, 1, 'c'), (2, 1, 'd')",
            one: "DELETE FROM parent", other: "UPDATE parent SET name = 'q'; UPDATE child SET name = 'e' WHERE id = 2",
            query: "SELECT child.name, parent.name FROM child JOIN parent ON parent.id = child.parent", shows: ["e|q"])
    }

    func testRowsInACircleAreHeldByNobodyOutside() throws {
        let circle = TestSchema(
            name: "circle",
            sql: """
                CREATE TABLE a(id INTEGER PRIMARY KEY, b INTEGER REFERENCES b DEFERRABLE INITIALLY DEFERRED, x);
                CREATE TABLE b(id INTEGER PRIMARY KEY, a INTEGER REFERENCES a DEFERRABLE INITIALLY DEFERRED, x);
                """)
        let both = "BEGIN; INSERT INTO a VALUES (1, 1, 'a'); INSERT INTO b VALUES (1, 1, 'b'); COMMIT"
        try story(
            circle, together: both, one: "BEGIN; DELETE FROM a; DELETE FROM b; COMMIT",
            other: "BEGIN; DELETE FROM b; DELETE FROM a; COMMIT", query: "SELECT x FROM a UNION SELECT x FROM b",
            shows: [])
        try story(
            circle, together: both, one: "BEGIN; DELETE FROM a; DELETE FROM b; COMMIT", other: "UPDATE a SET x = 'c'",
            query: "SELECT a.x, b.x FROM a JOIN b ON b.id = a.b AND a.id = b.a", shows: ["c|b"])
    }

    func testANodeThatIsItsOwnParentIsDeleted() throws {
        let tree = TestSchema(
            name: "tree", sql: "CREATE TABLE n(id INTEGER PRIMARY KEY, up INTEGER REFERENCES n ON DELETE CASCADE, x)")
        try story(
            tree, together: "INSERT INTO n VALUES (1, 1, 'root'), (2, 1, 'leaf')",
            one: "INSERT INTO n VALUES (3, 2, 'new')",
            other: "DELETE FROM n WHERE id = 1", query: "SELECT x FROM n", shows: [])
    }

    // MARK: UNIQUE

    func testTheOldestInsertionKeepsAUniqueValue() throws {
        try story(
            Self.simple, one: "INSERT INTO u VALUES (1, 'x')", other: "INSERT INTO u VALUES (1, 'x'), (2, 'y')",
            query: "SELECT v FROM u ORDER BY v", shows: ["x", "y"])
    }

    func testUniqueValuesThatAreSwappedInAChain() throws {
        try story(
            Self.simple, together: "INSERT INTO u VALUES (1, 'a'), (2, 'b'), (3, 'c')",
            one:
                "BEGIN; UPDATE u SET v = 't' WHERE id = 1; UPDATE u SET v = 'a' WHERE id = 2; UPDATE u SET v = 'b' WHERE id = 3; UPDATE u SET v = 'c' WHERE id = 1; COMMIT",
            other: "INSERT INTO u VALUES (4, 'd')", query: "SELECT id, v FROM u ORDER BY id",
            shows: ["1|c", "2|a", "3|b", "4|d"], conflicts: [])
    }

    func testReplacedRowsAreDeletedEverywhere() throws {
        try story(
            Self.simple, together: "INSERT INTO u VALUES (1, 'a'), (2, 'b')",
            one: "INSERT OR REPLACE INTO u VALUES (3, 'a')",
            other: "INSERT INTO u VALUES (5, 'c')", query: "SELECT v FROM u ORDER BY v", shows: ["a", "b", "c"])
    }

    // MARK: Conflict records

    func testWhatFollowsOneAnotherIsNoConflict() throws {
        let (first, second) = (try TestDevice(1, Self.simple), try TestDevice(2, Self.simple, hoursAhead: -1))
        try first.run("INSERT INTO s VALUES (1, 'a', 0)")
        for round in 0..<4 {
            let (from, to) = round % 2 == 0 ? (first, second) : (second, first)
            try from.run("UPDATE s SET a = \(round)")
            try from.flush()
            try to.receive(from)
        }
        try second.run("DELETE FROM s")
        try second.flush()
        try first.receive(second)
        for device in [first, second] {
            XCTAssertEqual(try device.query("SELECT count(*) FROM ferry_conflict"), ["0"])
            XCTAssertEqual(try device.query("SELECT * FROM s"), [])
        }
    }

    func testThreeWritersOfOneFieldAgreeInEveryOrder() throws {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]
        let devices = try (0..<3).map { try TestDevice($0 + 1, Self.simple, hoursAhead: Int64($0)) }
        for device in devices {
            try device.run("INSERT INTO k VALUES ('x', 'device \(device.id.low)', 0)")
            try device.flush()
        }
        for (number, order) in orders.enumerated() {
            let late = try TestDevice(10 + number, Self.simple)
            for index in order { try late.receive(devices[index]) }
            XCTAssertEqual(try late.query("SELECT a FROM k"), ["device 3"])
        }
    }
}
