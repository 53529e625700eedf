import Foundation
import XCTest

/// The commands that pages show are run as they are written, the README's walk first of all (`Tests/Pages/commands.py`).
final class PageCommandTests: XCTestCase {
    func testPagesShowCommandsThatRun() throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Pages/commands.py").path
        let outcome = try Workshop().run(["python3", "-B", script, Workshop.binary])
        // Which commands were left out, and why.
        print(outcome.output)
        XCTAssertEqual(outcome.status, 0, outcome.output + outcome.errors)
    }
}
