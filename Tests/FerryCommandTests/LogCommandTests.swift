import XCTest

final class LogCommandTests: XCTestCase {
    func testTheLogTellsTheNewestFirst() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'x' WHERE id = 2")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.succeed("sync", "a.sqlite")
        let changes = try XCTUnwrap(workshop.succeed("log", "a.sqlite", "--json").json()["changes"] as? [[String: Any]])
        XCTAssertEqual(changes.count, 10)
        let newest = changes[0]
        XCTAssertEqual(newest["device"] as? String, "phone")
        XCTAssertEqual(newest["table"] as? String, "artist")
        XCTAssertEqual(newest["key"] as? [Int], [2])
        XCTAssertNotNil(newest["object"] as? String)
        XCTAssertEqual(newest["operation"] as? String, "update")
        XCTAssertEqual(newest["columns"] as? [String], ["name"])
        XCTAssertNotNil(newest["timeMilliseconds"] as? Int)
        let times = changes.compactMap { $0["timeMilliseconds"] as? Int }
        XCTAssertEqual(times, times.sorted(by: >))
    }

    func testTheLogIsLimitedToANumberAndATable() throws {
        let workshop = try Workshop()
        try workshop.begin()
        let output = try workshop.succeed("log", "a.sqlite", "--table", "SONG", "--limit", "2").output
        let lines = output.split(separator: "\n")
        XCTAssertEqual(lines.count, 3, output)
        XCTAssertTrue(lines.dropFirst().allSatisfy { $0.contains("insert   song") }, output)
    }

    func testChangesThatAreNotPublishedAreHintedAt() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 2")
        let outcome = try workshop.succeed("log", "a.sqlite")
        XCTAssertTrue(outcome.errors.hasPrefix("1 change waits to be published"), outcome.errors)
    }

    func testAnUnknownTableAndANonsensicalLimitAreWrongUsage() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.fail(
            "log", "a.sqlite", "--table", "sonk", status: 64, code: "invalidArgument",
            mentioning: "Did you mean “song”?")
        XCTAssertEqual(try workshop.ferry("log", "a.sqlite", "--limit", "0").status, 64)
    }
}
