import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// `ferry invite` and `ferry join` that wait for each other, and what ends them.
final class WaitingCommandTests: XCTestCase {
    /// A process whose output is read while it runs.
    private final class Waiting {
        let process: Process
        private let output = Pipe()
        private var shown = ""

        init(_ workshop: Workshop, _ computer: String, _ arguments: [String], code: String? = nil) throws {
            var environment = ["FERRY_KEYS": workshop.path("keys-\(computer)")]
            environment["FERRY_CODE"] = code
            process = workshop.process([Workshop.binary] + arguments, environment: environment)
            process.standardOutput = output
            process.standardError = output
            try process.run()
        }

        deinit { if process.isRunning { process.terminate() } }

        /// Reads until a text was shown.
        func read(until text: String) throws -> String {
            while !shown.contains(text) {
                let data = output.fileHandleForReading.availableData
                if data.isEmpty { throw Failure(shown: shown) }
                shown += String(decoding: data, as: UTF8.self)
            }
            return shown
        }

        /// Reads to the end.
        func finish() -> (status: Int32, shown: String) {
            shown += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitUntilExit()
            return (process.terminationStatus, shown)
        }

        struct Failure: Error { let shown: String }
    }

    private func begin() throws -> Workshop {
        let workshop = try Workshop()
        try workshop.sql("a.sqlite", Workshop.music)
        let made = try workshop.run(
            [Workshop.binary, "init", "a.sqlite", "shared", "--name", "laptop", "--no-recovery"],
            environment: ["FERRY_KEYS": workshop.path("keys-laptop")])
        XCTAssertEqual(made.status, 0, made.errors)
        return workshop
    }

    private func words(in shown: String) throws -> String {
        let line = try XCTUnwrap(shown.split(separator: "\n").first { $0.hasPrefix("    ") }, shown)
        return line.trimmingCharacters(in: .whitespaces)
    }

    func testBothWaitForEachOther() throws {
        let workshop = try begin()
        let invite = try Waiting(workshop, "laptop", ["invite", "a.sqlite"])
        let code = try words(in: invite.read(until: "Waiting for it."))
        let join = try Waiting(workshop, "phone", ["join", "b.sqlite", "shared", "--name", "phone"], code: code)
        let (invited, joined) = (invite.finish(), join.finish())
        XCTAssertEqual(invited.status, 0, invited.shown)
        XCTAssertTrue(invited.shown.contains("A device is in"), invited.shown)
        XCTAssertEqual(joined.status, 0, joined.shown)
        XCTAssertEqual(
            try workshop.sql("b.sqlite", "SELECT name FROM artist ORDER BY id"),
            try workshop.sql("a.sqlite", "SELECT name FROM artist ORDER BY id"))
    }

    func testAnInvitationEndsAlsoWhereAWatchAnswersIt() throws {
        let workshop = try begin()
        let watch = try Waiting(workshop, "laptop", ["watch", "a.sqlite"])
        _ = try watch.read(until: "\n")
        let invite = try Waiting(workshop, "laptop", ["invite", "a.sqlite"])
        let code = try words(in: invite.read(until: "Waiting for it."))
        let join = try Waiting(workshop, "phone", ["join", "b.sqlite", "shared", "--name", "phone"], code: code)
        let joined = join.finish()
        XCTAssertEqual(joined.status, 0, joined.shown)
        XCTAssertEqual(invite.finish().status, 0)
        kill(watch.process.processIdentifier, SIGINT)
        XCTAssertEqual(watch.finish().status, 0)
    }

    func testASignalEndsBothWell() throws {
        let workshop = try begin()
        for number in [SIGINT, SIGTERM] {
            let invite = try Waiting(workshop, "laptop", ["invite", "a.sqlite"])
            let code = try words(in: invite.read(until: "Waiting for it."))
            kill(invite.process.processIdentifier, number)
            let invited = invite.finish()
            XCTAssertEqual(invited.status, 0, invited.shown)
            XCTAssertTrue(invited.shown.contains("The code stays good"), invited.shown)
            let name = "b\(number).sqlite"
            let join = try Waiting(workshop, "phone", ["join", name, "shared"], code: code)
            _ = try join.read(until: "Waiting to be let in.")
            kill(join.process.processIdentifier, number)
            let joined = join.finish()
            XCTAssertEqual(joined.status, 75, joined.shown)
            XCTAssertFalse(FileManager.default.fileExists(atPath: workshop.path(name)))
            // What was begun goes on.
            let synced = try workshop.run(
                [Workshop.binary, "sync", "a.sqlite"], environment: ["FERRY_KEYS": workshop.path("keys-laptop")])
            XCTAssertEqual(synced.status, 0, synced.errors)
            let again = try Waiting(workshop, "phone", ["join", name, "shared"], code: code).finish()
            XCTAssertEqual(again.status, 0, again.shown)
        }
    }
}
