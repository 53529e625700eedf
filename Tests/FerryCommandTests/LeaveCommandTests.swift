import XCTest

final class LeaveCommandTests: XCTestCase {
    func testLeavingLeavesNoTraceAndKeepsTheRows() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let schema = "SELECT type, name, sql FROM sqlite_schema ORDER BY name"
        let before = try workshop.sql("a.sqlite", schema)
        let rows = try workshop.rows("a.sqlite")
        try workshop.succeed("init", "a.sqlite", "shared", "--open")
        let outcome = try workshop.succeed("leave", "a.sqlite")
        XCTAssertTrue(outcome.output.contains("its rows stay"), outcome.output)
        XCTAssertEqual(outcome.errors, "")
        XCTAssertEqual(try workshop.sql("a.sqlite", schema), before)
        XCTAssertEqual(
            try workshop.sql("a.sqlite", "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'ferry%'"), "0\n")
        XCTAssertEqual(try workshop.rows("a.sqlite"), rows)
        XCTAssertEqual(try workshop.sql("a.sqlite", "PRAGMA integrity_check"), "ok\n")
        let names = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
        XCTAssertEqual(names.sorted(), ["a.sqlite", "a.sqlite-ferry-keys", "shared"])
        XCTAssertTrue(outcome.output.contains("a.sqlite-ferry-keys says which rows"), outcome.output)
        try workshop.fail("doctor", "a.sqlite", status: 65, code: "notTracked", mentioning: "-ferry-keys")
    }

    func testADatabaseOfNoContainerHasNothingToLeave() throws {
        let workshop = try Workshop()
        try workshop.sql("plain.sqlite", Workshop.music)
        try workshop.fail(
            "leave", "plain.sqlite", status: 65, code: "notTracked", mentioning: "there is nothing to leave")
        try workshop.begin()
        try workshop.succeed("leave", "a.sqlite")
        try workshop.fail("leave", "a.sqlite", status: 65, code: "notTracked", mentioning: "there is nothing to leave")
        try workshop.fail("leave", "none.sqlite", status: 66, code: "databaseMissing")
    }

    func testLeavingWarnsOfWhatWasNotPublished() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'")
        XCTAssertTrue(try workshop.succeed("leave", "a.sqlite").errors.contains("2 changes were not published"))
    }

    func testLeavingRemovesTriggersThatAreLeftWhereSomebodyDroppedFerrysTables() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let rows = try workshop.rows("a.sqlite")
        let names = try workshop.sql(
            "a.sqlite", "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'ferry%'")
        try workshop.sql("a.sqlite", names.split(separator: "\n").map { "DROP TABLE \($0);" }.joined())
        XCTAssertThrowsError(try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'"))
        XCTAssertTrue(try workshop.succeed("leave", "a.sqlite").output.contains("of Ferry's went now"))
        XCTAssertEqual(try workshop.rows("a.sqlite"), rows)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x'; INSERT INTO song(title) VALUES ('Four')")
        try workshop.fail("leave", "a.sqlite", status: 65, code: "notTracked")
    }

    /// The process ended after Ferry's tables had gone.
    func testLeavingRemovesFilesThatAnInterruptedLeaveLeft() throws {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        for directory in ["whole/aa", "pending", "partial"] {
            try FileManager.default.createDirectory(
                atPath: workshop.path("a.sqlite-ferry-content/" + directory), withIntermediateDirectories: true)
        }
        for name in ["lock", "leader"] { try Data().write(to: URL(filePath: workshop.path("a.sqlite-ferry-" + name))) }
        let pack = workshop.path("a.sqlite-ferry-content/pending/00112233445566778899aabbccddeeff.pack")
        try Data("pack".utf8).write(to: URL(filePath: pack))
        try workshop.fail(
            "leave", "a.sqlite", status: 65, code: "documentsPresent", mentioning: "--discard-documents")
        XCTAssertTrue(FileManager.default.fileExists(atPath: pack))
        let said = try workshop.succeed("leave", "a.sqlite", "--discard-documents").output
        XCTAssertTrue(said.contains("Files of Ferry's beside the database went now."), said)
        let names = try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path)
        XCTAssertEqual(names.sorted(), ["a.sqlite"])
        try workshop.fail("leave", "a.sqlite", status: 65, code: "notTracked")
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: workshop.folder.path), ["a.sqlite"])
    }

    func testLeavingAsJSON() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let report = try workshop.succeed("leave", "a.sqlite", "--json").json()
        XCTAssertEqual(report["unpublished"] as? Int, 0)
        XCTAssertTrue((report["path"] as? String)?.hasSuffix("/shared") ?? false)
    }

    func testWhoLeavesIsToldHowTheOthersStopWaiting() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        XCTAssertTrue(try workshop.succeed("leave", "b.sqlite").errors.contains("ferry devices … retire phone"))
        try workshop.succeed("devices", "a.sqlite", "retire", "phone")
        try FileManager.default.copyItem(atPath: workshop.path("a.sqlite"), toPath: workshop.path("look.sqlite"))
        XCTAssertEqual(try workshop.succeed("leave", "look.sqlite").errors, "")
    }

    func testAPathThatWasLeftCanBeJoinedAnew() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.succeed("leave", "b.sqlite")
        try FileManager.default.removeItem(atPath: workshop.path("b.sqlite"))
        try workshop.join("b.sqlite", "--name", "phone again")
        let query = "SELECT * FROM song ORDER BY id"
        XCTAssertEqual(try workshop.sql("b.sqlite", query), try workshop.sql("a.sqlite", query))
    }
}
