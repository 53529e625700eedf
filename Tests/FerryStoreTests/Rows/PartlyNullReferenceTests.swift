import FerryCore
import XCTest

@testable import FerryStore

/// Compound foreign keys with a NULL in them, which SQLite passes over: what the other column refers to may not be there.
final class PartlyNullReferenceTests: XCTestCase {
    private static let actions = [
        "ON DELETE RESTRICT", "ON DELETE NO ACTION", "ON DELETE CASCADE", "ON DELETE SET NULL", "ON DELETE SET DEFAULT",
    ]

    private let things = """
        SELECT thing.name, shelf.name, thing.label FROM thing LEFT JOIN shelf ON shelf.id = thing.shelf ORDER BY 1
        """

    private func check(
        _ devices: [TestDevice], _ query: String, shows expected: [String], _ message: String = "",
        file: StaticString = #filePath, line: UInt = #line
    ) throws {
        for device in devices {
            let name = "\(device.schema.name), device \(device.id.low) \(message)"
            XCTAssertEqual(try device.query(query), expected, name, file: file, line: line)
            let complaints = try Oracle(device.schema).complaints(about: device)
            XCTAssertEqual(complaints, [], name, file: file, line: line)
            let problems = try device.store.verify(deep: true).differences.map { "\($0.key): \($0.problem)" }
            XCTAssertEqual(problems, [], name, file: file, line: line)
        }
        let digests = try devices.map { try $0.store.statePosition().digests }
        XCTAssertTrue(digests.allSatisfy { $0 == digests[0] }, "digests differ", file: file, line: line)
    }

    private func exchange(_ devices: TestDevice...) throws {
        for device in devices { try device.flush() }
        for device in devices {
            for other in devices where other.id != device.id { try device.receive(other) }
        }
    }

    /// It means nobody until the device whose integer it is has a row by it; others' rows by that integer are not it.
    func testAnIntegerThatNoRowHasWaitsForTheRowOfItsAuthor() throws {
        for action in Self.actions {
            let schema = TestSchema.boxes(action)
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run("INSERT INTO thing(name, shelf) VALUES ('a', 7)")
            try second.run("INSERT INTO shelf VALUES (7, 'theirs')")
            try exchange(first, second)
            try check([first, second], things, shows: ["a|NULL|NULL"])
            XCTAssertEqual(try first.query("SELECT shelf FROM thing"), ["7"])
            XCTAssertEqual(try second.query("SELECT shelf FROM thing"), ["-1000000001"])
            try first.run("INSERT INTO shelf VALUES (7, 'ours')")
            try exchange(first, second)
            let third = try TestDevice(3, schema)
            // The thing comes before its shelf.
            for changeset in first.log + second.log { try third.pass([changeset]) }
            try check([first, second, third], things, shows: ["a|ours|NULL"])
        }
    }

    /// The deletion of a shelf clears both columns, and the label is written again before Ferry looks.
    func testALabelWrittenBehindTheClearingStands() throws {
        for action in ["ON DELETE SET NULL", "ON DELETE SET DEFAULT"] {
            let (first, second) = (try TestDevice(1, .boxes(action)), try TestDevice(2, .boxes(action)))
            try first.run("INSERT INTO shelf VALUES (1, 's'); INSERT INTO box(shelf, label) VALUES (1, 'x')")
            try first.run("INSERT INTO thing(name, shelf, label) VALUES ('a', 1, 'x')")
            try exchange(first, second)
            try first.run("DELETE FROM shelf")
            try first.run("UPDATE thing SET label = 'd'")
            let shown = try first.query(things)
            XCTAssertEqual(shown, ["a|NULL|d"])
            try exchange(first, second)
            try check([first, second], things, shows: shown, action)
        }
    }

    func testWhatIsNoKeyTravelsAsItIs() throws {
        let schema = TestSchema.boxes("ON DELETE CASCADE")
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try first.run("INSERT INTO thing(name, shelf) VALUES ('a', 0), ('b', -1), ('c', 'none')")
        try exchange(first, second)
        try check([first, second], "SELECT name, shelf FROM thing", shows: ["a|0", "b|-1", "c|none"])
    }

    /// Nor where foreign keys are off does another column make it one.
    func testWhatIsNoKeyBecomesNone() throws {
        let schema = TestSchema.boxes("ON DELETE CASCADE")
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try first.run("INSERT INTO thing(name, shelf) VALUES ('a', 0)")
        try exchange(first, second)
        try first.run("INSERT INTO box VALUES (0, 'x', NULL)", foreignKeys: false)
        try exchange(first, second)
        try check([first, second], "SELECT name, shelf FROM thing", shows: ["a|0"])
        // A row is one.
        try first.run("INSERT INTO shelf VALUES (0, 'zero')")
        try exchange(first, second)
        try check([first, second], things, shows: ["a|zero|NULL"])
    }

