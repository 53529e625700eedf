import XCTest

@testable import FerryStore

/// Rows whose keys are made of references, where a key of the target changes owners within a flush. A change of such a
/// row concerns the object that the row had, even if the key means another object by then.
final class KeyMeaningTests: XCTestCase {
    private static let declared = TestSchema(
        name: "declared",
        sql: """
            CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT, near INTEGER REFERENCES place);
            CREATE TABLE note(place INTEGER PRIMARY KEY NOT NULL REFERENCES place, text TEXT, mark REAL) WITHOUT ROWID;
            """, declared: ["place": ["name"]])
    private static let words = TestSchema(
        name: "words",
        sql: """
            CREATE TABLE place(id TEXT PRIMARY KEY NOT NULL, name TEXT, near TEXT REFERENCES place);
            CREATE TABLE note(place TEXT PRIMARY KEY NOT NULL REFERENCES place, text TEXT, mark REAL);
            """, declared: ["place": ["name"]])
    private static let roads = TestSchema(
        name: "roads",
        sql: """
            CREATE TABLE place(id INTEGER PRIMARY KEY, name TEXT, near INTEGER REFERENCES place);
            CREATE TABLE road(
                a INTEGER NOT NULL REFERENCES place, b INTEGER NOT NULL REFERENCES place, text TEXT, mark REAL,
                PRIMARY KEY (a, b));
            """, declared: ["place": ["name"]])

    /// The deleted place comes back under the key that the second row was written by.
    func testADeletedRowIsTheOneThatWasWrittenByItsKeyAndNotTheOneThatTheKeyMeansNow() throws {
        for write in ["", "UPDATE note SET text = 'again' WHERE place = 1;", "UPDATE note SET mark = 7;"] {
            for schema in [Self.declared, Self.words] {
                try assertHolds(
                    schema,
                    """
                    1: INSERT INTO place VALUES (1, 'x', 3)  -- foreign keys off
                    1: INSERT INTO note VALUES (1, 'first', 0.5)  -- foreign keys off
                    1: pass
                    1: INSERT INTO place VALUES (2, 'y', 1); DELETE FROM place WHERE id = 1  -- foreign keys off
                    1: INSERT INTO note VALUES (3, 'second', 1.5)  -- foreign keys off
                    1: INSERT INTO place VALUES (3, 'x', 2); \(write)  -- foreign keys off
                    1: DELETE FROM note WHERE place = 3  -- foreign keys off
                    """)
            }
        }
    }

    func testAnUpdatedRowIsTheOneThatWasWrittenByItsKeyAndNotTheOneThatTheKeyMeansNow() throws {
        for schema in [Self.declared, Self.words] {
            try assertHolds(
                schema,
                """
                1: INSERT INTO place VALUES (1, 'x', 3)  -- foreign keys off
                1: INSERT INTO note VALUES (1, 'first', 0.5)  -- foreign keys off
                1: pass
                1: INSERT INTO place VALUES (2, 'y', 1); DELETE FROM place WHERE id = 1  -- foreign keys off
                1: INSERT INTO note VALUES (3, 'second', 1.5)  -- foreign keys off
                1: INSERT INTO place VALUES (3, 'x', 2); UPDATE note SET text = 'third' WHERE place = 3  -- foreign keys off
                """)
        }
    }

    func testARowOfTwoReferencesIsTheOneThatWasWrittenByItsKey() throws {
        for deed in ["DELETE FROM road WHERE a = 3", "UPDATE road SET text = 'third' WHERE a = 3"] {
            try assertHolds(
                Self.roads,
                """
                1: INSERT INTO place VALUES (1, 'x', 3), (5, 'z', 3)  -- foreign keys off
                1: INSERT INTO road VALUES (1, 5, 'first', 0.5), (1, 1, 'loop', 0.5)  -- foreign keys off
                1: pass
                1: INSERT INTO place VALUES (2, 'y', 1); DELETE FROM place WHERE id = 1  -- foreign keys off
                1: INSERT INTO road VALUES (3, 5, 'second', 1.5), (3, 3, 'other', 2)  -- foreign keys off
                1: INSERT INTO place VALUES (3, 'x', 2); \(deed)  -- foreign keys off
                """)
        }
    }

    /// The key has three meanings, and the row was written by the second.
    func testARowIsTheOneThatWasWrittenByAMeaningBetweenTheFirstAndTheLast() throws {
        let deeds = [
            "DELETE FROM note", "UPDATE note SET text = 'third'", "INSERT OR REPLACE INTO note VALUES (3, 'n', 1)",
        ]
        for deed in deeds {
            try assertHolds(
                Self.declared,
                """
                1: INSERT INTO place VALUES (2, 'y', 3)  -- foreign keys off
                1: pass
                1: INSERT INTO place VALUES (3, 'x', 2); INSERT INTO note VALUES (3, 'second', 1.5)  -- foreign keys off
                1: DELETE FROM place WHERE id = 3; INSERT INTO place VALUES (3, 'v', 2); \(deed)  -- foreign keys off
                1: DELETE FROM note WHERE text = 'n'  -- foreign keys off
                """)
        }
    }

