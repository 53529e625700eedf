import Foundation
import XCTest

@testable import ContactBook

/// Each technique has the same result as what it replaces. How fast they are is measured by `contacts measure`, not here.
final class TechniqueTests: XCTestCase {
    func testEachTechniqueHasTheResultOfWhatItReplaces() throws {
        let folder = try Folder()
        let shared = try Bench.make(
            at: folder.path("contacts.sqlite"), container: folder.path("container"), count: 3_000, pictureBytes: 64)
        for (number, technique) in Technique.all.enumerated() {
            var results: [AnyHashable] = []
            for (way, work) in [technique.naive, technique.wellDone].enumerated() {
                let bench = try technique.scratch.map {
                    try Bench.make(
                        at: folder.path("\(number)-\(way).sqlite"), container: folder.path("\(number)-\(way)"),
                        count: $0, pictureBytes: 64)
                }
                results.append(try work(bench ?? shared))
            }
            XCTAssertEqual(results[0], results[1], technique.name)
            XCTAssertFalse(isEmpty(results[0]), "\(technique.name) finds nothing")
        }
    }

    private func isEmpty(_ result: AnyHashable) -> Bool {
        if let result = result.base as? any Collection { return result.isEmpty }
        return result == AnyHashable(0) || result == AnyHashable(false)
    }

    func testEachWayShowsTheSameFirstScreen() async throws {
        let folder = try Folder()
        let path = folder.path("contacts.sqlite")
        _ = try Bench.make(at: path, container: folder.path("container"), count: 1_000, pictureBytes: 64)
        try await FirstScreen.prepareCache(path)
        let naive = try await FirstScreen.naive.show(path)
        XCTAssertEqual(naive.lines.count, 50)
        XCTAssertEqual(naive.sections.values.reduce(0, +), 1_000)
        for way in FirstScreen.allCases {
            let shown = try await way.show(path)
            XCTAssertEqual(shown, naive, "\(way)")
        }
    }

    func testContactsAreTheSameEveryTime() {
        let (one, two) = (ContactDraft.make(20, seed: 5), ContactDraft.make(20, seed: 5))
        XCTAssertEqual(one.map(\.contact), two.map(\.contact))
        XCTAssertEqual(one.map(\.picture), two.map(\.picture))
        XCTAssertTrue(one.allSatisfy { (4_096...12_288).contains($0.picture.count) })
        XCTAssertNotEqual(one.map(\.contact), ContactDraft.make(20, seed: 6).map(\.contact))
    }

    func testSearchesUseTheirIndexes() throws {
        let folder = try Folder()
        let pool = try openContacts(at: folder.path("contacts.sqlite"))
        let plans = [
            "SELECT * FROM email WHERE address = 'a'": "SEARCH email USING INDEX email_address (address=?)",
            "SELECT id, firstName, lastName, upper(substr(sortName, 1, 1)) FROM contact ORDER BY sortName, id":
                "SCAN contact USING COVERING INDEX contact_list",
        ]
        for (sql, expected) in plans {
            XCTAssertEqual(try pool.read { try plan(sql, $0) }, [expected])
        }
    }

    func testTheLogHasEachStatement() throws {
        let folder = try Folder()
        let log = Log()
        let pool = try openContacts(at: folder.path("contacts.sqlite"), configuration: logging { log.add($0, $1) })
        let count = try pool.read { try countBorn(after: 1950, $0) }
        XCTAssertEqual(count, 0)
        let sql = "SELECT COUNT(*) FROM \"contact\" WHERE \"birthYear\" > ?"
        XCTAssertTrue(log.lines.contains { $0.sql == sql && $0.seconds >= 0 }, "\(log.lines)")
    }
}
