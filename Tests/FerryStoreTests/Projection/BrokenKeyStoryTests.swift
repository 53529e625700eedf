import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// What devices do that do not enforce foreign keys, in histories that were made small.
final class BrokenKeyStoryTests: XCTestCase {
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

    /// The first device's row refers to nothing by 0. The second device has a row under 0, and refers to the first device's row by 0.
    func testAReferenceToARowThatIsKnownByNothingHoldsWhereARowIsUnderZero() throws {
        let schema = TestSchema(
            name: "remarks on roads",
            sql: """
                CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT);
                CREATE TABLE road(
                    a INTEGER NOT NULL REFERENCES place, b INTEGER NOT NULL REFERENCES place, length REAL, PRIMARY KEY(a, b));
                CREATE TABLE remark(
                    id TEXT PRIMARY KEY NOT NULL, a INTEGER NOT NULL, b INTEGER NOT NULL,
                    FOREIGN KEY(a, b) REFERENCES road(a, b));
                """)
        try assertHolds(
            schema,
            """
            2: INSERT INTO place(id) VALUES (0)
            1: INSERT INTO road VALUES (0, 1, 1.0)  -- foreign keys off
            1: pass 2
            2: pass 1
            2: INSERT INTO remark SELECT 'x', a, b FROM road
            2: pass
            2: INSERT INTO remark SELECT 'y', a, b FROM road
            2: pass
            1: pass 2
            """)
    }

