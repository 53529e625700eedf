import FerryDocuments
import FerryTestSupport
import XCTest

final class LineMergeTests: XCTestCase {
    private func merge(_ base: String, _ ours: String, _ theirs: String) -> String? {
        let merged = LineMerge.merge(base: Array(base.utf8), ours: Array(ours.utf8), theirs: Array(theirs.utf8))
        let swapped = LineMerge.merge(base: Array(base.utf8), ours: Array(theirs.utf8), theirs: Array(ours.utf8))
        XCTAssertEqual(merged, swapped, "the sides are not alike")
        return merged.map { String(decoding: $0, as: UTF8.self) }
    }

    func testEditsInDifferentPlacesAreBothTaken() {
        XCTAssertEqual(merge("a\nb\nc\nd\n", "A\nb\nc\nd\n", "a\nb\nc\nD\n"), "A\nb\nc\nD\n")
        XCTAssertEqual(merge("a\nb\nc\n", "a\nb\nc\nd\n", "x\na\nb\nc\n"), "x\na\nb\nc\nd\n")
        XCTAssertEqual(merge("a\nb\nc\nd\ne\n", "a\nd\ne\n", "a\nb\nc\nd\ne\nf"), "a\nd\ne\nf")
    }

    func testWhatOneSideLeftIsAsTheOtherMadeIt() {
        XCTAssertEqual(merge("a\n", "a\n", ""), "")
        XCTAssertEqual(merge("", "a", ""), "a")
        XCTAssertEqual(merge("a\0", "a\0", "b\0"), "b\0")
        XCTAssertEqual(merge("a", "b", "b"), "b")
    }

    func testTheSameEditOnBothSidesIsOne() {
        XCTAssertEqual(merge("a\nb\nc\n", "a\nX\nc\n", "a\nX\nc\nd\n"), "a\nX\nc\nd\n")
    }

    func testOverlappingEditsAreRefused() {
        XCTAssertNil(merge("a\nb\nc\n", "a\nX\nc\n", "a\nY\nc\n"))
        XCTAssertNil(merge("a\nb\nc\n", "a\nc\n", "a\nB\nc\n"))
        XCTAssertNil(merge("a\n", "a\nx\n", "a\ny\n"), "two insertions at one place have no order")
    }

    func testEditsThatTouchAreRefused() {
        XCTAssertNil(merge("a\nb\nc\n", "A\nb\nc\n", "a\nB\nc\n"))
        XCTAssertNil(merge("a\nb\n", "a\n", "a\nb\nc\n"))
        XCTAssertNotNil(merge("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n"))
    }

    func testALastLineWithoutALineFeedIsAnotherLine() {
        XCTAssertNil(merge("a\nb", "a\nb\n", "a\nb\nc"))
        XCTAssertEqual(merge("a\r\nb\r\nc", "A\r\nb\r\nc", "a\r\nb\r\nC"), "A\r\nb\r\nC")
    }

    func testWhatIsNoTextIsRefused() {
        XCTAssertNil(merge("a\nb\nc\0", "A\nb\nc\0", "a\nb\nC\0"))
    }

    func testTooManyEditsAreRefused() {
        let base = (0..<3000).map { "\($0)\n" }.joined()
        let ours = (0..<3000).map { $0 < 1500 ? "x\($0)\n" : "\($0)\n" }.joined()
        XCTAssertNil(merge(base, ours, base + "end\n"))
        let fewer = (0..<3000).map { $0 < 900 ? "x\($0)\n" : "\($0)\n" }.joined()
        XCTAssertEqual(merge(base, fewer, base + "end\n"), fewer + "end\n")
    }

    func testALongTextIsMerged() {
        let base = (0..<5000).map { "line \($0)\n" }
        let ours = base.enumerated().map { $0.offset % 200 == 0 ? "ours \($0.offset)\n" : $0.element }
        let theirs = base.enumerated().map { $0.offset % 200 == 100 ? "theirs \($0.offset)\n" : $0.element }
        let merged = base.indices.map { $0 % 200 == 0 ? ours[$0] : theirs[$0] }
        XCTAssertEqual(merge(base.joined(), ours.joined(), theirs.joined()), merged.joined())
    }

    /// Edits are made at places that are known, so the merged text is known without any search for differences.
    func testRandomEditsApartAreMergedAsTheyWereMade() {
        for seed in Seeds(defaultCount: 300).all {
            var chance = Chance(seed: seed)
            let base = (0..<chance.below(40) + 3).map { "line \($0)\n" }
            var texts = [base, base, base]  // ours, theirs, merged
            var place = base.count
            var made = 0
            while place > 0 {
                // From the end, so that places before stay where they are.
                let count = min(chance.below(3), place)
                let new = (0..<chance.below(3)).map { "new \(seed) \(made) \($0)\n" }
                let range = place - count..<place
                let side = chance.below(2)
                for text in [side, 2] { texts[text].replaceSubrange(range, with: new) }
                made += 1
                place -= count + 1 + chance.below(4)
            }
            let joined = texts.map { $0.joined() }
            XCTAssertEqual(merge(base.joined(), joined[0], joined[1]), joined[2], "FERRY_SEED=\(seed)")
        }
    }

    /// Of texts with many equal lines nobody knows which line is which. All the same, no line is lost and none comes twice.
    func testNoLineIsLostAndNoneStandsTwice() {
        var merged = 0
        for seed in Seeds(defaultCount: 2000).all {
            var chance = Chance(seed: seed)
            let base = (0..<chance.below(12)).map { _ in chance.pick(["a\n", "b\n", "\n"]) }
            func edited(_ mark: String) -> [String] {
                var text = base
                for number in 0..<chance.below(3) {
                    if !text.isEmpty, chance.oneIn(2) { text.remove(at: chance.below(text.count)) }
                    if chance.oneIn(2) { text.insert("\(mark)\(number)\n", at: chance.below(text.count + 1)) }
                }
                return text
            }
            let (ours, theirs) = (edited("o"), edited("t"))
            guard let result = merge(base.joined(), ours.joined(), theirs.joined()) else { continue }
            merged += 1
            let lines = result.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map {
                String($0) + "\n"
            }
            func count(_ line: String, _ text: [String]) -> Int { text.filter { $0 == line }.count }
            for line in Set(base + ours + theirs + lines) {
                let (was, left, right) = (count(line, base), count(line, ours), count(line, theirs))
                // The same deletion on both sides counts once.
                let least = max(0, left + right - was)
                let most = max(left, right)
                XCTAssertTrue(
                    line.hasPrefix("o") || line.hasPrefix("t")
                        ? count(line, lines) == left + right : (least...max(least, most)).contains(count(line, lines)),
                    "FERRY_SEED=\(seed)")
            }
        }
        XCTAssertGreaterThan(merged, 0)
    }
}
