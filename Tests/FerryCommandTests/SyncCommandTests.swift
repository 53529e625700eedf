import XCTest

final class SyncCommandTests: XCTestCase {
    func testADamagedHeadStopsNobody() throws {
        let workshop = try Workshop()
        try workshop.begin(isOpen: true)
        let head = try workshop.files(suffix: "head")[0]
        try workshop.join("b.sqlite", "--name", "phone")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        for damage in [Data("junk".utf8), Data(), try Data(contentsOf: head).dropLast(9)] {
            try damage.write(to: head)
            let outcome = try workshop.succeed("sync", "b.sqlite")
            XCTAssertTrue(outcome.errors.contains("laptop: Its file \"head\" is damaged"), outcome.errors)
            XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "x\n")
        }
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'y' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.succeed("sync", "b.sqlite").errors, "")
    }

    func testADatabaseThatWasMovedIntoTheContainerIsRefused() throws {
        let workshop = try Workshop()
        try workshop.begin()
        for (from, to) in [("a.sqlite", "shared/a.sqlite"), ("shared/a.sqlite", "a.sqlite")] {
            try FileManager.default.moveItem(atPath: workshop.path(from), toPath: workshop.path(to))
            if to != "a.sqlite" {
                try workshop.fail("sync", to, status: 64, code: "invalidArgument", mentioning: "Move it out")
            }
        }
        try workshop.succeed("sync", "a.sqlite")
    }

    func testACopiedDatabaseIsToldAndGoesOnAsADeviceOfItsOwn() throws {
        let workshop = try Workshop()
        try workshop.beginTwo(isOpen: true)
        try workshop.sql("a.sqlite", "VACUUM INTO 'copy.sqlite'")
        try workshop.sql("copy.sqlite", "UPDATE artist SET name = 'of the copy' WHERE id = 1")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'of the original' WHERE id = 2")
        try workshop.succeed("sync", "a.sqlite")
        let told = try workshop.succeed("sync", "copy.sqlite")
        XCTAssertTrue(told.output.hasPrefix("This database is a copy"), told.output)
        XCTAssertTrue(told.output.contains("there is nothing to do"), told.output)
        XCTAssertFalse(try workshop.succeed("sync", "copy.sqlite").output.contains("copy"))
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertEqual(try workshop.rows("a.sqlite"), try workshop.rows("copy.sqlite"))
        XCTAssertEqual(
            try workshop.sql("a.sqlite", "SELECT name FROM artist ORDER BY id"), "of the copy\nof the original\n")
        // Two devices have one name: the page tells them apart, and says which was made of which.
        let page = try workshop.succeed("status", "b.sqlite").output
        XCTAssertEqual(page.components(separatedBy: "laptop (").count, 4, page)
        XCTAssertTrue(page.contains("copied or restored as laptop ("), page)
        let other = try workshop.run([Workshop.binary, "sync", "b.sqlite", "--json"]).json()
        XCTAssertNil(other["renewed"])
        try workshop.sql("a.sqlite", "VACUUM INTO 'second.sqlite'")
        let renewed = try workshop.run([Workshop.binary, "sync", "second.sqlite", "--json"]).json()["renewed"]
        XCTAssertEqual((renewed as? [String: Any])?["reason"] as? String, "copied")
    }

    func testASyncSendsAndReceives() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'Ada M.' WHERE id = 1")
        try workshop.sql("b.sqlite", "INSERT INTO genre VALUES (3, 'Folk'); DELETE FROM song WHERE id = 3;")
        XCTAssertTrue(try workshop.succeed("sync", "a.sqlite").output.hasPrefix("Sent 1 change."))
        XCTAssertTrue(
            try workshop.succeed("sync", "b.sqlite").output.hasPrefix("Sent 2 changes and received 1 change."))
        XCTAssertTrue(try workshop.succeed("sync", "a.sqlite").output.hasPrefix("Received 2 changes."))
        XCTAssertTrue(try workshop.succeed("sync", "b.sqlite").output.hasPrefix("Nothing new."))
        let query = "SELECT * FROM artist; SELECT * FROM genre; SELECT * FROM song;"
        XCTAssertEqual(try workshop.sql("a.sqlite", query), try workshop.sql("b.sqlite", query))
    }

    func testSyncAsJSONHasFixedKeys() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'Here' WHERE id = 1")
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'There' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        let report = try workshop.succeed("sync", "b.sqlite", "--json").json()
        XCTAssertEqual(
            Set(report.keys), ["published", "replayed", "hidden", "conflicts", "waiting", "durationMilliseconds"])
        XCTAssertEqual(report["published"] as? [String: Int], ["segments": 1, "changes": 1])
        XCTAssertEqual(report["replayed"] as? [String: Int], ["segments": 1, "changes": 1])
        XCTAssertEqual(report["conflicts"] as? Int, 1)
        XCTAssertEqual(report["hidden"] as? Int, 0)
    }

    func testADeviceWhoseFilesAreLateIsAWarning() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        let before = Set(try workshop.files(suffix: ".segment"))
        try workshop.succeed("sync", "a.sqlite")
        let late = try XCTUnwrap(workshop.files(suffix: ".segment").first { !before.contains($0) })
        try FileManager.default.removeItem(at: late)
        let outcome = try workshop.succeed("sync", "b.sqlite")
        XCTAssertTrue(outcome.errors.hasPrefix("Warning: laptop: "), outcome.errors)
        XCTAssertEqual(try workshop.succeed("sync", "b.sqlite", "--quiet").errors, "")
        let report = try workshop.succeed("sync", "b.sqlite", "--json").json()
        let waiting = try XCTUnwrap(report["waiting"] as? [[String: Any]])
        XCTAssertEqual(waiting.map { $0["device"] as? String }, ["laptop"])
        XCTAssertNotNil(waiting[0]["reason"] as? String)
    }

    func testAFolderThatIsAwayIsToldAndNothingIsLost() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try FileManager.default.moveItem(atPath: workshop.path("shared"), toPath: workshop.path("away"))
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.fail("sync", "a.sqlite", status: 69, code: "containerMissing")
        try FileManager.default.createDirectory(atPath: workshop.path("shared"), withIntermediateDirectories: false)
        try workshop.fail("sync", "a.sqlite", status: 69, code: "containerEmpty")
        try FileManager.default.removeItem(atPath: workshop.path("shared"))
        try FileManager.default.moveItem(atPath: workshop.path("away"), toPath: workshop.path("shared"))
        XCTAssertTrue(try workshop.succeed("sync", "a.sqlite").output.hasPrefix("Sent 1 change."))
    }

    func testAnotherContainerInItsPlaceIsRefused() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try workshop.sql("c.sqlite", Workshop.music)
        try workshop.succeed("init", "c.sqlite", "other", "--open")
        try FileManager.default.removeItem(atPath: workshop.path("shared"))
        try FileManager.default.moveItem(atPath: workshop.path("other"), toPath: workshop.path("shared"))
        try workshop.fail("sync", "a.sqlite", status: 69, code: "containerMismatch")
    }

    func testALockedDatabaseIsBusy() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        // A process that holds the write lock until its input ends, and says when it has it.
        let holder = workshop.process([
            "python3", "-c",
            "import sqlite3, sys; c = sqlite3.connect('a.sqlite', isolation_level=None); "
                + "c.execute('BEGIN EXCLUSIVE'); print('held', flush=True); sys.stdin.read()",
        ])
        let input = Pipe()
        let output = Pipe()
        holder.standardInput = input
        holder.standardOutput = output
        try holder.run()
        defer {
            try? input.fileHandleForWriting.close()
            holder.waitUntilExit()
        }
        XCTAssertEqual(String(decoding: output.fileHandleForReading.availableData.prefix(4), as: UTF8.self), "held")
        let outcome = try workshop.ferry("sync", "a.sqlite", "--json")
        XCTAssertEqual(outcome.status, 75)
        XCTAssertEqual((try outcome.json()["error"] as? [String: String])?["code"], "busy")
    }
}
