import FerryContainer
import FerryCore
import XCTest

@testable import FerryEngine

/// What is copied and removed, decided from two listings.
final class CarryPlanTests: XCTestCase {
    private func segment(_ first: UInt64, _ last: UInt64, _ hash: UInt64 = 1) throws -> SegmentName {
        try SegmentName(first: first, last: last, checksum: Checksum(high: hash, low: 0))
    }

    private func files(_ ranges: [(UInt64, UInt64)], snapshots: [UInt64] = [], chunks: [UInt64] = []) throws
        -> DeviceFiles
    {
        var files = DeviceFiles()
        files.segments = try ranges.map { try segment($0.0, $0.1) }.sorted()
        files.manifests = snapshots.map {
            SnapshotName(time: HybridTime(rawValue: $0 << 16), checksum: Checksum(high: $0, low: 0))
        }
        files.chunks = Set(chunks.map { ChunkName(checksum: Checksum(high: $0, low: 0)) })
        return files
    }

    private func head(_ checksum: UInt64, sequence: UInt64? = nil, written: Int64 = 0, logStart: UInt64 = 0)
        -> HeadFacts
    {
        var head = HeadFacts(checksum: Checksum(high: checksum, low: 0))
        if let sequence {
            head.position = LogPosition(sequence: sequence, time: .zero)
            head.writtenMilliseconds = written
            head.logStart = logStart
        }
        return head
    }

    private func plan(
        _ from: DeviceFiles, _ to: DeviceFiles, _ heads: (HeadFacts?, HeadFacts?) = (nil, nil), newer: CarrySide? = nil,
        home: CarrySide? = nil
    ) -> CarryPlan {
        CarryPlan(
            BothSides(from: from, to: to), heads: BothSides(from: heads.0, to: heads.1), newerHead: newer, home: home)
    }

    private func names(_ copies: [CarryPlan.Copy], _ side: CarrySide) -> [String] {
        copies.filter { $0.source == side }.map { copy in
            switch copy.file {
            case .segment(let name): "\(name.first)-\(name.last)"
            case .manifest(let name): "m\(name.hash)"
            case .chunk(let name): "c\(name.hash.high)"
            case .part(let name): "p\(name.hash.high)"
            default: "other"
            }
        }
    }

    func testPartsOfLargeValuesGoBeforeWhatRefersToThemAndStayAsLongAsThat() throws {
        var here = try files([(1, 1), (2, 5)])
        here.parts = [PartName(checksum: Checksum(high: 7, low: 0)), PartName(checksum: Checksum(high: 8, low: 0))]
        var there = try files([(1, 1)])
        let plan = plan(here, there)
        XCTAssertEqual(names(plan.copies, .from), ["p7", "p8", "2-5"])
        XCTAssertEqual(plan.superfluous, [])
        // What the author removed goes from the other place.
        there = here
        here.parts.remove(PartName(checksum: Checksum(high: 7, low: 0)))
        let later = self.plan(try files([(1, 1), (2, 5), (6, 6)]).with(here.parts), there)
        XCTAssertEqual(names(later.copies, .to), [])
        XCTAssertEqual(names(later.superfluous, .to), ["p7"])
        // A segment that comes from the other place brings what it may need.
        let crossed = self.plan(try files([(1, 1), (6, 6)]).with(here.parts), there)
        XCTAssertEqual(names(crossed.copies, .to), ["p7", "2-5"])
        XCTAssertEqual(crossed.superfluous.filter { $0.source == .to }, [])
    }

    func testEachPlaceGetsWhatItLacksInAscendingOrder() throws {
        let plan = plan(try files([(1, 1), (2, 5), (6, 6)]), try files([(1, 1)]))
        XCTAssertEqual(names(plan.copies, .from), ["2-5", "6-6"])
        XCTAssertEqual(names(plan.copies, .to), [])
        XCTAssertEqual(plan.author, .from)
        // A hole in the author's own place is filled again.
        let mended = self.plan(try files([(1, 1), (3, 3)]), try files([(1, 1), (2, 2)]))
        XCTAssertEqual(names(mended.copies, .to), ["2-2"])
        XCTAssertEqual(names(mended.copies, .from), ["3-3"])
        XCTAssertEqual(mended.superfluous, [])
    }

    func testWhatALargerSegmentCoversIsNotBroughtBack() throws {
        let rolled = plan(try files([(1, 4)]), try files([(1, 1), (2, 2), (3, 3), (4, 4)]), newer: .from)
        XCTAssertEqual(names(rolled.copies, .from), ["1-4"])
        XCTAssertEqual(names(rolled.copies, .to), [])
        // As long as the larger one is in one place alone, nothing is superfluous.
        XCTAssertEqual(rolled.superfluous, [])
        let later = plan(try files([(1, 4)]), try files([(1, 1), (1, 4), (2, 2), (3, 3), (4, 4)]), home: .from)
        XCTAssertEqual(later.copies, [])
        XCTAssertEqual(names(later.superfluous, .to), ["1-1", "2-2", "3-3", "4-4"])
        // The author's own place keeps its files: the author removes them.
        XCTAssertEqual(
            plan(try files([(1, 4)]), try files([(1, 1), (1, 4), (2, 4)]), home: .to).superfluous, [])
    }

    func testTwoBranchesOfALogGoBothWays() throws {
        var (left, right) = (try files([(1, 1)]), try files([(1, 1)]))
        left.segments.append(try segment(2, 2, 5))
        right.segments.append(try segment(2, 2, 6))
        let plan = plan(left, right)
        XCTAssertEqual(names(plan.copies, .from), ["2-2"])
        XCTAssertEqual(names(plan.copies, .to), ["2-2"])
    }

