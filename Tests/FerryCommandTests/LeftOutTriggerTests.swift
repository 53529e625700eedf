import Foundation
import XCTest

/// Triggers of the app's that need what the command lacks: they are named, and everything else goes on.
final class LeftOutTriggerTests: XCTestCase {
    private static let triggers = """
        CREATE TABLE log(x);
        CREATE TRIGGER "fold 'it'" AFTER INSERT ON artist BEGIN INSERT INTO log VALUES (folded_by_app(new.name)); END;
        CREATE TRIGGER lost AFTER UPDATE OF name ON artist BEGIN DELETE FROM "no such table"; END;
        CREATE TRIGGER sound AFTER INSERT ON artist BEGIN INSERT INTO log VALUES (new.name); END;
        CREATE TRIGGER refuses BEFORE DELETE ON artist BEGIN SELECT RAISE(ABORT, 'no'); END;
        """

    private func begin() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("b.sqlite", Self.triggers)
        try workshop.sql("a.sqlite", "INSERT INTO artist VALUES (7, 'Cy')")
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(
            try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 7; SELECT * FROM log"), "Cy\nCy\n")
        return workshop
    }

    func testStatusNamesThem() throws {
        let workshop = try begin()
        let report = try workshop.succeed("status", "b.sqlite", "--json").json()
        XCTAssertEqual(
            report["leftOutTriggers"] as? [[String: String]],
            [
                ["name": "fold 'it'", "table": "artist", "reason": "no such function: folded_by_app"],
                ["name": "lost", "table": "artist", "reason": "no such table: no such table"],
            ])
        let output = try workshop.succeed("status", "b.sqlite").output
        XCTAssertTrue(output.contains("“fold 'it'” on artist does not run"), output)
        XCTAssertTrue(output.contains("Sync from the app's own process"), output)
        XCTAssertEqual(
            try workshop.succeed("status", "a.sqlite", "--json").json()["leftOutTriggers"] as? [[String: String]], [])
    }

    func testDoctorNamesThemUntilTheyAreMended() throws {
        let workshop = try begin()
        let output = try workshop.succeed("doctor", "b.sqlite").output
        XCTAssertTrue(output.contains("no such function: folded_by_app"), output)
        XCTAssertTrue(output.contains("Nothing is broken."), output)
        let findings = try workshop.succeed("doctor", "b.sqlite", "--json").json()["findings"] as? [[String: Any]]
        XCTAssertEqual(findings?.map { $0["severity"] as? String }, ["warning", "warning"])
        try workshop.sql("b.sqlite", "DROP TRIGGER \"fold 'it'\"; CREATE TABLE \"no such table\"(x)")
        XCTAssertTrue(try workshop.succeed("doctor", "b.sqlite").output.contains("Everything is well."))
    }
}
