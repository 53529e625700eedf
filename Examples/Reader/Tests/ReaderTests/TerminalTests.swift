import Foundation
import XCTest

@testable import ReaderStore

/// The screen on a real (pseudo)terminal: however it ends, the terminal is what it was before.
final class TerminalTests: ReaderTestCase {
    func testTheTerminalIsRestoredHoweverTheScreenEnds() throws {
        let library = try firstDevice()
        try library.subscribe("https://example.org/feed")
        try library.importFeed(rss([1, 2, 3], title: "Shown"), as: "https://example.org/feed")
        for end in ["q", "\u{3}", "SIGINT", "SIGTERM", "SIGHUP"] {
            let result = try runScreen(library.path, waitingFor: "Article 3", end: end)
            XCTAssertEqual(result, Outcome(status: 0, restored: true, left: true), end)
        }
    }

    private struct Outcome: Decodable, Equatable {
        var status: Int
        var restored: Bool
        var left: Bool
    }

    private func runScreen(_ database: String, waitingFor word: String, end: String) throws -> Outcome {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("terminal.py")
        process.arguments = ["python3", "-B", script.path, try readerExecutable().path, database, word, end]
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let data = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus != 127 else { throw XCTSkip("python3 is not on this computer") }
        return try JSONDecoder().decode(Outcome.self, from: data)
    }
}
