import Foundation
import XCTest

/// Files of `ferry export` from a sealed container, by the command.
final class SealedExportCommandTests: XCTestCase {
    private func run(
        _ workshop: Workshop, _ computer: String, _ arguments: [String], input: String = "", status: Int32 = 0,
        file: StaticString = #filePath, line: UInt = #line
    ) throws -> Outcome {
        let outcome = try workshop.run(
            [Workshop.binary] + arguments, input: input, environment: ["FERRY_KEYS": workshop.path("keys-\(computer)")])
        XCTAssertEqual(outcome.status, status, outcome.output + outcome.errors, file: file, line: line)
        return outcome
    }

    private func begin() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        _ = try run(
            workshop, "laptop",
            ["init", "a.sqlite", "shared", "--name", "laptop", "--recovery-to", workshop.path("recovery")])
        return workshop
    }

    private func artists(_ workshop: Workshop, _ database: String) throws -> String {
        try workshop.sql(database, "SELECT name FROM artist ORDER BY id")
    }

    func testASealedFileIsOpenedByMembersAndByTheRecoveryCode() throws {
        let workshop = try begin()
        let report = try run(workshop, "laptop", ["export", "a.sqlite", "stick.ferry", "--json"]).json()
        XCTAssertEqual(report["sealed"] as? Bool, true)
        _ = try run(workshop, "laptop", ["import", "own.sqlite", "stick.ferry"])
        XCTAssertEqual(try artists(workshop, "own.sqlite"), try artists(workshop, "a.sqlite"))
        let refused = try run(workshop, "phone", ["import", "none.sqlite", "stick.ferry"], status: 77)
        XCTAssertTrue(refused.errors.contains("--recovery -"), refused.errors)
        let code = try String(contentsOfFile: workshop.path("recovery"), encoding: .utf8)
        _ = try run(workshop, "phone", ["import", "new.sqlite", "stick.ferry", "--recovery", "-"], input: code)
        XCTAssertEqual(try artists(workshop, "new.sqlite"), try artists(workshop, "a.sqlite"))
        _ = try run(workshop, "phone", ["import", "x.sqlite", "stick.ferry", "--code", "-"], status: 64)
    }

    /// An open file has the short documents, and names the others.
    func testAnOpenFileOfASealedContainerWritesItsShortDocuments() throws {
        let workshop = try begin()
        try Data("short".utf8).write(to: URL(fileURLWithPath: workshop.path("short")))
        try Data(repeating: 7, count: 30_000).write(to: URL(fileURLWithPath: workshop.path("long")))
        _ = try run(workshop, "laptop", ["documents", "add", "a.sqlite", "short", "long"])
        _ = try run(workshop, "laptop", ["export", "a.sqlite", "open.ferry", "--open"])
        for computer in ["laptop", "phone"] {
            let made = try run(
                workshop, computer, ["import", "\(computer).sqlite", "open.ferry", "--documents", "out-\(computer)"])
            XCTAssertTrue(made.errors.contains("long: the file has no bytes of this document"), made.errors)
            XCTAssertEqual(
                try FileManager.default.contentsOfDirectory(atPath: workshop.path("out-\(computer)")), ["short"])
            XCTAssertEqual(
                try String(contentsOfFile: workshop.path("out-\(computer)/short"), encoding: .utf8), "short")
            XCTAssertEqual(try artists(workshop, "\(computer).sqlite"), try artists(workshop, "a.sqlite"))
        }
    }

    func testASealedFileJoinsWithACode() throws {
        let workshop = try begin()
        _ = try run(workshop, "laptop", ["export", "a.sqlite", "stick.ferry"])
        let invited = try run(workshop, "laptop", ["invite", "a.sqlite", "--json"]).json()
        let words = try XCTUnwrap((invited["code"] as? [String: String])?["words"])
        let arguments = [
            "import", "b.sqlite", "stick.ferry", "--container", "shared", "--name", "phone", "--code", "-", "--no-wait",
        ]
        _ = try run(workshop, "phone", arguments, input: words, status: 75)
        XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path("b.sqlite")))
        _ = try run(workshop, "laptop", ["sync", "a.sqlite"])
        _ = try run(workshop, "phone", arguments, input: words)
        XCTAssertEqual(try artists(workshop, "b.sqlite"), try artists(workshop, "a.sqlite"))
        XCTAssertTrue(try run(workshop, "phone", ["status", "b.sqlite"]).output.contains("2 members"))
    }

    func testAnOpenFileIsNothingToASealedContainer() throws {
        let workshop = try begin()
        let report = try run(workshop, "laptop", ["export", "a.sqlite", "open.ferry", "--open", "--json"]).json()
        XCTAssertNil(report["sealed"])
        let refused = try run(workshop, "laptop", ["import", "a.sqlite", "open.ferry"], status: 65)
        XCTAssertTrue(refused.errors.contains("without --open"), refused.errors)
        _ = try run(workshop, "phone", ["import", "plain.sqlite", "open.ferry"])
        XCTAssertEqual(try artists(workshop, "plain.sqlite"), try artists(workshop, "a.sqlite"))
    }
}
