import Foundation
import XCTest

/// `ferry conflicts`.
final class ConflictsCommandTests: XCTestCase {
    /// The laptop and the phone changed the same song, and the phone later; the laptop deleted one that the phone
    /// changed; both made a genre of one name.
    private func disagreement() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql(
            "a.sqlite",
            """
            UPDATE song SET title = 'Mine', artist_id = 2 WHERE id = 1; DELETE FROM song WHERE id = 3;
            DELETE FROM artist WHERE id = 2;
            """)
        try workshop.sql(
            "b.sqlite",
            """
            UPDATE song SET title = 'Theirs' WHERE id = 1; UPDATE song SET title = 'Drei' WHERE id = 3;
            INSERT INTO song VALUES (4, 'Four', 2);
            """)
        for database in ["a.sqlite", "b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        return workshop
    }

    private func list(_ workshop: Workshop, _ database: String = "a.sqlite") throws -> [[String: Any]] {
        let report = try workshop.succeed("conflicts", database, "list", "--json").json()
        return try XCTUnwrap(report["conflicts"] as? [[String: Any]])
    }

    private func number(_ workshop: Workshop, _ kind: String) throws -> String {
        let found = try XCTUnwrap(list(workshop).first { $0["kind"] as? String == kind })
        return "\(try XCTUnwrap(found["number"] as? Int))"
    }

    func testTheListTellsWhatWasLostAndByWhom() throws {
        let workshop = try disagreement()
        let output = try workshop.succeed("conflicts", "a.sqlite").output
        let line = try XCTUnwrap(output.split(separator: "\n").first { $0.contains("title") })
        for word in ["song 1", "Mine", "laptop", "Theirs", "phone"] { XCTAssertTrue(line.contains(word), output) }
        let conflict = try XCTUnwrap(list(workshop).first { $0["kind"] as? String == "field" })
        XCTAssertEqual(conflict["table"] as? String, "song")
        XCTAssertEqual(conflict["key"] as? [Int], [1])
        XCTAssertEqual(conflict["column"] as? String, "title")
        let lost = try XCTUnwrap(conflict["lost"] as? [String: Any])
        XCTAssertEqual(lost["value"] as? String, "Mine")
        XCTAssertEqual(lost["device"] as? String, "laptop")
        XCTAssertNotNil(lost["timeMilliseconds"] as? Int)
        XCTAssertEqual((conflict["kept"] as? [String: Any])?["value"] as? String, "Theirs")
        XCTAssertNotNil(conflict["noticedMilliseconds"] as? Int)
        XCTAssertNil(conflict["resolvedMilliseconds"])
    }

    /// Tables are rebuilt on the phone, and all rows are deleted before Ferry looks: the rows went without a deletion.
    private func emptyTablesOnThePhone(_ workshop: Workshop) throws {
        try workshop.sql(
            "b.sqlite",
            """
            PRAGMA foreign_keys = OFF;
            BEGIN;
            CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO n SELECT * FROM fan; DROP TABLE fan;
            ALTER TABLE n RENAME TO fan;
            CREATE TABLE m(id INTEGER PRIMARY KEY, fan TEXT REFERENCES fan, boss INTEGER REFERENCES member);
            INSERT INTO m SELECT * FROM member; DROP TABLE member; ALTER TABLE m RENAME TO member;
            COMMIT; DELETE FROM member; DELETE FROM fan
            """)
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
    }

