import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryLive

/// The difference between two lists, as a pure function.
final class LiveDifferenceTests: XCTestCase {
    /// A row of a list: its key, what it says, and its section.
    private struct Line: Equatable {
        var key: Int64
        var text: Int
        var section: String
    }

    private func index(_ lines: [Line]) -> LiveIndex {
        var builder = LiveIndexBuilder()
        for line in lines { builder.add(.integer(line.key), hash: line.text, section: line.section) }
        return builder.index()
    }

    func testWhatIsTheSameIsNoDifference() {
        let lines = (1...5).map { Line(key: $0, text: 1, section: "") }
        XCTAssertTrue(LiveDifference(from: index(lines), to: index(lines)).isEmpty)
        XCTAssertTrue(LiveDifference(from: index([]), to: index([])).isEmpty)
    }

    func testOneRowOfEachKind() {
        let old = ["a": [1, 2, 3], "b": [4, 5]].sorted { $0.key < $1.key }
            .flatMap { section, keys in keys.map { Line(key: $0, text: 0, section: section) } }
        var new = old
        new[0].text = 1
        new.remove(at: 1)
        new[1].section = "c"
        new.append(new.remove(at: 1))
        new.insert(Line(key: 9, text: 0, section: "a"), at: 0)
        let difference = LiveDifference(from: index(old), to: index(new))
        XCTAssertEqual(difference.insertedSections, ["c"])
        XCTAssertEqual(difference.deletedSections, [])
        XCTAssertEqual(difference.changes(.deleted).map(\.key), [.integer(2)])
        XCTAssertEqual(difference.changes(.inserted).map(\.to), [LivePosition(section: 0, item: 0)])
        XCTAssertEqual(difference.changes(.updated).map(\.key), [.integer(1)])
        XCTAssertEqual(difference.changes(.updated).map(\.to), [LivePosition(section: 0, item: 1)])
        XCTAssertEqual(difference.changes(.moved).map(\.key), [.integer(3)])
        XCTAssertEqual(difference.changes(.moved).map(\.from), [LivePosition(section: 0, item: 2)])
        XCTAssertEqual(difference.changes(.moved).map(\.to), [LivePosition(section: 2, item: 0)])
    }

    func testOneRowThatGoesToTheEndIsOneMove() {
        let old = (1...100).map { Line(key: $0, text: 0, section: "") }
        let new = Array(old.dropFirst()) + [old[0]]
        let difference = LiveDifference(from: index(old), to: index(new))
        XCTAssertEqual(difference.changes.map(\.key), [.integer(1)])
    }

    func testRowsOfOneSectionAreBroughtTogether() {
        let scattered = index([
            Line(key: 1, text: 0, section: "a"), Line(key: 2, text: 0, section: "b"),
            Line(key: 3, text: 0, section: "a"),
        ])
        XCTAssertEqual(scattered.keys, [.integer(1), .integer(3), .integer(2)])
        XCTAssertEqual(scattered.sections.map(\.name), ["a", "b"])
        XCTAssertEqual(scattered.sections.map(\.rows), [0..<2, 2..<3])
        XCTAssertEqual(scattered.position(2), LivePosition(section: 1, item: 0))
    }

    /// Whoever applies a difference to the former list has the new one.
    func testApplyingADifferenceGivesTheNewList() {
        for seed in Seeds(defaultCount: 500).all {
            var chance = Chance(seed: seed)
            let old = list(&chance, [])
            let new = list(&chance, old)
            let (before, after) = (index(old), index(new))
            let difference = LiveDifference(from: before, to: after)
            XCTAssertEqual(
                apply(difference, before, after), after.keys, "seed \(seed): \(before.keys) to \(after.keys)")
            let texts = Dictionary(uniqueKeysWithValues: new.map { (LiveKey.integer($0.key), $0.text) })
            let former = Dictionary(uniqueKeysWithValues: old.map { (LiveKey.integer($0.key), $0.text) })
            for change in difference.changes where change.kind == .moved || change.kind == .updated {
                XCTAssertEqual(change.isUpdated, texts[change.key] != former[change.key], "seed \(seed)")
            }
            let told = Set(difference.changes.map(\.key))
            for (key, text) in texts where former[key] != nil && former[key] != text {
                XCTAssertTrue(told.contains(key), "seed \(seed): \(key) was updated")
            }
            XCTAssertEqual(Set(difference.insertedSections), Set(new.map(\.section)).subtracting(old.map(\.section)))
        }
    }

    private func list(_ chance: inout Chance, _ former: [Line]) -> [Line] {
        var lines = former.filter { _ in !chance.oneIn(4) }
        for _ in 0..<chance.below(8) {
            let key = Int64(chance.below(30))
            if lines.contains(where: { $0.key == key }) { continue }
            lines.insert(
                Line(key: key, text: chance.below(3), section: chance.pick(["a", "b", "c"])),
                at: chance.below(lines.count + 1))
        }
        for place in lines.indices where chance.oneIn(3) { lines[place].text = chance.below(3) }
        for place in lines.indices where chance.oneIn(6) { lines[place].section = chance.pick(["a", "b", "c", "d"]) }
        for _ in 0..<chance.below(4) where lines.count > 1 {
            lines.swapAt(chance.below(lines.count), chance.below(lines.count))
        }
        if chance.oneIn(2) { lines.sort { $0.section < $1.section } }
        return lines
    }

    private func apply(_ difference: LiveDifference, _ before: LiveIndex, _ after: LiveIndex) -> [LiveKey] {
        func place(_ position: LivePosition, _ index: LiveIndex) -> Int {
            index.sections[position.section].rows.lowerBound + position.item
        }
        var keys = before.keys
        for from in difference.changes.filter({ $0.to == nil || $0.kind == .moved }).compactMap(\.from).sorted(by: >) {
            keys.remove(at: place(from, before))
        }
        for change in difference.changes where change.from == nil || change.kind == .moved {
            guard let to = change.to else { continue }
            keys.insert(change.key, at: place(to, after))
        }
        return keys
    }

    // MARK: Object IDs

    func testARowWithAnotherKeyWasMoved() {
        let (one, two) = (ObjectID(high: 1, low: 1), ObjectID(high: 1, low: 2))
        let old = index([Line(key: 1, text: 0, section: ""), Line(key: 2, text: 0, section: "")])
        let new = index([Line(key: 1, text: 5, section: ""), Line(key: 7, text: 0, section: "")])
        var difference = LiveDifference(from: old, to: new)
        difference.identify([.integer(1): one, .integer(2): two], [.integer(1): one, .integer(7): two])
        XCTAssertEqual(difference.changes.map(\.kind), [.updated, .moved])
        XCTAssertEqual(difference.changes.map(\.object), [one, two])
        XCTAssertEqual(difference.changes[1].from, LivePosition(section: 0, item: 1))
        XCTAssertEqual(difference.changes[1].to, LivePosition(section: 0, item: 1))
    }

    func testAKeyThatAnotherRowTookWasDeletedAndInserted() {
        let (one, two) = (ObjectID(high: 1, low: 1), ObjectID(high: 1, low: 2))
        let old = index([Line(key: 1, text: 0, section: "")])
        let new = index([Line(key: 1, text: 5, section: "")])
        var difference = LiveDifference(from: old, to: new)
        difference.identify([.integer(1): one], [.integer(1): two])
        XCTAssertEqual(difference.changes.map(\.kind), [.deleted, .inserted])
        XCTAssertEqual(difference.changes.map(\.object), [one, two])
    }
}