    /// The word of the broken foreign key comes behind the value that breaks the foreign key, in one pass.
    func testAPlainValueBeforeTheWordOfItsBrokenKeyMeansNothingUnderARowsOwnKey() throws {
        let schema = TestSchema(
            name: "persons",
            sql: """
                CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES person);
                CREATE TABLE note(id INTEGER PRIMARY KEY, person INTEGER REFERENCES person);
                """, declared: ["person": ["name"]])
        for passes in ["3: pass 1 2", "3: pass 1\n3: pass 2"] {
            try assertHolds(
                schema,
                """
                2: INSERT INTO note(person) VALUES (9)  -- foreign keys off
                2: pass
                3: pass 2
                1: pass 2
                1: INSERT INTO person VALUES (0, 'a', NULL)
                1: pass
                2: INSERT INTO person(name, boss) VALUES ('b', NULL), ('a', 0)  -- foreign keys off
                2: pass
                \(passes)
                """)
        }
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

    // MARK: Rows under the integer 0, and references to 0 that mean nothing

    private static let covers = TestSchema(
        name: "covers",
        sql: """
            CREATE TABLE album(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE cover(id INTEGER PRIMARY KEY, album INTEGER REFERENCES album, size INTEGER, UNIQUE(album));
            """)

    private static let roads = TestSchema(
        name: "roads",
        sql: """
            CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE road(
                a INTEGER NOT NULL REFERENCES place ON UPDATE CASCADE, b INTEGER NOT NULL REFERENCES place ON UPDATE CASCADE,
                length REAL, PRIMARY KEY(a, b));
            """)

    /// The row has another integer on the third device, where SQLite would let both covers be.
    func testARowUnderZeroAndNothingUnderUniqueAreOne() throws {
        for order in ["3: pass 1 2", "3: pass 2 1", "2: pass 1", "1: pass 2"] {
            try assertHolds(
                Self.covers,
                """
                3: INSERT INTO album VALUES (0, 'z')
                1: INSERT INTO cover VALUES (1, 0, 1)  -- foreign keys off
                2: INSERT INTO album VALUES (0, 'x'); INSERT INTO cover VALUES (9, 0, 2)
                1: pass
                2: pass
                \(order)
                1: UPDATE cover SET size = 3
                """)
        }
    }

    func testTwoRowsUnderZeroAndNothingUnderUniqueAreOne() throws {
        try assertHolds(
            Self.covers,
            """
            1: INSERT INTO album VALUES (0, 'x'); INSERT INTO cover VALUES (1, 0, 1)
            2: INSERT INTO album VALUES (0, 'y'); INSERT INTO cover VALUES (2, 0, 2)
            3: INSERT INTO cover VALUES (3, 0, 3)  -- foreign keys off
            1: pass
            2: pass
            3: pass 1
            1: pass 3 2
            3: UPDATE cover SET album = NULL WHERE id = 3
            """)
    }

    /// A reference comes before the row that it leads to, whose integer nobody knows until then.
    func testARowUnderZeroComesAfterTheReferenceToIt() throws {
        try assertHolds(
            Self.covers,
            """
            1: INSERT INTO album VALUES (0, 'x')
            1: pass
            2: pass 1
            2: INSERT INTO cover VALUES (1, 0, 1)
            2: pass
            3: INSERT INTO cover VALUES (2, 0, 2)  -- foreign keys off
            3: pass
            3: pass 2
            4: pass 3
            4: pass 2
            4: pass 1
            """)
    }

    func testARowUnderZeroIsDeletedAndForgotten() throws {
        try assertHolds(
            Self.covers,
            """
            3: INSERT INTO album VALUES (0, 'z')
            1: INSERT INTO cover VALUES (1, 0, 1)  -- foreign keys off
            2: INSERT INTO album VALUES (0, 'x'); INSERT INTO cover VALUES (9, 0, 2)
            1: pass
            2: pass
            3: pass 1 2
            1: pass 2 3
            2: pass 1 3
            1: DELETE FROM album WHERE name = 'x'  -- foreign keys off
            1: pass
            2: pass 1
            3: pass 1
            1: pass 2 3
            2: pass 3 1
            3: pass 1 2
            1: collect
            2: collect
            3: collect
            2: INSERT INTO cover VALUES (5, NULL, 7)
            3: UPDATE cover SET size = 6
            """)
    }

    /// The row takes along what referred to 0, and what another device writes to that meanwhile is one with it.
    func testARowUnderZeroTakesWhatMeantNothingInAKey() throws {
        try assertHolds(
            Self.roads,
            """
            1: INSERT INTO road VALUES (0, 5, 1)  -- foreign keys off
            1: pass
            2: pass 1
            1: INSERT INTO place VALUES (0, 'x')  -- foreign keys off
            2: UPDATE road SET length = 2  -- foreign keys off
            """)
    }

    /// What refers to 0 comes to a device where a row has that key: it is known there by the value that it came with.
    func testNothingInAKeyComesToARowUnderZeroThatGetsAnotherKey() throws {
        try assertHolds(
            Self.roads,
            """
            2: INSERT INTO place VALUES (0, 'x')
            3: INSERT INTO road VALUES (4, 0, 1)  -- foreign keys off
            3: pass 2
            2: pass 3
            2: UPDATE place SET id = 1
            """)
    }

    func testNothingInAKeyComesToARowUnderZeroAndIsWrittenAndDeleted() throws {
        for statement in ["UPDATE road SET length = 3", "DELETE FROM road", "UPDATE road SET a = 7"] {
            try assertHolds(
                Self.roads,
                """
                2: INSERT INTO place VALUES (0, 'x')
                3: INSERT INTO road VALUES (4, 0, 1)  -- foreign keys off
                3: pass 2
                2: pass 3
                2: \(statement)  -- foreign keys off
                2: pass
                2: INSERT OR REPLACE INTO road VALUES (4, 0, 8)  -- foreign keys off
                """)
        }
    }

    /// The row under 0 has another integer on the second device, so the app can write both roads there. Elsewhere they have one key.
    func testAReferenceToARowUnderZeroAndNothingAreOneWhereBothAreWritten() throws {
        for order in ["1: pass 2", "3: pass 2 1"] {
            try assertHolds(
                Self.roads,
                """
                1: INSERT INTO place VALUES (0, 'x')
                1: pass
                2: INSERT INTO road VALUES (5, 0, 1)  -- foreign keys off
                2: pass 1
                2: INSERT INTO road SELECT 5, id, 2 FROM place  -- foreign keys off
                2: pass
                \(order)
                2: UPDATE road SET length = 3
                """)
        }
    }

    /// Zero stands in a row only for a moment: it is nothing on every device when it comes again.
    func testAPassingReferenceToNothingLeavesNothingBehind() throws {
        let schema = TestSchema(
            name: "people",
            sql: """
                CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT, boss INTEGER REFERENCES person ON DELETE SET NULL);
                """)
        for passing in [
            "INSERT INTO person VALUES (1, 'a', 0); UPDATE person SET boss = 1",
            "INSERT INTO person VALUES (1, 'a', 1), (2, 'b', 0); DELETE FROM person WHERE id = 2",
            "INSERT INTO person VALUES (1, 'a', 0), (0, 'b', 1); UPDATE person SET boss = 1; DELETE FROM person WHERE id = 0",
        ] {
            for author in [1, 2] {
                try assertHolds(
                    schema,
                    """
                    1: \(passing)  -- foreign keys off
                    1: pass
                    2: pass 1
                    \(author): UPDATE person SET boss = 0  -- foreign keys off
                    \(author): pass
                    1: pass 2
                    2: pass 1
                    """)
            }
        }
    }

    /// Rows under 0 of two devices are two things where foreign keys hold, whatever refers to them.
    func testRowsUnderZeroStayTwoWhereForeignKeysHold() throws {
        let (a, b) = (try TestDevice(1, Self.covers), try TestDevice(2, Self.covers))
        for device in [a, b] {
            device.runTolerating(
                ["INSERT INTO album VALUES (0, 'x')", "INSERT INTO cover VALUES (1, 0, 1)"], foreignKeys: true)
            try device.pass([])
        }
        try a.pass(a.news(from: b))
        try b.pass(b.news(from: a))
        for device in [a, b] { XCTAssertEqual(try device.query("SELECT count(*) FROM cover"), ["2"]) }
    }
}