    func testRowsThatAreNotHereComeBackOrGoEverywhere() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.fail("conflicts", "b.sqlite", "bring-back", status: 1, code: "nothingFound")
        let tables = """
            CREATE TABLE fan(id TEXT PRIMARY KEY NOT NULL, v);
            CREATE TABLE member(id INTEGER PRIMARY KEY, fan TEXT REFERENCES fan, boss INTEGER REFERENCES member);
            """
        for database in ["a.sqlite", "b.sqlite"] { try workshop.sql(database, tables) }
        try workshop.sql(
            "a.sqlite",
            """
            INSERT INTO fan VALUES ('k', 1), ('l', NULL); UPDATE fan SET v = 2.5 WHERE id = 'l';
            INSERT INTO member VALUES (9, 'k', NULL), (2, 'l', 9), (11, 'k', 2);
            """)
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        let query =
            "SELECT * FROM fan; SELECT m.fan, b.fan FROM member m LEFT JOIN member b ON b.id = m.boss ORDER BY 1, 2"
        let rows = try workshop.sql("a.sqlite", query)
        XCTAssertEqual(try workshop.sql("b.sqlite", query), rows)
        try emptyTablesOnThePhone(workshop)
        XCTAssertEqual(try workshop.sql("a.sqlite", query), rows)
        XCTAssertEqual(try workshop.sql("b.sqlite", query), "")
        let report = try workshop.succeed("conflicts", "b.sqlite", "bring-back", "--json").json()
        let brought = try XCTUnwrap(report["tables"] as? [[String: Any]])
        XCTAssertEqual(brought.compactMap { $0["table"] as? String }, ["fan", "member"])
        XCTAssertEqual(brought.compactMap { $0["rows"] as? Int }, [2, 3])
        XCTAssertEqual(brought.compactMap { $0["unsettled"] as? Int }, [0, 0])
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, query), rows, database)
            XCTAssertTrue(try workshop.succeed("status", database).output.contains("Everything is in step."), database)
        }
        try emptyTablesOnThePhone(workshop)
        try workshop.succeed("conflicts", "b.sqlite", "bring-back", "--delete")
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, query), "", database)
            XCTAssertTrue(try workshop.succeed("status", database).output.contains("Everything is in step."), database)
        }
    }

    func testRowsOfADroppedTableComeBack() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        for database in ["a.sqlite", "b.sqlite"] {
            try workshop.sql(database, "CREATE TABLE Fan(id TEXT PRIMARY KEY NOT NULL, Name)")
        }
        try workshop.sql("a.sqlite", "INSERT INTO Fan VALUES ('k', 'one'), ('l', 'two')")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        try workshop.sql(
            "b.sqlite",
            "DROP TABLE Fan; CREATE TABLE Fan(id TEXT PRIMARY KEY NOT NULL, Name)")
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT count(*) FROM Fan"), "0\n")
        try workshop.succeed("conflicts", "b.sqlite", "bring-back", "Fan")
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, "SELECT * FROM Fan"), "k|one\nl|two\n")
        }
    }

    /// The other device's insertion under the same key is older than the row that went.
    func testARowThatWentWithItsTableStaysNotHereWhenAnOlderInsertionComes() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let table = "CREATE TABLE fan(id TEXT PRIMARY KEY NOT NULL, name);"
        for database in ["a.sqlite", "b.sqlite"] { try workshop.sql(database, table) }
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        try workshop.sql("a.sqlite", "INSERT INTO fan VALUES ('k', 'older')")
        try workshop.sql("b.sqlite", "INSERT INTO fan VALUES ('k', 'newer')")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.sql("b.sqlite", "DROP TABLE fan; \(table)")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT * FROM fan"), "k|newer\n")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT * FROM fan"), "")
        XCTAssertTrue(try workshop.succeed("status", "b.sqlite").output.contains("not here"))
        try workshop.succeed("verify", "b.sqlite", "--deep")
        try workshop.succeed("conflicts", "b.sqlite", "bring-back")
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, "SELECT * FROM fan"), "k|newer\n")
        }
    }

    func testTheListIsNarrowedAndPaged() throws {
        let workshop = try disagreement()
        let all = try list(workshop).compactMap { $0["number"] as? Int }
        XCTAssertEqual(all, all.sorted(by: >))
        XCTAssertGreaterThan(all.count, 1)
        let outcome = try workshop.succeed("conflicts", "a.sqlite", "list", "--limit", "1")
        XCTAssertTrue(outcome.output.contains("\n    \(all[0])   "), outcome.output)
        XCTAssertTrue(outcome.errors.contains("--before \(all[0])"), outcome.errors)
        let next = try workshop.succeed(
            "conflicts", "a.sqlite", "list", "--limit", "1", "--before", "\(all[0])", "--json"
        ).json()
        XCTAssertEqual((next["conflicts"] as? [[String: Any]])?.map { $0["number"] as? Int }, [all[1]])
        XCTAssertEqual(next["total"] as? Int, all.count)
        XCTAssertTrue(
            try workshop.succeed("conflicts", "a.sqlite", "--table", "genre").output.contains("Nothing was lost"))
        XCTAssertFalse(
            try workshop.succeed("conflicts", "a.sqlite", "list", "--kind", "revived").output.contains("title"))
        try workshop.fail(
            "conflicts", "a.sqlite", "list", "--table", "sonk", status: 64, code: "invalidArgument", mentioning: "sonk")
    }

    func testAResolvedConflictIsOffTheList() throws {
        let workshop = try disagreement()
        let numbers = try list(workshop).compactMap { $0["number"] as? Int }
        let resolved = try workshop.succeed("conflicts", "a.sqlite", "resolve", "\(numbers[0])", "--json").json()
        XCTAssertEqual(resolved["resolved"] as? Int, 1)
        XCTAssertEqual(try list(workshop).compactMap { $0["number"] as? Int }, Array(numbers.dropFirst()))
        let status = try workshop.succeed("status", "a.sqlite", "--json").json()
        XCTAssertEqual(status["conflicts"] as? Int, numbers.count - 1)
        let old = try workshop.succeed("conflicts", "a.sqlite", "list", "--resolved", "--json").json()
        XCTAssertEqual((old["conflicts"] as? [[String: Any]])?.map { $0["number"] as? Int }, [numbers[0]])
        XCTAssertTrue(
            try workshop.succeed("conflicts", "a.sqlite", "show", "\(numbers[0])").output.contains("resolved"))
        // The other device settles its own.
        XCTAssertEqual(
            try workshop.succeed("status", "b.sqlite", "--json").json()["conflicts"] as? Int, numbers.count)
    }

    func testALostValueComesBackOnBothDevices() throws {
        let workshop = try disagreement()
        let outcome = try workshop.succeed("conflicts", "a.sqlite", "restore", try number(workshop, "field"))
        XCTAssertEqual(outcome.output, "song 1: restored title. The conflict is resolved.\n")
        XCTAssertTrue(outcome.errors.contains("ferry sync a.sqlite"), outcome.errors)
        for database in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] {
            XCTAssertEqual(try workshop.sql(database, "SELECT title FROM song WHERE id = 1"), "Mine\n")
        }
    }

    func testARevivedRowIsDeletedAgain() throws {
        let workshop = try disagreement()
        let report = try workshop.succeed(
            "conflicts", "a.sqlite", "restore", try number(workshop, "revived"), "--json"
        ).json()
        XCTAssertEqual(report["action"] as? String, "deleted")
        XCTAssertEqual(report["key"] as? [Int], [3])
        for database in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT count(*) FROM song WHERE id = 3"), "0\n")
    }

    func testHiddenRowsAreListedAndShown() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "DELETE FROM song WHERE id = 1")
        try workshop.sql("b.sqlite", "INSERT INTO song_genre VALUES (1, 2)")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        let output = try workshop.succeed("conflicts", "a.sqlite", "list", "--hidden").output
        XCTAssertTrue(output.contains("song_genre 1, 2"), output)
        XCTAssertTrue(output.contains("song_id refers to a row that is not there"), output)
        let report = try workshop.succeed("conflicts", "a.sqlite", "--json").json()
        let hidden = try XCTUnwrap((report["hidden"] as? [[String: Any]])?.first)
        XCTAssertEqual(report["hiddenTotal"] as? Int, 1)
        XCTAssertEqual(hidden["kind"] as? String, "waiting")
        XCTAssertEqual(hidden["key"] as? [Int], [1, 2])
        XCTAssertEqual(hidden["values"] as? [String: Int], ["song_id": 1, "genre_id": 2])
        let page = try workshop.succeed("conflicts", "a.sqlite", "show", "song_genre", "1", "2").output
        XCTAssertTrue(page.contains("genre_id     2"), page)
        try workshop.fail("conflicts", "a.sqlite", "show", "song", "2", status: 1, code: "nothingFound")
    }

    func testWhatIsNotThereOrNotUnderstoodIsTold() throws {
        let workshop = try Workshop()
        try workshop.begin()
        XCTAssertEqual(
            try workshop.succeed("conflicts", "a.sqlite").output, "Nothing was lost, and no row is hidden.\n")
        for verb in ["show", "resolve", "restore"] {
            try workshop.fail("conflicts", "a.sqlite", verb, "7", status: 1, code: "nothingFound", mentioning: "7")
            XCTAssertEqual(try workshop.ferry("conflicts", "a.sqlite", verb).status, 64)
        }
        for words in [
            ["list", "3"], ["restore", "1", "2"], ["resolve", "x"], ["shov", "1"], ["list", "--limit", "0"],
        ] {
            XCTAssertEqual(try workshop.run([Workshop.binary, "conflicts", "a.sqlite"] + words).status, 64, "\(words)")
        }
        try workshop.fail("conflicts", "none.sqlite", status: 66, code: "databaseMissing")
    }

    func testWhatTheSchemaRefusesIsToldAndChangesNothing() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE genre SET name = 'Folk' WHERE id = 1")
        try workshop.sql("b.sqlite", "UPDATE genre SET name = 'Soul' WHERE id = 1")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        try workshop.sql("a.sqlite", "INSERT INTO genre VALUES (9, 'Folk')")
        let rows = try workshop.rows("a.sqlite")
        try workshop.fail(
            "conflicts", "a.sqlite", "restore", try number(workshop, "field"), status: 65, code: "restoreRefused",
            mentioning: "UNIQUE constraint failed")
        XCTAssertEqual(try workshop.rows("a.sqlite"), rows)
        XCTAssertEqual(try list(workshop).count, 1)
    }
}
