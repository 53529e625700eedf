import XCTest

final class CompactCommandTests: XCTestCase {
    /// A device with many small segments, and another one.
    private func workshop() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        for number in 0..<18 {
            try workshop.sql("a.sqlite", "INSERT INTO artist(name) VALUES ('\(number)')")
            try workshop.succeed("sync", "a.sqlite")
        }
        return workshop
    }

    func testSmallFilesAreRolledUpBySyncAndRemovedOnceTheOthersHaveThem() throws {
        let workshop = try workshop()
        // All but the newest became one; the small ones stay for who has not read them.
        let plan = try workshop.succeed("compact", "a.sqlite", "--dry-run", "--json").json()
        XCTAssertEqual(plan["dryRun"] as? Bool, true)
        let before = try workshop.files(suffix: ".segment").count
        try workshop.succeed("sync", "b.sqlite")
        let dry = try workshop.succeed("compact", "a.sqlite", "--dry-run").output
        XCTAssertTrue(dry.hasPrefix("Would remove "), dry)
        XCTAssertEqual(try workshop.files(suffix: ".segment").count, before)
        let report = try workshop.succeed("compact", "a.sqlite", "--json").json()
        let removed = try XCTUnwrap(report["removedFiles"] as? [String: Int])
        XCTAssertGreaterThan(removed["segments"] ?? 0, 10)
        XCTAssertGreaterThan(removed["bytes"] ?? 0, 1000)
        XCTAssertEqual(report["dryRun"] as? Bool, false)
        XCTAssertEqual(report["skipped"] as? [String], [])
        XCTAssertEqual(report["heldBackBy"] as? [String], [])
        XCTAssertNotNil(report["tombstones"] as? Int)
        XCTAssertNotNil(report["rolledUp"] as? [String: Int])
        XCTAssertLessThan(try workshop.files(suffix: ".segment").count, before - 10)
        let output = try workshop.succeed("compact", "a.sqlite").output
        XCTAssertTrue(output.hasPrefix("There is nothing to do.\nThis device's log now takes "), output)
        try workshop.succeed("join", "c.sqlite", "shared", "--name", "tablet")
        XCTAssertEqual(
            try workshop.sql("c.sqlite", "SELECT count(*) FROM artist"),
            try workshop.sql("a.sqlite", "SELECT count(*) FROM artist"))
    }

    func testWithoutTheContainerNothingIsCompacted() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        try FileManager.default.removeItem(atPath: workshop.path("shared"))
        try workshop.fail("compact", "a.sqlite", status: 69, code: "containerMissing")
        try workshop.fail("compact", "nowhere.sqlite", status: 66, code: "databaseMissing")
        XCTAssertEqual(try workshop.ferry("compact", "a.sqlite", "--hard").status, 64)
    }
}
