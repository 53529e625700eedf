import XCTest

/// The Python package in `python/`: its own tests, with the built command.
final class PythonPackageTests: XCTestCase {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("python").path

    func testItsTestsPass() throws {
        let workshop = try Workshop()
        let version = try workshop.run(["python3", "-c", "import sys; print(sys.version_info >= (3, 10))"])
        guard version.output == "True\n" else { throw XCTSkip("Python 3.10 or later is not there.") }
        let places = ["--start-directory", Self.folder + "/tests", "--top-level-directory", Self.folder]
        let outcome = try workshop.run(
            ["python3", "-B", "-m", "unittest", "discover"] + places, environment: ["FERRY_COMMAND": Workshop.binary])
        XCTAssertEqual(outcome.status, 0, outcome.errors)
        XCTAssertTrue(outcome.errors.contains("Ran "), outcome.errors)
        XCTAssertFalse(outcome.errors.contains("skipped"), outcome.errors)
    }
}
