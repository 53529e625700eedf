import FerryTestSupport
import Foundation
import XCTest

/// `ferry carry`, between folders and an object storage that verifies every request.
final class CarryCommandTests: XCTestCase {
    func testAContainerMovesIntoABucket() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.beginTwo()
        let plan = try workshop.ferry(over: storage, "carry", "shared", storage.place(), "--dry-run")
        XCTAssertTrue(plan.output.hasPrefix("Would copy "), plan.output)
        XCTAssertEqual(try storage.keys(), [])
        let report = try workshop.ferry(over: storage, "carry", "shared", storage.place(), "--json").json()
        XCTAssertEqual(
            Set(report.keys),
            [
                "from", "to", "there", "back", "removed", "leftBehind", "deviceCount", "isNew", "dryRun",
                "durationMilliseconds",
            ])
        XCTAssertEqual(report["deviceCount"] as? Int, 2)
        XCTAssertEqual(report["isNew"] as? Bool, true)
        for name in ["a.sqlite", "b.sqlite"] {
            try workshop.ferry(over: storage, "relocate", name, storage.place())
        }
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        for name in ["a.sqlite", "b.sqlite"] { try workshop.ferry(over: storage, "sync", name) }
        XCTAssertEqual(try workshop.sql("b.sqlite", "SELECT name FROM artist WHERE id = 1"), "heard\n")
        let again = try workshop.ferry(over: storage, "carry", storage.place(), "shared")
        XCTAssertTrue(again.output.contains("to shared") || again.output.contains("/shared."), again.output)
        let still = try workshop.ferry(over: storage, "carry", storage.place(), "shared")
        XCTAssertTrue(still.output.contains("nothing to copy"), still.output)
    }

    func testAWatchKeepsAFolderAndABucketAlike() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.beginTwo()
        let carrier = try Watch(
            workshop, arguments: ["carry", "shared", storage.place(), "--watch", "--json"],
            environment: storage.environment)
        XCTAssertNotNil(carrier.event { $0["event"] as? String == "carried" })
        try workshop.ferry(over: storage, "relocate", "b.sqlite", storage.place())
        let other = try Watch(workshop, "b.sqlite", environment: storage.environment)
        try workshop.sql("a.sqlite", "UPDATE artist SET name = 'heard' WHERE id = 1")
        try workshop.succeed("sync", "a.sqlite")
        XCTAssertNotNil(other.event { ($0["replayed"] as? [String: Int])?["changes"] == 1 })
        for watch in [carrier, other] {
            watch.send(SIGTERM)
            XCTAssertEqual(watch.wait(), 0)
        }
    }

    func testWrongArgumentsAndPlacesAreRefused() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.beginTwo()
        for arguments in [
            ["carry", "shared"], ["carry", "shared", "shared"], ["carry", "shared", "other", "--region", "eu-1"],
            ["carry", "s3://one-bucket/x", "s3://two-bucket/x", "--region", "eu-1"],
            ["carry", "shared", "other", "--watch", "--dry-run"],
            ["carry", "shared", "s3://KEY:ferry-secret@bucket/x"],
        ] {
            let outcome = try workshop.run([Workshop.binary] + arguments, environment: storage.environment)
            XCTAssertEqual(outcome.status, 64, "\(arguments) \(outcome.output) \(outcome.errors)")
            XCTAssertFalse((outcome.output + outcome.errors).contains("ferry-secret"), outcome.errors)
        }
        try workshop.fail("carry", "none", "other", status: 69, code: "containerMissing")
        try workshop.sql("c.sqlite", Workshop.music)
        try workshop.succeed("init", "c.sqlite", "another", "--open")
        try workshop.fail("carry", "shared", "another", status: 69, code: "containerMismatch")
    }

    func testAFileThatStaysBehindIsNamed() throws {
        let (workshop, storage) = (try Workshop(), try StrictStorage())
        try workshop.beginTwo()
        let devices = workshop.path("shared/devices")
        let segment = try XCTUnwrap(
            FileManager.default.enumerator(atPath: devices)?.compactMap { $0 as? String }.filter {
                $0.hasSuffix(".segment")
            }
            .max())
        var bytes = try Data(contentsOf: URL(fileURLWithPath: devices + "/" + segment))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: devices + "/" + segment))
        let outcome = try workshop.ferry(over: storage, "carry", "shared", storage.place(), status: 65)
        XCTAssertTrue(outcome.errors.contains("Left behind: "), outcome.errors)
        XCTAssertTrue(outcome.errors.contains(segment), outcome.errors)
        XCTAssertTrue(try storage.keys().contains("music/container.json"))
    }
}
