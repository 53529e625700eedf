import Foundation
import XCTest

final class RelocateCommandTests: XCTestCase {
    private func move(_ workshop: Workshop, _ from: String, _ to: String) throws {
        try FileManager.default.moveItem(atPath: workshop.path(from), toPath: workshop.path(to))
    }

    func testAMovedFolderIsTakenAndSaid() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try move(workshop, "shared", "elsewhere")
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        try workshop.fail("sync", "a.sqlite", status: 69, code: "containerMissing", mentioning: "`ferry relocate`")
        let said = try workshop.succeed("relocate", "a.sqlite", "elsewhere")
        XCTAssertTrue(said.output.contains("/elsewhere now."), said.output)
        XCTAssertEqual(said.errors, "")
        XCTAssertTrue(try workshop.succeed("relocate", "a.sqlite", "elsewhere").output.contains("already"))
        let report = try workshop.succeed("relocate", "b.sqlite", "elsewhere", "--json").json()
        XCTAssertEqual(
            Set(report.keys),
            ["path", "formerPath", "missingFiles", "behindDevices", "isFormerThere", "needsEnrolment"])
        XCTAssertEqual(report["missingFiles"] as? Int, 0)
        XCTAssertTrue((report["formerPath"] as? String)?.hasSuffix("/shared") ?? false)
        try workshop.succeed("sync", "a.sqlite")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "x\n")
    }

    func testWhatIsNotTheContainerIsRefused() throws {
        let workshop = try Workshop()
        try workshop.begin()
        try workshop.sql("other.sqlite", Workshop.music)
        try workshop.succeed("init", "other.sqlite", "another", "--open")
        try workshop.fail("relocate", "a.sqlite", "nowhere", status: 69, code: "containerMissing")
        try workshop.fail("relocate", "a.sqlite", "another", status: 69, code: "containerMismatch")
        try workshop.fail("relocate", "a.sqlite", ".", status: 64, code: "invalidArgument")
        try workshop.fail("relocate", "none.sqlite", "shared", status: 66, code: "databaseMissing")
    }

    func testAnOlderCopyIsTakenOnlyOnRequest() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        try FileManager.default.copyItem(atPath: workshop.path("shared"), toPath: workshop.path("older"))
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'x' WHERE id = 1")
        for name in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", name) }
        try workshop.fail("relocate", "a.sqlite", "older", status: 75, code: "olderState", mentioning: "--anyway")
        let taken = try workshop.succeed("relocate", "a.sqlite", "older", "--anyway")
        XCTAssertTrue(taken.errors.contains("1 file of this device's is not there."), taken.errors)
        XCTAssertTrue(taken.errors.contains("/shared holds the container still."), taken.errors)
        let other = try workshop.succeed("relocate", "b.sqlite", "older")
        XCTAssertTrue(other.errors.contains("it lacks changes of laptop"), other.errors)
        for name in ["a.sqlite", "b.sqlite"] { try workshop.succeed("sync", name) }
        XCTAssertEqual(try workshop.succeed("status", "a.sqlite", "--json").status, 0)
    }

    func testAWatchGoesOnInTheNewFolder() throws {
        let workshop = try Workshop()
        try workshop.beginTwo()
        let watch = try Watch(workshop, "a.sqlite")
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        try move(workshop, "shared", "elsewhere")
        XCTAssertNotNil(watch.event { $0["event"] as? String == "failed" })
        try workshop.succeed("relocate", "a.sqlite", "elsewhere")
        XCTAssertNotNil(watch.event { $0["event"] as? String == "synced" })
        try workshop.succeed("relocate", "b.sqlite", "elsewhere")
        try workshop.sql("b.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        try workshop.succeed("sync", "b.sqlite")
        XCTAssertNotNil(watch.event { ($0["replayed"] as? [String: Int])?["changes"] == 1 })
        watch.send(SIGTERM)
        XCTAssertEqual(watch.wait(), 0)
    }
}
