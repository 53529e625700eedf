import Ferry
import FerryTestSupport
import Foundation
import GRDB
import Synchronization
import XCTest

/// The tutorial's code is compiled here, and does what the tutorial says.
final class TutorialTests: XCTestCase {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
    }

    func testTheTutorialShowsTheCodeThatIsCompiled() throws {
        let tutorial = try text("Sources/Ferry/Ferry.docc/Tutorial.md")
        let code = try text("Tests/FerryTutorialTests/Shelf.swift")
        let steps = tutorial.components(separatedBy: "\n### ").dropFirst()
        XCTAssertEqual(steps.count, 10)
        for (number, step) in zip(1..., steps) {
            let parts = step.components(separatedBy: "```swift\n")
            XCTAssertEqual(parts.count, 2, "step \(number) shows one piece of code")
            let shown = try XCTUnwrap(parts.last?.components(separatedBy: "```").first)
            if number == 1 {
                // The package, which asks for the versions of GRDB that Ferry asks for.
                let line = try XCTUnwrap(shown.split(separator: "\n").first { $0.contains("GRDB.swift\", from") })
                let own = try text("Package.swift")
                XCTAssertTrue(own.contains(line.trimmingCharacters(in: .whitespaces)), "\(line)")
                continue
            }
            let rest = try XCTUnwrap(code.components(separatedBy: "// step \(number)\n").last)
            XCTAssertEqual(shown, rest.components(separatedBy: "// end\n").first, "step \(number)")
        }
    }

    func testTwoShelvesAreOne() async throws {
        let folder = try ScratchFolder()
        // Keys of tests are never among those of the account that runs them.
        setenv("FERRY_KEYS", folder.path("keys"), 1)
        defer { unsetenv("FERRY_KEYS") }
        let recovery = Mutex("")
        let laptop = try await Shelf(
            database: folder.path("laptop.sqlite"), folder: folder.path("books"), name: "laptop",
            .first { code in recovery.withLock { $0 = code.words } })
        XCTAssertEqual(recovery.withLock { $0 }.split(separator: " ").count, 9)
        try laptop.add("Emma", by: "Austen")
        try await laptop.engine.sync()
        let phone = try await Shelf(
            database: folder.path("phone.sqlite"), folder: folder.path("books"), name: "phone",
            invited(by: laptop.invite()))

        let books = try phone.books()
        var deliveries = books.deliveries.makeAsyncIterator()
        var shown: [String] = []
        func wait(for lines: [String]) async throws {
            while shown != lines, let delivery = try await deliveries.next() { shown = try await phone.show(delivery) }
            XCTAssertEqual(shown, lines)
        }
        try await wait(for: ["Austen", "  · Emma"])
        try laptop.add("Ulysses", by: "Joyce")
        try laptop.finish("Emma")
        try await wait(for: ["Austen", "  ✓ Emma", "Joyce", "  · Ulysses"])

        try phone.setShowsFinished(true)
        try laptop.addUpMinutes()
        try await phone.engine.sync()
        try await laptop.engine.sync()
        try await phone.engine.sync()
        XCTAssertTrue(try laptop.showsFinished)

        await laptop.engine.stop()
        await phone.engine.stop()
        try laptop.read("Emma", minutes: 20)
        try phone.read("Emma", minutes: 15)
        for (shelf, title) in [(laptop, "Ulysses, 1922"), (phone, "Ulysses (1922)")] {
            try await shelf.pool.write { database in
                _ = try Book.filter(Column("author") == "Joyce").updateAll(database, Column("title").set(to: title))
            }
        }
        for shelf in [laptop, phone, laptop] { try await shelf.engine.sync() }
        for shelf in [laptop, phone] {
            let minutes = try await shelf.pool.read {
                try Int.fetchOne($0, sql: "SELECT minutes FROM book WHERE title = 'Emma'")
            }
            XCTAssertEqual(minutes, 35)
        }
        let conflicts = try laptop.engine.store.conflicts()
        XCTAssertEqual(conflicts.map(\.column), ["title"])
        XCTAssertEqual(try laptop.conflicts().count, 1)
        try laptop.takeBack(conflicts[0].number)
        for shelf in [laptop, phone] { try await shelf.close() }
        let titles = try await phone.pool.read {
            try String.fetchAll($0, sql: "SELECT title FROM book WHERE author = 'Joyce'")
        }
        let lost = try XCTUnwrap(conflicts[0].lost.value)
        guard case .text(let bytes) = lost else { return XCTFail("\(lost)") }
        XCTAssertEqual(titles, [String(decoding: bytes, as: UTF8.self)])
    }
}
