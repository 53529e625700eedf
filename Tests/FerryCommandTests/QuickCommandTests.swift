import ArgumentParser
import XCTest

@testable import FerryCommand

/// The quick way to parse a command line comes to the same as the parser's own way.
final class QuickCommandTests: XCTestCase {
    private func outcome(_ parse: ([String]) throws -> any ParsableCommand, _ words: [String]) -> String {
        do {
            return String(describing: type(of: try parse(words)))
        } catch {
            return RootCommand.fullMessage(for: error)
        }
    }

    func testEveryCommandLineIsReadAsByTheParser() {
        for words in [
            ["status", "a.sqlite"], ["status", "a.sqlite", "--json", "--check"], ["sync", "a.sqlite", "-q"],
            ["history", "a.sqlite", "song", "-3"], ["conflicts", "list", "a.sqlite", "--table", "song"],
            ["devices", "rename", "a.sqlite", "study"], ["version"], [], ["--help"], ["help", "sync"],
            ["sync", "--help"],
            ["sync"], ["sync", "a.sqlite", "--jsan"], ["log", "a.sqlite", "--limit", "0"], ["nothing"], ["conflicts"],
            ["sync", "a.sqlite", "--quiet", "--verbose"], ["--generate-completion-script"],
            ["--generate-completion-script", "bash"],
        ] {
            XCTAssertEqual(
                outcome(QuickCommand.parse, words), outcome({ try RootCommand.parseAsRoot($0) }, words), "\(words)")
        }
    }

    func testACommandIsParsedWithoutAnAttemptAsTheRoot() throws {
        XCTAssertNotNil(QuickCommand.configuration._superCommandName, "the parser looks for completions without it")
        XCTAssertTrue(try QuickCommand.parseAsRoot(["sync", "a.sqlite"]) is SyncCommand)
    }
}
