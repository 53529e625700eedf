import XCTest

final class VerifyCommandTests: XCTestCase {
    func testASoundDatabase() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let plain = try workshop.succeed("verify", "a.sqlite")
        XCTAssertTrue(
            plain.output.hasPrefix("The file is sound, and every foreign key leads somewhere. ("), plain.output)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        let deep = try workshop.succeed("verify", "a.sqlite", "--deep")
        XCTAssertTrue(deep.output.hasPrefix("The file is sound, and 9 rows in 4 tables show "), deep.output)
        XCTAssertEqual(try workshop.succeed("verify", "a.sqlite", "--deep", "--quiet").output, "")
        let report = try workshop.succeed("verify", "a.sqlite", "--deep", "--json").json()
        XCTAssertEqual(report["differenceCount"] as? Int, 0)
        XCTAssertEqual(report["deep"] as? Bool, true)
        XCTAssertNil(report["error"])
    }

    func testADeepLookWorksWithoutTheContainerAndPacksWhatWaits() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        try workshop.succeed("verify", "a.sqlite", "--deep")
        XCTAssertEqual(try workshop.sql("a.sqlite", "SELECT count(*) FROM ferry_pending"), "0\n")
        try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path("shared"))
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "x\n")
    }

    func testDamageIsNamedAndTheStatusIs65() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        // What somebody does who takes the triggers away for a moment.
        let trigger =
            "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'ferry%delete' AND tbl_name = 'song_genre'"
        let sql = try workshop.sql("b.sqlite", trigger)
        let name = try workshop.sql("b.sqlite", trigger.replacingOccurrences(of: "SELECT sql", with: "SELECT name"))
        try workshop.sql("b.sqlite", "DROP TRIGGER \(name); DELETE FROM song_genre WHERE song_id = 1; \(sql);")
        try workshop.succeed("verify", "b.sqlite")
        let outcome = try workshop.ferry("verify", "b.sqlite", "--deep")
        XCTAssertEqual(outcome.status, 65)
        XCTAssertTrue(outcome.output.hasPrefix("1 thing is not as it should be."), outcome.output)
        XCTAssertTrue(outcome.output.contains("song_genre"), outcome.output)
        XCTAssertTrue(outcome.output.contains("has lost its row"), outcome.output)
        let scripted = try workshop.ferry("verify", "b.sqlite", "--deep", "--json")
        XCTAssertEqual(scripted.status, 65)
        let report = try scripted.json()
        XCTAssertEqual((report["error"] as? [String: String])?["code"], "verificationFailed")
        let differences = try XCTUnwrap(report["differences"] as? [[String: String]])
        XCTAssertEqual(differences.map { $0["table"] }, ["song_genre"])
        XCTAssertEqual(differences.map { $0["kind"] }, ["missingRow"])
        XCTAssertEqual(report["differenceCount"] as? Int, 1)
    }

    func testABrokenForeignKeyIsNamed() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("a.sqlite", "PRAGMA foreign_keys = OFF; UPDATE song SET artist_id = 77 WHERE id = 2;")
        let outcome = try workshop.ferry("verify", "a.sqlite")
        XCTAssertEqual(outcome.status, 65)
        XCTAssertTrue(outcome.output.contains("song    2     artist"), outcome.output)
        // A pass hides or clears what an app wrote with foreign keys off.
        XCTAssertEqual(try workshop.ferry("verify", "a.sqlite", "--deep").status, 0)
    }

    func testATableThatNeedsACollationOfAnAppsIsNamedAndTheStatusIs69() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        // The shell has a collation that SQLite has not.
        try workshop.sql("b.sqlite", "CREATE UNIQUE INDEX by_number ON genre(name COLLATE uint)")
        for option in ["--quiet", "--deep"] {
            let outcome = try workshop.ferry("verify", "b.sqlite", option)
            XCTAssertEqual(outcome.status, 69, outcome.output)
            XCTAssertTrue(
                outcome.output.hasPrefix("Not everything in 1 table was checked. Nothing wrong was found in the rest."),
                outcome.output)
            XCTAssertNotNil(
                outcome.output.firstMatch(of: /genre +no such collation sequence: uint/), outcome.output)
            XCTAssertTrue(outcome.output.contains("Replica.verify"), outcome.output)
            XCTAssertFalse(outcome.output.contains("sound"), outcome.output)
        }
        let report = try workshop.ferry("verify", "b.sqlite", "--deep", "--json").json()
        XCTAssertEqual((report["error"] as? [String: String])?["code"], "notAllVerified")
        XCTAssertEqual(report["remedies"] as? [String], ["checkInApp"])
        XCTAssertEqual((report["unchecked"] as? [[String: String]])?.map { $0["table"] }, ["genre"])
        let compared = (report["tables"] as? [[String: Any]])?.compactMap { $0["name"] as? String } ?? []
        XCTAssertEqual(compared.filter { !$0.hasPrefix("ferry_") }.sorted(), ["artist", "song", "song_genre"])
        // Where something is wrong besides, that is the status.
        try workshop.sql("b.sqlite", "PRAGMA foreign_keys = OFF; UPDATE song SET artist_id = 77 WHERE id = 2;")
        XCTAssertEqual(try workshop.ferry("verify", "b.sqlite").status, 65)
    }

    func testAnIndexThatLacksRowsIsToBeMadeAnew() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql(
            "b.sqlite",
            """
            CREATE INDEX odd ON song(title); PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = 'CREATE INDEX odd ON song(upper(title) || ''x'')' WHERE name = 'odd';
            """)
        let outcome = try workshop.ferry("verify", "b.sqlite")
        XCTAssertEqual(outcome.status, 65)
        XCTAssertTrue(outcome.output.contains("REINDEX"), outcome.output)
        XCTAssertFalse(outcome.output.contains("Move the file aside"), outcome.output)
        try workshop.sql("b.sqlite", "REINDEX")
        try workshop.succeed("verify", "b.sqlite", "--deep")
    }

    func testADatabaseThatBelongsToNoContainerIsRefused() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        try workshop.fail("verify", "a.sqlite", status: 65, code: "notTracked")
        try workshop.fail("verify", "none.sqlite", status: 66, code: "databaseMissing")
    }
}
