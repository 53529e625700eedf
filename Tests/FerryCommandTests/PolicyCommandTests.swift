import XCTest

final class PolicyCommandTests: XCTestCase {
    func testPoliciesAreSetListedAndTakenOff() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        XCTAssertTrue(try workshop.succeed("policy", "a.sqlite").output.contains("No policy is set"))
        try workshop.succeed("policy", "a.sqlite", "set", "song.title", "max", "genre", "deleteWins")
        let set = try workshop.succeed("policy", "a.sqlite", "set", "index:genre(name)", "hideLoser", "--json").json()
        XCTAssertEqual(set["changed"] as? Int, 1)
        let policies = try XCTUnwrap(set["policies"] as? [[String: Any]])
        XCTAssertEqual(
            policies.map { $0["target"] as? String }, ["column:song.title", "index:genre(name)", "table:genre"])
        XCTAssertEqual(policies.map { $0["policy"] as? String }, ["max", "hideLoser", "deleteWins"])
        XCTAssertEqual(policies.map { $0["applied"] as? Bool }, [true, true, true])
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        let list = try workshop.succeed("policy", "b.sqlite", "list").output
        XCTAssertTrue(list.contains("column:song.title   max"), list)
        let status = try workshop.succeed("status", "b.sqlite", "--json").json()
        XCTAssertEqual((status["policies"] as? [Any])?.count, 3)
        XCTAssertTrue(try workshop.succeed("status", "b.sqlite").output.contains("column:song.title"))
        let removed = try workshop.succeed("policy", "b.sqlite", "remove", "song.title", "genre", "--json").json()
        XCTAssertEqual(removed["changed"] as? Int, 2)
        XCTAssertEqual((removed["policies"] as? [Any])?.count, 1)
        XCTAssertEqual(
            try workshop.succeed("policy", "b.sqlite", "remove", "song.title", "--json").json()["changed"] as? Int, 0)
    }

    func testWhatMakesNoSenseIsRefusedAndSaysWhy() throws {
        let workshop = try Workshop()
        try workshop.begin()
        for (target, word) in [
            ("song.none", "max"), ("none.title", "max"), ("none", "deleteWins"), ("song.id", "max"),
            ("song.artist_id", "max"), ("song.title", "counter"), ("song.title", "median"), ("song", "max"),
            ("index:none", "hideLoser"), ("note.text", "max"),
        ] {
            try workshop.fail("policy", "a.sqlite", "set", target, word, status: 64, code: "invalidArgument")
        }
        for wrong in [
            ["set"], ["set", "song.title"], ["remove"], ["list", "x"], ["set", ".", "max"], ["forget", "x"],
        ] {
            XCTAssertEqual(try workshop.run([Workshop.binary, "policy", "a.sqlite"] + wrong).status, 64, "\(wrong)")
        }
        XCTAssertEqual((try workshop.succeed("policy", "a.sqlite", "--json").json()["policies"] as? [Any])?.count, 0)
    }

    func testATableUnderAHookIsLeftToTheApp() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let warned = try workshop.succeed("policy", "a.sqlite", "set", "song.title", "hook:merge")
        XCTAssertTrue(warned.errors.contains("is not known here"), warned.errors)
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        try workshop.sql("a.sqlite", "UPDATE song SET title = 'A' WHERE id = 1; INSERT INTO note VALUES ('x')")
        try workshop.succeed("sync", "a.sqlite")
        let outcome = try workshop.run([Workshop.binary, "sync", "b.sqlite", "--json"])
        XCTAssertEqual(outcome.status, 65)
        let waiting = try XCTUnwrap(outcome.json()["waiting"] as? [[String: Any]])
        XCTAssertEqual(waiting.map { $0["code"] as? String }, ["unknownPolicy"])
        let page = try workshop.succeed("status", "b.sqlite").output
        XCTAssertTrue(page.contains("hook:merge"), page)
        // Taken off, everything goes on.
        try workshop.succeed("policy", "b.sqlite", "remove", "song.title")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT title FROM song WHERE id = 1"), "A\n")
    }
}
