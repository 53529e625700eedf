import Ferry
import FerryTestSupport
import Foundation
import GRDB
import XCTest

/// The Swift code that pages show is compiled (`PageCode.swift`), and the beginning of it does what the page says.
final class PageCodeTests: XCTestCase {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    /// The pieces of Swift on a page, without imports.
    private func shown(on path: String) throws -> [String] {
        try text(path).components(separatedBy: "```swift\n").dropFirst().map { part in
            let code = part.components(separatedBy: "```")[0]
            let lines = code.split(separator: "\n", omittingEmptySubsequences: false)
            let rest = lines.drop { $0.hasPrefix("import ") }
            return (rest.count < lines.count ? rest.drop { $0.isEmpty } : rest).joined(separator: "\n")
        }
    }

    /// The compiled pieces of a page, without the indentation of their markers.
    private func compiled(for page: String) throws -> [String] {
        let code = try text("Tests/FerryTutorialTests/PageCode.swift")
        var pieces: [String] = []
        var (lines, indentation): ([Substring], Int?) = ([], nil)
        for line in code.split(separator: "\n", omittingEmptySubsequences: false) {
            let bare = line.drop { $0 == " " }
            if bare == "// \(page)" {
                (lines, indentation) = ([], line.count - bare.count)
            } else if bare == "// end", indentation != nil {
                pieces.append(lines.map { $0 + "\n" }.joined())
                indentation = nil
            } else if let indentation {
                lines.append(line.dropFirst(min(indentation, line.count - bare.count)))
            }
        }
        return pieces
    }

    func testPagesShowTheCodeThatIsCompiled() throws {
        let guide = "Sources/Ferry/Ferry.docc/"
        for path in [guide + "GettingStarted.md", guide + "Ferry.md", "README.md", "Docs/Apple.md"] {
            // SwiftUI is there on Apple's systems alone.
            let shown = try shown(on: path).filter { !$0.contains("some View") && !$0.contains("some Scene") }
            let compiled = try compiled(for: String(try XCTUnwrap(path.split(separator: "/").last)))
            XCTAssertGreaterThan(shown.count, 0, path)
            XCTAssertEqual(shown, compiled, path)
        }
    }

    func testGettingStartedStarts() async throws {
        let folder = try ScratchFolder()
        setenv("FERRY_KEYS", folder.path("keys"), 1)
        defer { unsetenv("FERRY_KEYS") }
        var migrator = DatabaseMigrator()
        migrator.registerMigration("songs") {
            try $0.execute(sql: "CREATE TABLE song(id INTEGER PRIMARY KEY, title TEXT); CREATE TABLE unread(song_id)")
        }
        let store = try GettingStartedPage.openStore(folder.path("laptop.sqlite"), migrator)
        let laptop = try await GettingStartedPage.openFirst(store, folder.path("songs"))
        let engine = GettingStartedPage.watch(laptop)
        let end = try GettingStartedPage.invite(engine)
        XCTAssertGreaterThan(Double(end), Date().timeIntervalSince1970 * 1000)
        try GettingStartedPage.keep(engine)
        await engine.stop()
        try GettingStartedPage.syncNow(laptop)
        guard case (_, .opened) = try await GettingStartedPage.openAny(store, folder.path("songs")) else {
            return XCTFail("not opened")
        }
    }
}