    /// Two places exchange their keys. With foreign keys on this needs nothing but a transaction that defers them.
    func testRowsOfPlacesThatExchangeTheirKeysAreTheOnesThatWereWrittenByTheirKeys() throws {
        let swap =
            "UPDATE place SET id = 9 WHERE id = 1; UPDATE place SET id = 1 WHERE id = 3; "
            + "UPDATE place SET id = 3 WHERE id = 9"
        let deeds = [
            "UPDATE note SET text = 'third' WHERE place = 3; DELETE FROM note WHERE place = 1",
            "DELETE FROM note WHERE place = 1; UPDATE note SET text = 'third' WHERE place = 3",
            "DELETE FROM note WHERE place = 3; INSERT INTO note VALUES (3, 'new', 9)",
            "UPDATE note SET text = text || '!'",
        ]
        for schema in [Self.declared, TestSchema(name: "surrogate", sql: Self.declared.sql)] {
            for deed in deeds {
                let ways = [
                    ("", "", "  -- foreign keys off"), ("BEGIN; PRAGMA defer_foreign_keys = ON; ", "; COMMIT", ""),
                ]
                for (begin, end, off) in ways {
                    try assertHolds(
                        schema,
                        """
                        1: INSERT INTO place VALUES (1, 'x', NULL), (3, 'y', NULL)
                        1: INSERT INTO note VALUES (1, 'first', 0.5), (3, 'second', 1.5)
                        1: pass
                        2: pass 1/1 1/2
                        1: \(begin)\(swap); \(deed)\(end)\(off)
                        """)
                }
            }
        }
    }

    /// The second device knows the deleted place by a placeholder key. The place comes back there under another key.
    func testAPlaceholderKeyOfAPlaceThatComesBackUnderAnotherKeyDoesNotTravelAsAValue() throws {
        for key in [0, 7] {
            for deed in ["", "INSERT INTO note VALUES (\(key), 'new', 1)"] {
                try assertHolds(
                    Self.declared,
                    """
                    1: INSERT INTO place VALUES (5, 'x', NULL), (8, 'z', 5); INSERT INTO note VALUES (5, 'first', 0.5)
                    1: DELETE FROM place WHERE id = 5  -- foreign keys off
                    1: pass
                    2: pass 1
                    3: pass 1
                    2: INSERT INTO place VALUES (\(key), 'x', NULL); \(deed)  -- foreign keys off
                    2: pass
                    3: pass 2
                    1: pass 2
                    """)
            }
        }
    }

    /// The second device knows both places by placeholder keys, and both come back at once.
    func testARowKeyOfTwoPlaceholdersFollowsBothPlaces() throws {
        for schema in [Self.roads, TestSchema(name: "surrogate roads", sql: Self.roads.sql)] {
            for (first, second) in [("NULL", "NULL"), ("8", "NULL"), ("8", "5")] {
                try assertHolds(
                    schema,
                    """
                    1: INSERT INTO place VALUES (5, 'x', NULL), (8, 'z', NULL)
                    1: INSERT INTO road VALUES (5, 8, 'there', 0.5), (8, 5, 'back', 1.5), (8, 8, 'around', 2)
                    1: DELETE FROM place  -- foreign keys off
                    1: pass
                    2: pass 1
                    1: INSERT INTO place VALUES (5, 'x', \(first)), (8, 'z', \(second))
                    1: pass
                    2: pass 1
                    """)
            }
        }
    }

    /// A second row takes the object of the first. So the first row is of a new object when an update writes the row.
    func testARowThatLeftItsObjectToAnotherRowIsNewWhenItIsUpdated() throws {
        for update in ["UPDATE road SET mark = 2 WHERE a = 1", "UPDATE road SET mark = 2, text = 'new' WHERE a = 1"] {
            try assertHolds(
                Self.roads,
                """
                1: INSERT INTO place VALUES (1, 'x', NULL), (5, 'y', NULL); INSERT INTO road VALUES (1, 5, 'first', 0.5)
                1: UPDATE place SET id = 2 WHERE id = 1  -- foreign keys off
                1: INSERT INTO road VALUES (2, 5, 'second', 1.5)  -- foreign keys off
                1: \(update)  -- foreign keys off
                1: pass
                2: pass 1
                """)
        }
    }

    /// The row under 0 refers to no place. A place gets 0 later in the same flush.
    func testAWriteToARowUnderNothingIsThatRowsEvenIfAPlaceGetsTheKeyLater() throws {
        for deed in ["UPDATE note SET text = NULL", "UPDATE note SET text = 'new'", "DELETE FROM note"] {
            try assertHolds(
                Self.declared,
                """
                1: INSERT INTO place VALUES (1, 'x', NULL), (2, 'y', NULL)
                1: INSERT INTO note VALUES (0, 'first', 0.5)  -- foreign keys off
                1: pass
                2: pass 1
                2: \(deed)
                2: UPDATE place SET id = 0 WHERE id = 2
                2: pass
                1: pass 2
                """)
        }
    }

    /// No app should choose such an integer. A device that did must not stop the others.
    func testAPlainValueThatIsThePlaceholderKeyOfAnotherDeviceDoesNotStopThatDevice() throws {
        let device = try TestDevice(3, Self.declared)
        let one = try TestDevice(1, Self.declared)
        let two = try TestDevice(2, Self.declared)
        try one.run("INSERT INTO place VALUES (5, 'x', NULL); INSERT INTO note VALUES (5, 'first', 0.5)")
        try one.run("DELETE FROM place WHERE id = 5", foreignKeys: false)
        try one.flush()
        try device.receive(one)
        XCTAssertEqual(try device.query("SELECT place, text FROM note"), ["-1000000001|first"])
        try two.run(
            """
            INSERT INTO place VALUES (7, 'x', NULL); INSERT INTO note VALUES (7, 'new', 1), (-1000000001, 'odd', 2)
            """, foreignKeys: false)
        try two.flush()
        try device.receive(two)
        XCTAssertEqual(try device.query("SELECT id, name FROM place"), ["7|x"])
        XCTAssertEqual(try device.query("SELECT text FROM note WHERE place = 7"), ["new"])
    }
}