    func testAShelfThatIsDeletedElsewhereLeavesTheThingAndItsReference() throws {
        for action in Self.actions {
            try story(
                .boxes(action), together: "INSERT INTO shelf VALUES (1, 'old')",
                one: "DELETE FROM shelf", other: "INSERT INTO thing(name, shelf) VALUES ('a', 1)", query: things,
                shows: ["a|NULL|NULL"])
            // Somebody wants the shelf, so that it comes back with what refers to it.
            try story(
                .boxes(action),
                together: "INSERT INTO shelf VALUES (1, 'old'); INSERT INTO thing(name, shelf) VALUES ('a', 1)",
                one: "DELETE FROM shelf", other: "UPDATE shelf SET name = 'new'", query: things,
                shows: ["a|new|NULL"])
        }
    }

    /// Of two things one is in a box.
    func testADeletionTakesOnlyWhatRefersToTheBox() throws {
        let together = """
            INSERT INTO shelf VALUES (1, 'old'); INSERT INTO box VALUES (1, 'x', NULL);
            INSERT INTO thing(name, shelf, label) VALUES ('a', 1, NULL), ('b', 1, 'x')
            """
        for (action, shown) in [("CASCADE", ["a|NULL|NULL"]), ("SET NULL", ["a|NULL|NULL", "b|NULL|NULL"])] {
            let schema = TestSchema.boxes("ON DELETE \(action)")
            try story(schema, together: together, one: "DELETE FROM shelf", other: "", query: things, shows: shown)
            // By the rules, from the row that comes to a box that is gone.
            try story(
                schema, together: "INSERT INTO shelf VALUES (1, 'old'); INSERT INTO box VALUES (1, 'x', NULL)",
                one: "DELETE FROM shelf",
                other: "INSERT INTO thing(name, shelf, label) VALUES ('a', 1, NULL), ('b', 1, 'x')", query: things,
                shows: shown)
        }
        try story(
            .boxes("ON DELETE RESTRICT"), together: together,
            one: "DELETE FROM thing WHERE name = 'b'; DELETE FROM shelf", other: "UPDATE box SET color = 'red'",
            query: things, shows: ["a|NULL|NULL"])
    }

    /// What was no reference to a box becomes one.
    func testTheNullIsFilledIn() throws {
        let together = """
            INSERT INTO shelf VALUES (1, 'old'); INSERT INTO box VALUES (1, 'x', NULL);
            INSERT INTO thing(name, shelf) VALUES ('a', 1)
            """
        for action in Self.actions {
            try story(
                .boxes(action), together: together, one: "UPDATE thing SET label = 'x'",
                other: "UPDATE box SET color = 'red'", query: things, shows: ["a|old|x"])
            let shown =
                switch action {
                case "ON DELETE CASCADE": [String]()
                case "ON DELETE SET NULL", "ON DELETE SET DEFAULT": ["a|NULL|NULL"]
                default: ["a|old|x"]
                }
            try story(
                .boxes(action), together: together, one: "UPDATE thing SET label = 'x'", other: "DELETE FROM box",
                query: things, shows: shown)
        }
    }

    /// The columns were given values that are no box together.
    func testTheNullIsFilledInWhileTheShelfIsAnother() throws {
        let together = """
            INSERT INTO shelf VALUES (1, 'old'), (2, 'new'); INSERT INTO box VALUES (1, 'x', NULL);
            INSERT INTO thing(name, shelf) VALUES ('a', 1)
            """
        try story(
            .boxes("ON DELETE CASCADE"), together: together, one: "UPDATE thing SET label = 'x'",
            other: "UPDATE thing SET shelf = 2", query: things, shows: [])
        try story(
            .boxes("ON DELETE SET NULL"), together: together, one: "UPDATE thing SET label = 'x'",
            other: "UPDATE thing SET shelf = 2", query: things, shows: ["a|NULL|NULL"])
    }

    func testOnlyWhatRefersToABoxFollowsItsKey() throws {
        try story(
            .boxes("ON UPDATE CASCADE"),
            together: """
                INSERT INTO shelf VALUES (1, 'old'); INSERT INTO box VALUES (1, 'x', NULL);
                INSERT INTO thing(name, shelf, label) VALUES ('a', 1, NULL), ('b', 1, 'x'), ('c', NULL, 'x')
                """,
            one: "UPDATE box SET label = 'y'", other: "UPDATE thing SET name = upper(name)", query: things,
            shows: ["A|old|NULL", "B|old|y", "C|NULL|x"])
    }

    /// SQLite leaves the thing where it was, and so does Ferry: on a shelf that is not there.
    func testWhatRefersInPartStaysWhereTheKeyOfAShelfChanges() throws {
        try story(
            .boxes("ON UPDATE CASCADE"),
            together: "INSERT INTO shelf VALUES (1, 'old'); INSERT INTO thing(name, shelf) VALUES ('a', 1)",
            one: "UPDATE shelf SET id = 5", other: "UPDATE shelf SET name = 'new'", query: things,
            shows: ["a|NULL|NULL"])
    }

