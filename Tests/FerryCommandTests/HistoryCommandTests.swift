import Foundation
import XCTest

@testable import FerryCommand

/// `ferry history` and `ferry restore`.
final class HistoryCommandTests: XCTestCase {
    func testHistorySaysThatAPartOfALogIsKeptInASnapshotOnly() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let id = try XCTUnwrap(
            (workshop.succeed("status", "a.sqlite", "--json").json()["device"] as? [String: String])?["id"])
        let segment = try XCTUnwrap(
            workshop.files(suffix: ".segment").first { $0.path.contains(id.replacing("-", with: "")) })
        try workshop.change(segment) { $0[$0.count - 20] ^= 1 }
        for database in ["a.sqlite", "b.sqlite"] {
            try workshop.succeed("doctor", database, "--repair")
            let outcome = try workshop.succeed("history", database, "artist", "1")
            XCTAssertTrue(outcome.errors.contains("no longer in the container one by one"), outcome.errors)
            try workshop.sql("a.sqlite", "UPDATE artist SET name = 'new' WHERE id = 1")
            try workshop.succeed("sync", "a.sqlite")
            try workshop.succeed("sync", "b.sqlite")
        }
    }

    /// A song that the laptop renamed and the phone deleted.
    private func story() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE song SET title = 'Uno', artist_id = 2 WHERE id = 1")
        for database in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        try workshop.sql("b.sqlite", "DELETE FROM song WHERE id = 1")
        for database in ["b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        return workshop
    }

    private func changes(_ workshop: Workshop, _ table: String, _ key: String...) throws -> [[String: Any]] {
        let outcome = try workshop.run([Workshop.binary, "history", "a.sqlite", table] + key + ["--json"])
        let rows = try XCTUnwrap(outcome.json()["rows"] as? [[String: Any]], outcome.output)
        return try XCTUnwrap(rows.first?["changes"] as? [[String: Any]])
    }

    func testAHistoryTellsTheOldestFirst() throws {
        let workshop = try story()
        let output = try workshop.succeed("history", "a.sqlite", "song", "1").output
        let lines = output.split(separator: "\n").map(String.init)
        XCTAssertEqual(lines.count, 5, output)
        XCTAssertEqual(lines[0], "song 1 is deleted")
        XCTAssertTrue(lines[2].contains("laptop   insert   title = One, artist_id = 1"), output)
        XCTAssertTrue(lines[3].contains("laptop   update   title = Uno, artist_id = 2"), output)
        XCTAssertTrue(lines[4].contains("phone    delete"), output)
        let found = try changes(workshop, "song", "1")
        XCTAssertEqual(found.map { $0["operation"] as? String }, ["insert", "update", "delete"])
        XCTAssertEqual(found.map { $0["device"] as? String }, ["laptop", "laptop", "phone"])
        let values = try XCTUnwrap(found[1]["values"] as? [String: Any])
        XCTAssertEqual(values["title"] as? String, "Uno")
        XCTAssertEqual(values["artist_id"] as? Int, 2)
        XCTAssertEqual(try changes(workshop, "song_genre", "1", "1").count, 2)
    }

    func testRowsThatNeverWereAreTold() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.fail("history", "a.sqlite", "song", "99", status: 1, code: "nothingFound")
        try workshop.fail("history", "a.sqlite", "note", "1", status: 64, code: "invalidArgument", mentioning: "note")
        try workshop.fail(
            "history", "a.sqlite", "song_genre", "1", status: 64, code: "invalidArgument", mentioning: "genre_id")
        XCTAssertEqual(try workshop.ferry("history", "a.sqlite", "song").status, 64)
        try workshop.sql("a.sqlite", "UPDATE song SET title = 'x' WHERE id = 1")
        XCTAssertTrue(try workshop.succeed("history", "a.sqlite", "song", "1").errors.contains("since the last sync"))
    }

    // MARK: Restoring

    private func time(_ change: [String: Any]) throws -> String {
        Wording.exactTime(try XCTUnwrap(change["timeMilliseconds"] as? Int64))
    }

    func testADeletedRowComesBackAsItWasAtATime() throws {
        let workshop = try story()
        let found = try changes(workshop, "song", "1")
        let dry = try workshop.succeed(
            "restore", "a.sqlite", "song", "1", "--at", try time(found[0]), "--dry-run", "--json"
        ).json()
        XCTAssertEqual(dry["dryRun"] as? Bool, true)
        XCTAssertEqual(dry["action"] as? String, "inserted")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT count(*) FROM song WHERE id = 1"), "0\n")
        let outcome = try workshop.succeed("restore", "a.sqlite", "song", "1", "--at", try time(found[0]))
        XCTAssertEqual(outcome.output, "song 1 is back.\n")
        for database in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT * FROM song WHERE id = 1"), "1|One|1\n")
        // Then as it was after the laptop's change.
        let later = try workshop.succeed("restore", "b.sqlite", "song", "1", "--at", try time(found[1]))
        XCTAssertEqual(later.output, "song 1: restored title and artist_id.\n")
        for database in ["b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT * FROM song WHERE id = 1"), "1|Uno|2\n")
    }

    func testARowThatWasNotThereIsDeletedOnlyOnDemand() throws {
        let workshop = try story()
        let rows = try workshop.rows("a.sqlite")
        try workshop.fail(
            "restore", "a.sqlite", "song", "2", "--at", "1d", status: 65, code: "restoreRefused",
            mentioning: "--allow-delete")
        XCTAssertEqual(try workshop.rows("a.sqlite"), rows)
        let outcome = try workshop.succeed("restore", "a.sqlite", "song", "2", "--at", "1d", "--allow-delete")
        XCTAssertEqual(outcome.output, "song 2 is deleted.\n")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT count(*) FROM song WHERE id = 2"), "0\n")
    }

    func testEachChangeIsTakenBackByItsPrintedTime() throws {
        let workshop = try story()
        let found = try changes(workshop, "song", "1")
        let lines = try workshop.succeed("history", "a.sqlite", "song", "1").output.split(separator: "\n").dropFirst(2)
        for (change, line) in zip(found, lines) {
            let printed = String(line.dropFirst(2).prefix(23))
            let at = try XCTUnwrap(change["at"] as? String)
            for text in [printed, at, " \(at) "] {
                let dry = try workshop.succeed(
                    "restore", "a.sqlite", "song", "1", "--at", text, "--dry-run", "--json", "--allow-delete"
                ).json()
                XCTAssertEqual(dry["atMilliseconds"] as? Int64, change["timeMilliseconds"] as? Int64, text)
            }
        }
        let refused = try workshop.run(
            [Workshop.binary, "restore", "a.sqlite", "song", "1", "--at", "2026-03-29 02:30"],
            environment: ["TZ": "Europe/Berlin"])
        XCTAssertEqual(refused.status, 64)
        XCTAssertTrue(refused.errors.contains("There was no local time"), refused.errors)
        let twice = try workshop.run(
            [Workshop.binary, "restore", "a.sqlite", "song", "1", "--at", "2025-10-26 02:30"],
            environment: ["TZ": "Europe/Berlin"])
        XCTAssertEqual(twice.status, 64)
        XCTAssertTrue(twice.errors.contains("2025-10-26 02:30:00.000+02:00"), twice.errors)
        XCTAssertTrue(twice.errors.contains("2025-10-26 02:30:00.000+01:00"), twice.errors)
    }

    func testNonsensicalTimesAreWrongUsage() throws {
        let workshop = try Workshop()
        try workshop.begin()
        for time in ["yesterday", "2999-01-01", "2"] {
            XCTAssertEqual(try workshop.ferry("restore", "a.sqlite", "song", "1", "--at", time).status, 64, time)
        }
        XCTAssertEqual(try workshop.ferry("restore", "a.sqlite", "song", "1").status, 64)
        XCTAssertEqual(
            try workshop.ferry("restore", "a.sqlite", "song", "1", "--at", "1h", "--object", "x").status, 64)
    }
}