    func testWhatEndsBeforeTheLogsStartStaysAway() throws {
        let heads = (head(1, sequence: 9, logStart: 8), head(1, sequence: 9, logStart: 8))
        let plan = plan(try files([(8, 9)]), try files([(1, 7), (8, 9)]), heads, home: .from)
        XCTAssertEqual(plan.copies, [])
        XCTAssertEqual(names(plan.superfluous, .to), ["1-7"])
        // A new place gets nothing of it either.
        XCTAssertEqual(
            names(self.plan(try files([(1, 7), (8, 9)]), DeviceFiles(), (heads.0, nil)).copies, .from), ["8-9"])
    }

    func testASealedLogBeginsWhereItsAuthorCutIt() throws {
        let (cut, whole) = (try files([(8, 9)], snapshots: [3]), try files([(1, 7), (8, 9)], snapshots: [3]))
        let heads = (head(1), head(2))
        let told = plan(cut, whole, heads, newer: .from)
        XCTAssertEqual(told.copies, [])
        XCTAssertEqual(names(told.superfluous, .to), ["1-7"])
        // Nobody knows whose place it is: nothing is brought back, and nothing removed.
        let untold = plan(cut, whole, (head(1), head(1)))
        XCTAssertEqual(untold.copies, [])
        XCTAssertEqual(untold.superfluous, [])
        // The author writes to the other place, so files were lost here.
        XCTAssertEqual(names(plan(cut, whole, heads, newer: .to).copies, .to), ["1-7"])
        // Without a snapshot nobody cuts a log.
        XCTAssertEqual(names(plan(try files([(8, 9)]), whole, heads, newer: .from).copies, .to).first, "1-7")
    }

    func testSnapshotsAreThoseOfThePlaceWithTheNewest() throws {
        let plan = plan(
            try files([], snapshots: [2, 5], chunks: [50, 51]), try files([], snapshots: [1, 2], chunks: [10, 51]))
        XCTAssertEqual(names(plan.copies, .from), ["c50", "m5"])
        XCTAssertEqual(names(plan.copies, .to), [])
        XCTAssertEqual(names(plan.superfluous, .to), ["m1", "c10"])
        // With the same newest one: what the author's place lacks was removed there; chunks of a snapshot to come stay.
        let same = self.plan(
            try files([], snapshots: [5], chunks: [50, 60]), try files([], snapshots: [2, 5], chunks: [20, 50]),
            home: .from)
        XCTAssertEqual(same.copies, [])
        XCTAssertEqual(names(same.superfluous, .to), ["m2", "c20"])
        XCTAssertEqual(names(same.superfluous, .from), [])
    }

    func testTheNewerOfTwoContents() {
        let (a, b, c) = (Checksum(high: 1, low: 0), Checksum(high: 2, low: 0), Checksum(high: 3, low: 0))
        func newer(_ from: Checksum?, _ to: Checksum?, _ base: Checksum?, _ isRemovable: Bool = false) -> CarrySide? {
            CarryPlan.newer(BothSides(from: from, to: to), base: base, isRemovable: isRemovable)
        }
        XCTAssertNil(newer(a, a, b))
        XCTAssertNil(newer(a, b, nil))
        XCTAssertNil(newer(a, b, c))
        XCTAssertEqual(newer(a, b, a), .to)
        XCTAssertEqual(newer(a, b, b), .from)
        XCTAssertEqual(newer(nil, b, b), .to)
        XCTAssertEqual(newer(nil, b, b, true), .from)
        XCTAssertEqual(newer(a, nil, a, true), .to)
        XCTAssertEqual(newer(a, nil, b, true), .from)
    }

    func testTheNewerHead() {
        func newer(_ from: HeadFacts?, _ to: HeadFacts?, _ base: UInt64? = nil, _ logs: (UInt64, UInt64) = (1, 1))
            -> CarrySide?
        {
            CarryPlan.newerHead(
                BothSides(from: from, to: to), base: base.map { Checksum(high: $0, low: 0) },
                logs: BothSides(from: logs.0, to: logs.1))
        }
        XCTAssertNil(newer(nil, nil))
        XCTAssertEqual(newer(nil, head(1)), .to)
        XCTAssertEqual(newer(head(1), nil), .from)
        XCTAssertNil(newer(head(1), head(1)))
        // A further position counts more than what changed last: a provider may have brought back an older one.
        XCTAssertEqual(newer(head(1, sequence: 5), head(2, sequence: 4), 1), .from)
        XCTAssertEqual(newer(head(1, sequence: 4, written: 9), head(2, sequence: 4, written: 3), 1), .to)
        XCTAssertEqual(newer(head(1, sequence: 4, written: 9), head(2, sequence: 4, written: 3)), .from)
        XCTAssertEqual(newer(head(1, sequence: 4, written: 1), head(2, sequence: 4, written: 3)), .to)
        // Sealed ones: the further log, then what changed, then the place that is carried from.
        XCTAssertEqual(newer(head(1), head(2), 1, (7, 6)), .from)
        XCTAssertEqual(newer(head(1), head(2), 1), .to)
        XCTAssertEqual(newer(head(1), head(2)), .from)
    }
}

extension DeviceFiles {
    fileprivate func with(_ parts: Set<PartName>) -> DeviceFiles {
        var files = self
        files.parts = parts
        return files
    }
}
