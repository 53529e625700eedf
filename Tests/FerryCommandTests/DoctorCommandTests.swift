import Foundation
import XCTest

/// The doctor says what is wrong and what to do, and mends what is safe.
final class DoctorCommandTests: XCTestCase {
    /// The findings of `ferry doctor --json` as "severity subject".
    private func findings(_ workshop: Workshop, _ database: String, status: Int32 = 0) throws -> [[String: Any]] {
        let outcome = try workshop.ferry("doctor", database, "--json")
        XCTAssertEqual(outcome.status, status, outcome.output)
        return try XCTUnwrap(try outcome.json()["findings"] as? [[String: Any]])
    }

    private func summary(_ findings: [[String: Any]]) -> [String] {
        findings.map { "\($0["severity"] as? String ?? "") \($0["subject"] as? String ?? "")" }
    }

    private func newSegment(_ workshop: Workshop) throws -> URL {
        try workshop.sql("a.sqlite", "UPDATE artist SET name = name || '!'")
        let before = Set(try workshop.files(suffix: ".segment"))
        try workshop.succeed("sync", "a.sqlite")
        return try XCTUnwrap(workshop.files(suffix: ".segment").first { !before.contains($0) })
    }

    func testAHealthyDatabaseIsWell() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let outcome = try workshop.succeed("doctor", "a.sqlite")
        XCTAssertTrue(outcome.output.contains("Everything is well."), outcome.output)
        XCTAssertTrue(outcome.output.contains("9 rows in 4 tables"), outcome.output)
        XCTAssertEqual(summary(try findings(workshop, "b.sqlite")), [])
    }

    /// `init` could not name the column: a migration added it later.
    func testAColumnThatLooksLikeAReferenceIsNamedUntilThereIsAForeignKey() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql(
            "a.sqlite",
            "CREATE TABLE fan(id INTEGER PRIMARY KEY, artist_id INTEGER, name TEXT); INSERT INTO fan(artist_id) SELECT id FROM artist"
        )
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(summary(try findings(workshop, "a.sqlite")), ["warning table fan"])
        try workshop.sql(
            "a.sqlite",
            """
            BEGIN; CREATE TABLE n(id INTEGER PRIMARY KEY, artist_id INTEGER REFERENCES artist, name TEXT);
            INSERT INTO n SELECT * FROM fan; DROP TABLE fan; ALTER TABLE n RENAME TO fan; COMMIT
            """)
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(summary(try findings(workshop, "a.sqlite")), [])
    }

    /// A table is rebuilt, and its last rows are deleted before Ferry looks: they went without a deletion. Both devices say so.
    func testRowsThatWentWithTheirTableAreNamedOnBothDevices() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql(
            "a.sqlite", "CREATE TABLE fan(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO fan VALUES('k', 1)")
        try workshop.sql("b.sqlite", "CREATE TABLE fan(id TEXT PRIMARY KEY NOT NULL, v)")
        for database in ["a.sqlite", "b.sqlite", "a.sqlite"] { try workshop.succeed("sync", database) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT id FROM fan"), "k\n")
        try workshop.sql(
            "b.sqlite",
            """
            BEGIN; CREATE TABLE n(id TEXT PRIMARY KEY NOT NULL, v); INSERT INTO n SELECT * FROM fan; DROP TABLE fan;
            ALTER TABLE n RENAME TO fan; COMMIT; DELETE FROM fan
            """)
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        let undamaged = try findings(workshop, "a.sqlite", status: 65)
        XCTAssertEqual(summary(undamaged), ["fault phone"])
        XCTAssertTrue((undamaged.first?["advice"] as? String ?? "").hasPrefix("Nothing is damaged"), "\(undamaged)")
        let emptied = try findings(workshop, "b.sqlite", status: 65)
        XCTAssertEqual(summary(emptied), ["fault laptop", "warning table fan"])
        for database in ["a.sqlite", "b.sqlite"] {
            let page = try workshop.ferry("doctor", database).output
            XCTAssertFalse(page.contains("Everything is well"), page)
            XCTAssertFalse(try workshop.ferry("status", database).output.contains("verify --deep"))
        }
        let peers = try workshop.succeed("status", "a.sqlite", "--json").json()["devices"] as? [[String: Any]]
        XCTAssertEqual(peers?.first?["leftTables"] as? [String], ["fan"])
        // The row is written again: both devices agree.
        try workshop.sql("b.sqlite", "INSERT INTO fan VALUES('k', 1)")
        for database in ["b.sqlite", "a.sqlite", "b.sqlite"] { try workshop.succeed("sync", database) }
        for database in ["a.sqlite", "b.sqlite"] { XCTAssertEqual(summary(try findings(workshop, database)), []) }
    }

    func testADamagedSegmentOfAnotherDeviceIsNamedWithItsFile() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let segment = try newSegment(workshop)
        try workshop.change(segment) { $0[$0.startIndex + 120] ^= 0x10 }
        let findings = try findings(workshop, "b.sqlite", status: 65)
        XCTAssertEqual(summary(findings), ["fault laptop"])
        XCTAssertEqual(findings.first?["file"] as? String, segment.path)
    }

    func testASegmentThatIsStillArrivingIsAWarning() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.change(try newSegment(workshop)) { $0.removeLast(30) }
        XCTAssertEqual(summary(try findings(workshop, "b.sqlite")), ["warning laptop"])
    }

    func testAMissingHeadIsWrittenAgain() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        for head in try workshop.files(suffix: "head") { try FileManager.default.removeItem(at: head) }
        XCTAssertEqual(summary(try findings(workshop, "a.sqlite")).sorted(), ["note this device", "warning phone"])
        let repaired = try workshop.succeed("doctor", "a.sqlite", "--repair")
        XCTAssertTrue(repaired.output.contains("repaired"), repaired.output)
        XCTAssertEqual(try workshop.files(suffix: "head").count, 1)
        XCTAssertEqual(summary(try findings(workshop, "a.sqlite")), ["warning phone"])
    }

    func testTheGeneralPathComesToTheSame() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        _ = try newSegment(workshop)
        try workshop.succeed("sync", "b.sqlite", "--general-path")
        let fast = try workshop.succeed("doctor", "b.sqlite", "--json")
        let general = try workshop.succeed("doctor", "b.sqlite", "--general-path", "--json")
        func findings(_ output: String) throws -> NSArray? {
            try (JSONSerialization.jsonObject(with: Data(output.utf8)) as? [String: Any])?["findings"] as? NSArray
        }
        XCTAssertNotNil(try findings(general.output))
        XCTAssertEqual(try findings(general.output), try findings(fast.output))
    }

    func testAFolderThatIsAwayIsAFaultAndTheDatabaseIsExaminedAllTheSame() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        let outcome = try workshop.ferry("doctor", "a.sqlite")
        XCTAssertEqual(outcome.status, 65)
        XCTAssertTrue(outcome.output.contains("is it mounted?"), outcome.output)
        XCTAssertTrue(outcome.output.contains("9 rows in 4 tables"), outcome.output)
    }

    func testRowsThatWereChangedUnnoticedAreAFault() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql(
            "a.sqlite",
            """
            CREATE TEMP TABLE kept AS SELECT * FROM ferry_pending; UPDATE artist SET name = 'unnoticed';
            DELETE FROM ferry_pending;
            """)
        XCTAssertEqual(summary(try findings(workshop, "a.sqlite", status: 65)), ["fault database"])
    }

    func testConflictedCopiesAreWorthKnowing() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let segment = try newSegment(workshop)
        let copy = segment.path.replacingOccurrences(of: ".segment", with: " (conflicted copy 2026-01-01).segment")
        try FileManager.default.copyItem(atPath: segment.path, toPath: copy)
        XCTAssertEqual(summary(try findings(workshop, "b.sqlite")), ["note laptop"])
    }
}