    /// A single foreign key on the column asks for the shelf, whatever the label is.
    func testTheColumnIsOfAnotherForeignKeyToo() throws {
        let rows = "INSERT INTO shelf VALUES (1, 'old'); INSERT INTO box VALUES (1, 'x', NULL)"
        let things = "INSERT INTO thing(name, shelf, label) VALUES ('a', 1, NULL), ('b', 1, 'x')"
        for (shelf, shown) in [("CASCADE", [String]()), ("SET NULL", ["a|NULL|NULL"])] {
            let schema = TestSchema.boxes("ON DELETE CASCADE", shelf: "REFERENCES shelf(id) ON DELETE \(shelf)")
            try story(
                schema, together: rows, one: "DELETE FROM shelf", other: things, query: self.things, shows: shown)
            try story(
                schema, together: "\(rows); \(things)", one: "DELETE FROM shelf", other: "", query: self.things,
                shows: shown)
        }
        try story(
            .boxes("ON DELETE NO ACTION", shelf: "REFERENCES shelf(id)"), together: rows, one: "DELETE FROM shelf",
            other: "INSERT INTO thing(name, shelf) VALUES ('a', 1)", query: self.things, shows: ["a|old|NULL"])
    }

    /// Two devices' shelves of one name are one.
    func testTheReferenceFollowsAShelfThatBecomesOneWithAnother() throws {
        for isReversed in [false, true] {
            let schema = TestSchema.boxes("ON DELETE CASCADE")
            let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
            try first.run("INSERT INTO shelf VALUES (1, 's'); INSERT INTO thing(name, shelf) VALUES ('a', 1)")
            second.clock.now += 1000
            try second.run("INSERT INTO shelf VALUES (5, 's'); INSERT INTO thing(name, shelf) VALUES ('b', 5)")
            if isReversed { try exchange(second, first) } else { try exchange(first, second) }
            let third = try TestDevice(3, schema)
            try third.receive(second, first)
            try check([first, second, third], things, shows: ["a|s|NULL", "b|s|NULL"])
            try second.run("DELETE FROM shelf")
            try exchange(first, second, third)
            try check([first, second, third], things, shows: ["a|NULL|NULL", "b|NULL|NULL"])
        }
    }

    /// As for the app, whose thing is on the new shelf.
    func testAnIntegerThatIsUsedAgainIsTheNewRow() throws {
        let schema = TestSchema.boxes("ON DELETE CASCADE")
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try first.run("INSERT INTO shelf VALUES (1, 'old'); INSERT INTO thing(name, shelf) VALUES ('a', 1)")
        try exchange(first, second)
        try first.run("DELETE FROM shelf")
        try exchange(first, second)
        try second.run("INSERT INTO shelf VALUES (9, 'other')")
        try first.run("INSERT INTO shelf VALUES (1, 'new')")
        try exchange(first, second)
        try check([first, second], things, shows: ["a|new|NULL"])
    }

    /// The waiting reference claims a UNIQUE value as any other does.
    func testAReferenceThatWaitsClaimsAUniqueValue() throws {
        let schema = TestSchema.partlyNull[4]
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema, hoursAhead: 1))
        try first.run("INSERT INTO shelf VALUES (3, 's')")
        try exchange(first, second)
        try first.run("DELETE FROM shelf; INSERT INTO thing VALUES (1, 3, NULL, 1)")
        try second.run("INSERT INTO thing VALUES (2, 3, NULL, 1)")
        try exchange(first, second)
        let third = try TestDevice(3, schema)
        try third.receive(first, second)
        try check([first, second, third], "SELECT count(*), count(shelf), sum(n) FROM thing", shows: ["1|1|1"])
    }

    func testASnapshotCarriesTheReference() throws {
        let schema = TestSchema.boxes("ON DELETE CASCADE")
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        try first.run("INSERT INTO thing(name, shelf) VALUES ('a', 7)")
        try first.flush()
        try second.read(first.takeSnapshot(), chunksAtATime: 1)
        try first.run("INSERT INTO shelf VALUES (7, 'ours')")
        try first.flush()
        try second.receive(first)
        try check([first, second], things, shows: ["a|ours|NULL"])
    }

    /// A shelf is given the integer 0, which a thing goes on holding when the shelf is gone, and its former integer goes to
    /// another shelf.
    func testAShelfMovesAndGoesAndItsFormerIntegerIsUsedAgain() throws {
        let schema = TestSchema.boxes("ON DELETE SET NULL")
        let (first, second) = (try TestDevice(1, schema), try TestDevice(2, schema))
        for former in [3, 0, 7] {
            for used in [0, 5] where used != former {
                try first.run("DELETE FROM thing; DELETE FROM shelf; INSERT INTO shelf VALUES (\(former), 'old')")
                try exchange(first, second)
                try first.run(
                    """
                    INSERT INTO thing(name, shelf) VALUES ('a', \(former)); UPDATE shelf SET id = \(used);
                    INSERT INTO shelf VALUES (\(former), 'new'); INSERT INTO thing(name, shelf) VALUES ('b', \(used));
                    DELETE FROM shelf WHERE id = \(used)
                    """)
                try exchange(first, second)
                try check([first, second], things, shows: ["a|new|NULL", "b|NULL|NULL"])
            }
        }
    }
}
