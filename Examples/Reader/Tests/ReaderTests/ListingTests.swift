import XCTest

@testable import Reader

final class ListingTests: XCTestCase {
    /// Lines and rows lead to each other, whatever the sections.
    func testLinesAndRowsLeadToEachOther() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededNumbers(seed: seed)
        for _ in 0..<200 {
            var listing = ArticleListing()
            var expected: [ArticleListing.Line] = []
            for section in 0..<Int(random.next() % 6) {
                let size = 1 + Int(random.next() % 5)
                listing.sections.append(.init(name: "s\(section)", rows: listing.count..<listing.count + size))
                expected.append(.heading("s\(section)"))
                expected += (listing.count..<listing.count + size).map { .row($0) }
                listing.count += size
            }
            XCTAssertEqual(listing.lineCount, expected.count, "seed \(seed)")
            XCTAssertEqual((0..<listing.lineCount).map { listing.line($0) }, expected, "seed \(seed)")
            XCTAssertNil(listing.line(-1))
            XCTAssertNil(listing.line(listing.lineCount))
            for row in 0..<listing.count {
                XCTAssertEqual(listing.line(listing.line(ofRow: row)), .row(row), "seed \(seed)")
            }
        }
    }

    func testOneSectionWithoutANameHasNoHeading() {
        var listing = ArticleListing()
        listing.count = 3
        listing.sections = [.init(name: "", rows: 0..<3)]
        XCTAssertEqual((0..<3).map { listing.line($0) }, [.row(0), .row(1), .row(2)])
        XCTAssertEqual(listing.rows(onLines: 1..<10), 1..<3)
        XCTAssertEqual(listing.rows(onLines: 5..<10), 0..<0)
    }
}
