import Foundation
import XCTest

/// A container, a backup and a database as they were once written: what a person who updates Ferry has.
///
/// `Golden/store-v<version>.sql` is the dump of a database under Ferry with changes that are not sent yet. Who raises the
/// version of Ferry's tables adds one, and says in a test what becomes of the older ones.
final class GoldenStoreTests: XCTestCase {
    private let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")

    private func begin() throws -> Workshop {
        let workshop = try Workshop()
        try FileManager.default.copyItem(
            at: golden.appendingPathComponent("container"), to: workshop.folder.appendingPathComponent("shared"))
        return workshop
    }

    func testADatabaseGoesOnWhereItWas() throws {
        for version in 6...8 { try checkThatItGoesOn(version) }
    }

    private func checkThatItGoesOn(_ version: Int) throws {
        let workshop = try begin()
        let dump = try String(contentsOf: golden.appendingPathComponent("store-v\(version).sql"), encoding: .utf8)
        let path = workshop.path("shared")
        try workshop.sql(
            "a.sqlite", dump + "UPDATE ferry_meta SET value = '\(path)' WHERE name = 'containerPath';")
        let before = try workshop.rows("a.sqlite")
        XCTAssertTrue(before.contains("'Not sent yet'") && before.contains("'Ada L.'"), before)
        let report = try workshop.succeed("sync", "a.sqlite", "--json").json()
        let published = try XCTUnwrap(report["published"] as? [String: Any])
        XCTAssertGreaterThan(published["changes"] as? Int ?? 0, 0)
        try workshop.succeed("verify", "a.sqlite", "--deep")
        XCTAssertEqual(try workshop.rows("a.sqlite"), before)
        // The dump has sentences for reasons.
        XCTAssertTrue(dump.contains("'song_id refers to a row that is not there'"))
        let exceptions = try workshop.succeed("status", "a.sqlite", "--json").json()["exceptions"] as? [[String: Any]]
        let waiting = exceptions?.filter { $0["kind"] as? String == "waiting" } ?? []
        XCTAssertEqual(waiting.map { $0["count"] as? Int }, [2])
        XCTAssertEqual(waiting.map { $0["columns"] as? [String] }, [["song_id"]])
        XCTAssertEqual(waiting.map { $0["reason"] as? String }, ["song_id refers to a row that is not there"])
        XCTAssertEqual(try workshop.succeed("kv", "counter", "a.sqlite", "launches", "--quiet").output, "4\n")
        let conflicts = try workshop.succeed("conflicts", "a.sqlite", "--json").json()
        XCTAssertEqual(conflicts["total"] as? Int, 1)
        // Another device gets what was not sent.
        try workshop.succeed("join", "c.sqlite", "shared", "--name", "new")
        XCTAssertEqual(try shared(workshop, "c.sqlite"), try shared(workshop, "a.sqlite"))
        try workshop.succeed("verify", "c.sqlite", "--deep")
        // What the earlier Ferry did not keep of the rows is that of a new database.
        try workshop.succeed("sync", "a.sqlite")
        let status = try workshop.succeed("status", "c.sqlite", "--json").json()
        let devices = try XCTUnwrap(status["devices"] as? [[String: Any]])
        let own = try workshop.succeed("status", "a.sqlite", "--json").json()["device"] as? [String: Any]
        let id = try XCTUnwrap(own?["id"] as? String)
        XCTAssertEqual(devices.first { $0["id"] as? String == id }?["standing"] as? String, "inStep", "\(devices)")
    }

    func testADatabaseOfAnEarlierFerryIsToLeaveAndJoinAgain() throws {
        let workshop = try begin()
        let dump = try String(contentsOf: golden.appendingPathComponent("store-v5.sql"), encoding: .utf8)
        let path = workshop.path("shared")
        try workshop.sql(
            "a.sqlite", dump + "UPDATE ferry_meta SET value = '\(path)' WHERE name = 'containerPath';")
        let before = try workshop.rows("a.sqlite")
        for command in ["sync", "status"] {
            try workshop.fail(command, "a.sqlite", status: 65, code: "storeTooOld", mentioning: "ferry leave")
        }
        XCTAssertEqual(try workshop.rows("a.sqlite"), before)
        try workshop.succeed("leave", "a.sqlite")
        try workshop.succeed("join", "a.sqlite", "shared", "--match", "keys")
        try workshop.succeed("verify", "a.sqlite", "--deep")
        XCTAssertTrue(try workshop.rows("a.sqlite").contains("'Not sent yet'"))
    }

    func testAContainerAndABackupGiveTheRowsThatTheyAlwaysGave() throws {
        let workshop = try begin()
        try workshop.succeed("join", "c.sqlite", "shared", "--name", "new")
        let rows = try String(contentsOf: golden.appendingPathComponent("rows.sql"), encoding: .utf8)
        XCTAssertEqual(try shared(workshop, "c.sqlite"), rows)
        try workshop.succeed("verify", "c.sqlite", "--deep")
        let archive = golden.appendingPathComponent("archive-v1.ferry").path
        try workshop.succeed("import", "plain.sqlite", archive)
        XCTAssertEqual(try shared(workshop, "plain.sqlite"), rows)
        let report = try workshop.succeed("import", "c.sqlite", archive)
        XCTAssertTrue(report.output.contains("Nothing in the file is new here."), report.output)
    }

    func testASealedBackupGivesTheRowsThatItAlwaysGave() throws {
        let workshop = try Workshop()
        let code = try String(contentsOf: golden.appendingPathComponent("archive-v2.recovery"), encoding: .utf8)
        let archive = golden.appendingPathComponent("archive-v2.ferry").path
        let empty = ["FERRY_KEYS": workshop.path("none")]
        let made = try workshop.run(
            [Workshop.binary, "import", "sealed.sqlite", archive, "--recovery", "-"], input: code, environment: empty)
        XCTAssertEqual(made.status, 0, made.errors)
        try workshop.succeed("import", "plain.sqlite", golden.appendingPathComponent("archive-v1.ferry").path)
        XCTAssertEqual(try shared(workshop, "sealed.sqlite"), try shared(workshop, "plain.sqlite"))
    }

    /// One table stays on the device that it is on.
    private func shared(_ workshop: Workshop, _ database: String) throws -> String {
        try workshop.rows(database).replacing("INSERT INTO \"table\" VALUES('note','stays');\n", with: "")
    }
}
