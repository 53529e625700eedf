import FerryCore
import FerrySchema
import FerryStore
import XCTest

@testable import FerryEngine

/// Databases that both have rows, joined: what is one row, whose values are shown, and what is kept as a conflict.
final class JoinRowsTests: XCTestCase {
    private let schema = """
        CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
        CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, album INTEGER NOT NULL REFERENCES album(id) ON DELETE CASCADE);
        CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT);
        """
    private let rows = """
        INSERT INTO album VALUES (1, 'Blue'), (2, 'Red');
        INSERT INTO song VALUES (1, 'a', 1), (2, 'b', 2);
        INSERT INTO tag VALUES ('x', 'red'), ('y', 'blue');
        """
    private let songs = "SELECT song.title, album.title FROM song JOIN album ON album.id = album ORDER BY 1, 2"
    private let conflicts = "SELECT kind, \"column\" FROM ferry_conflict ORDER BY 1, 2"

    private func count(_ report: JoinReport, _ table: String) throws -> RowComparisonCount {
        try XCTUnwrap(report.compared.first { $0.table == table })
    }

    func testACopyJoinsWithEqualKeysAsTheSameRows() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        // What the container said once and says no more is older, and no conflict.
        try fleet.shell(0, "UPDATE album SET title = 'Bleu' WHERE id = 1; INSERT INTO song VALUES (3, 'c', 1)")
        _ = try fleet.replicas[0].sync()
        let report = try fleet.join(
            schema + rows + "INSERT INTO song VALUES (9, 'mine', 2); UPDATE song SET title = 'A' WHERE id = 1;",
            options: JoinOptions(match: .keys))
        XCTAssertEqual(report.matchingKeys, 0)
        let song = try count(report, "song")
        XCTAssertEqual([song.same, song.different, song.onlyHere, song.onlyThere], [1, 1, 1, 1])
        let album = try count(report, "album")
        XCTAssertEqual([album.same, album.different, album.onlyHere, album.onlyThere], [2, 0, 0, 0])
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song ORDER BY id; SELECT * FROM album ORDER BY id")
        XCTAssertEqual(try fleet.shell(0, songs), "a|Bleu\nb|Red\nc|Bleu\nmine|Red\n")
        XCTAssertEqual(try fleet.shell(1, conflicts), "field|0\n")
    }

    /// Values that the container has or had are no conflict, on no device, whatever came before and after them.
    func testACopyOfAnyTimeJoinsWithoutConflicts() throws {
        let schema = """
            CREATE TABLE tag(name TEXT PRIMARY KEY, colour TEXT NOT NULL, note TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, plays INTEGER NOT NULL DEFAULT 0);
            """
        let beginning =
            "INSERT INTO tag VALUES ('x', 'red', 'n'), ('y', 'blue', NULL); INSERT INTO song VALUES (1, 'a', 0);"
        let steps = [
            "UPDATE tag SET colour = 'green' WHERE name = 'x'; UPDATE song SET title = 'b', plays = plays + 2;",
            "UPDATE tag SET colour = 'black', note = 'm' WHERE name = 'x'; UPDATE song SET plays = plays + 3;",
            "DELETE FROM tag WHERE name = 'y';",
            "INSERT INTO tag VALUES ('y', 'white', NULL); UPDATE song SET title = 'c', plays = plays + 4;",
        ]
        for rows in [JoinOptions.Rows.merge, .theirs] {
            for number in 0...steps.count {
                let fleet = try Fleet.two(schema + beginning)
                try fleet.replicas[0].setPolicies([PolicySetting(table: "song", column: "plays", .counter)])
                try fleet.settle()
                for (place, step) in steps.enumerated() {
                    try fleet.shell(1 - place % 2, step)
                    try fleet.settle()
                }
                let copy = steps.prefix(number).joined()
                let report = try fleet.join(
                    schema + beginning + copy, options: JoinOptions(rows: rows, match: .keys))
                let what = "\(rows), after \(number) steps"
                for count in report.compared {
                    XCTAssertEqual([count.different, count.onlyHere], [0, 0], "\(what), \(count.table)")
                }
                XCTAssertEqual(report.conflicts, 0, what)
                try fleet.assertSettled(
                    "SELECT * FROM tag ORDER BY 1; SELECT * FROM song", "x|black|m\ny|white|\n1|c|9\n")
                for device in 0...2 {
                    XCTAssertEqual(try fleet.shell(device, conflicts), "", "\(what), device \(device)")
                }
            }
        }
    }

    func testADatabaseThatLeftInStepJoinsAgainWithoutConflicts() throws {
        for options in [JoinOptions(), JoinOptions(match: .keys), JoinOptions(rows: .theirs), JoinOptions(rows: .mine)]
        {
            let fleet = try Fleet()
            try fleet.start(schema + rows)
            try fleet.join()
            try fleet.shell(
                1, "UPDATE song SET title = 'B' WHERE id = 2; UPDATE tag SET colour = 'green' WHERE name = 'x'")
            try fleet.settle()
            try fleet.shell(0, "UPDATE song SET title = 'C' WHERE id = 2")
            try fleet.settle()
            _ = try fleet.replicas[1].leave()
            fleet.replicas.removeLast()
            let report = try fleet.join(options: options)
            for count in report.compared {
                XCTAssertEqual(
                    [count.different, count.onlyHere, count.onlyThere], [0, 0, 0], "\(options) \(count.table)")
            }
            XCTAssertEqual(report.conflicts, 0)
            try fleet.settle()
            let query = "SELECT title FROM song ORDER BY id; SELECT * FROM tag ORDER BY 1"
            try fleet.assertEqual(query)
            XCTAssertEqual(try fleet.shell(0, query), "a\nC\nx|green\ny|blue\n")
            for device in 0...1 {
                XCTAssertEqual(try fleet.shell(device, conflicts), "", "\(options), device \(device)")
            }
        }
    }

    /// A value that the container never had is a conflict on every device, beside former values of the same row.
    func testAValueThatTheContainerNeverHadIsAConflictBesideFormerValues() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows + "UPDATE tag SET colour = 'green' WHERE name = 'x'")
        try fleet.shell(0, "UPDATE tag SET colour = 'black'; UPDATE song SET title = 'x' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        let report = try fleet.join(
            schema + rows + "UPDATE tag SET colour = 'pink' WHERE name = 'x'", options: JoinOptions(match: .keys))
        let tag = try count(report, "tag")
        XCTAssertEqual([tag.same, tag.different], [1, 1])
        try fleet.settle()
        for device in 0...1 {
            XCTAssertEqual(
                try fleet.shell(device, "SELECT CAST(substr(lost_value, 3) AS TEXT) FROM ferry_conflict"), "pink\n")
        }
    }

    func testWithoutItTheyAreDoubledAndTheReportSaysHowManyKeysCoincide() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        let report = try fleet.join(schema + rows)
        XCTAssertEqual(report.matchingKeys, 4)
        XCTAssertEqual(try count(report, "song").onlyHere, 2)
        let tag = try count(report, "tag")
        XCTAssertEqual([tag.same, tag.different, tag.onlyHere, tag.onlyThere], [2, 0, 0, 0])
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM song"), "4\n")
    }

    func testLeavingAndJoiningAgainDoublesNothing() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        try fleet.join()
        try fleet.shell(1, "INSERT INTO song VALUES (7, 'late', 1)")
        try fleet.settle()
        _ = try fleet.replicas[1].leave()
        fleet.replicas.removeLast()
        try fleet.shell(0, "DELETE FROM song WHERE id = 7")
        try fleet.settle()
        let report = try fleet.join("UPDATE song SET title = 'B' WHERE id = 2", options: JoinOptions(match: .keys))
        let song = try count(report, "song")
        XCTAssertEqual([song.same, song.different, song.onlyHere, song.onlyThere], [1, 1, 1, 0])
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song ORDER BY id; SELECT * FROM album; SELECT * FROM tag ORDER BY 1")
        // What the container had deleted and this database still had is there again.
        XCTAssertEqual(try fleet.shell(0, songs), "a|Blue\nb|Red\nlate|Blue\n")
    }

    func testTheirsDeletesWhatOnlyThisDatabaseHasAndKeepsItAsConflicts() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        let own = """
            UPDATE tag SET colour = 'green' WHERE name = 'x'; INSERT INTO tag VALUES ('z', 'own');
            INSERT INTO album VALUES (5, 'Own'); INSERT INTO song VALUES (5, 'own', 5); UPDATE song SET album = 5 WHERE id = 1;
            """
        let report = try fleet.join(schema + rows + own, options: JoinOptions(rows: .theirs, match: .keys))
        XCTAssertEqual(report.removed, 3)
        XCTAssertEqual(try count(report, "tag").onlyHere, 1)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song ORDER BY id; SELECT * FROM album; SELECT * FROM tag ORDER BY 1")
        XCTAssertEqual(try fleet.shell(1, songs), "a|Blue\nb|Red\n")
        XCTAssertEqual(
            try fleet.shell(1, conflicts + ";"), "deleted|-1\ndeleted|-1\ndeleted|-1\nfield|1\nfield|1\n")
        // No value of theirs has left this device.
        XCTAssertEqual(
            try fleet.shell(0, "SELECT count(*) FROM ferry_object_3 WHERE shown = 24 AND substr(state, 1, 1) = X'02'"),
            "1\n")
    }

    func testTheirsWithoutMatchingKeysTakesTheContainersRows() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        let report = try fleet.join(
            schema + "INSERT INTO album VALUES (1, 'Own'); INSERT INTO song VALUES (1, 'own', 1);",
            options: JoinOptions(rows: .theirs))
        XCTAssertEqual(report.removed, 2)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song ORDER BY id; SELECT * FROM album ORDER BY id")
        XCTAssertEqual(try fleet.shell(1, songs), "a|Blue\nb|Red\n")
    }

    func testMineShowsThisDatabasesValuesAndKeepsTheContainersAsConflicts() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        let report = try fleet.join(
            schema + rows
                + "UPDATE song SET title = 'mine' WHERE id = 2; UPDATE tag SET colour = 'green' WHERE name = 'x';",
            options: JoinOptions(rows: .mine, match: .keys))
        XCTAssertEqual(try count(report, "song").different, 1)
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM song ORDER BY id; SELECT * FROM album; SELECT * FROM tag ORDER BY 1")
        XCTAssertEqual(try fleet.shell(0, "SELECT title FROM song WHERE id = 2"), "mine\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT colour FROM tag WHERE name = 'x'"), "green\n")
        XCTAssertEqual(
            try fleet.shell(
                1,
                "SELECT d.name, count(*) FROM ferry_conflict JOIN ferry_device d ON d.number = lost_device GROUP BY 1"),
            "device0|2\n")
    }

    func testADryRunCountsTheSame() throws {
        let fleet = try Fleet()
        try fleet.start(schema + rows)
        let own =
            "UPDATE song SET title = 'B' WHERE id = 2; DELETE FROM song WHERE id = 1; INSERT INTO song VALUES (4, 'n', 1);"
        try fleet.shell(1, schema + rows + own)
        for rows in JoinOptions.Rows.allCases {
            let report = try Replica.join(
                databasePath: fleet.databasePath(1), containerPath: fleet.containerPath,
                options: JoinOptions(rows: rows, match: .keys), isDryRun: true
            ).report
            let song = try count(report, "song")
            XCTAssertEqual([song.same, song.different, song.onlyHere, song.onlyThere], [0, 1, 1, 1], rows.rawValue)
            XCTAssertEqual(report.removed, rows == .theirs ? 1 : 0)
        }
        XCTAssertEqual(try fleet.shell(1, "SELECT title FROM song ORDER BY id"), "B\nn\n")
    }

    // MARK: Seeded rows

    private let seeds = """
        INSERT INTO category(name) VALUES ('Rock'), ('Jazz'), ('Folk');
        """

    func testTheSameSeededRowsJoinByADeclaredIdentity() throws {
        let schema = """
            CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, category INTEGER REFERENCES category(id), mood INTEGER);
            """
        let selection = TableSelection(
            declaredIdentities: ["category": ["name"]],
            references: [.init(table: "song", column: "mood", parent: "category")])
        let fleet = try Fleet()
        try fleet.start(
            schema + seeds + "INSERT INTO song VALUES (1, 'a', 1, 2), (2, 'b', 2, 3);", selection: selection)
        // The other app filled its table in another order.
        let report = try fleet.join(
            schema + "INSERT INTO category(name) VALUES ('Folk'), ('Rock'), ('Jazz');"
                + "INSERT INTO song VALUES (1, 'c', 1, 2), (2, 'd', 3, 0);")
        XCTAssertEqual(try count(report, "category").same, 3)
        try fleet.settle()
        try fleet.assertEqual("SELECT name FROM category ORDER BY 1")
        let query = """
            SELECT title, c.name, m.name FROM song JOIN category c ON c.id = category LEFT JOIN category m ON m.id = mood
            ORDER BY 1
            """
        try fleet.assertEqual(query)
        XCTAssertEqual(try fleet.shell(0, query), "a|Rock|Jazz\nb|Jazz|Folk\nc|Folk|Rock\nd|Jazz|\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM category"), "3\n")
    }

    func testTheSameSeededRowsJoinByAUniqueName() throws {
        let schema = """
            CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
            CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT, category INTEGER REFERENCES category(id), mood INTEGER);
            """
        let fleet = try Fleet()
        try fleet.start(
            schema + seeds + "INSERT INTO song VALUES (1, 'a', 1, 2), (2, 'b', 2, 3);",
            selection: TableSelection(references: [.init(table: "song", column: "mood", parent: "category")]))
        let report = try fleet.join(
            schema + "INSERT INTO category(name) VALUES ('Folk'), ('Rock'), ('Jazz'), ('Own');"
                + "INSERT INTO song VALUES (1, 'c', 1, 2), (2, 'd', 3, 4);")
        let category = try count(report, "category")
        XCTAssertEqual([category.same, category.different, category.onlyHere, category.onlyThere], [3, 0, 1, 0])
        try fleet.settle()
        let query = """
            SELECT title, c.name, m.name FROM song JOIN category c ON c.id = category JOIN category m ON m.id = mood
            ORDER BY 1
            """
        try fleet.assertEqual(query)
        XCTAssertEqual(try fleet.shell(1, query), "a|Rock|Jazz\nb|Jazz|Folk\nc|Folk|Rock\nd|Jazz|Own\n")
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM category"), "4\n")
        // It stays one thing: a new song on either device refers to the one row.
        for device in 0...1 {
            try fleet.shell(
                device,
                "INSERT INTO song(title, category, mood) SELECT 'n\(device)', id, id FROM category WHERE name = 'Rock'")
        }
        try fleet.settle()
        try fleet.assertEqual(query)
        try fleet.assertEqual("SELECT title FROM song ORDER BY 1")
    }

    func testUndeclaredReferencesTravelWithTheContainer() throws {
        let fleet = try Fleet()
        let schema = """
            CREATE TABLE album(id INTEGER PRIMARY KEY, title TEXT);
            CREATE TABLE track(id INTEGER PRIMARY KEY, album_id INTEGER);
            """
        try fleet.start(
            schema + "INSERT INTO album VALUES (1, 'Blue'); INSERT INTO track VALUES (1, 1);",
            selection: TableSelection(references: [.init(table: "track", column: "album_id", parent: "album")]))
        try fleet.join()
        try fleet.join(schema + "INSERT INTO album VALUES (1, 'Red'); INSERT INTO track VALUES (1, 1);")
        for device in 0...2 {
            try fleet.shell(device, "INSERT INTO album VALUES (7, 'd\(device)'); INSERT INTO track VALUES (7, 7)")
        }
        try fleet.settle()
        let query = "SELECT album.title FROM track JOIN album ON album.id = album_id ORDER BY 1"
        try fleet.assertEqual(query)
        XCTAssertEqual(try fleet.shell(1, query), "Blue\nRed\nd0\nd1\nd2\n")
    }
}
