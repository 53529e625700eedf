import FerryCore
import XCTest

@testable import FerryEngine

/// What the own log in the container says of a database, as a pure comparison.
final class OwnLogTests: XCTestCase {
    private func mark(_ time: Int64, _ content: UInt64 = 0) -> OwnLog.Mark {
        OwnLog.Mark(time: HybridTime(milliseconds: time), content: Checksum(high: content, low: 0))
    }

    private func segment(_ number: UInt64, _ time: Int64, waits content: UInt64? = nil) -> OwnLog.Remembered {
        OwnLog.Remembered(
            first: number, last: number, time: HybridTime(milliseconds: time), checksum: nil,
            marks: content.map { [number: mark(time, $0)] } ?? [:])
    }

    func testWhatIsThereAsItIsRememberedIsOnesOwn() {
        let log = OwnLog(
            found: [1: [mark(10)], 2: [mark(20)]], remembered: [segment(1, 10), segment(2, 20)], packed: 2, published: 2
        )
        XCTAssertFalse(log.isForeign)
        XCTAssertEqual(log.common.sequence, 2)
    }

    func testWhatIsMissingSaysNothing() {
        let log = OwnLog(remembered: [segment(2, 20)], packed: 3, published: 2)
        XCTAssertFalse(log.isForeign)
        XCTAssertEqual(log.common.sequence, 2)
        XCTAssertEqual(log.common.time, HybridTime(milliseconds: 20))
    }

    func testALogThatGoesOnIsSomebodyElsesAndEndsHereWhereItWasRemembered() {
        let log = OwnLog(found: [3: [mark(30)]], remembered: [segment(2, 20)], packed: 2, published: 2)
        XCTAssertTrue(log.isForeign)
        XCTAssertEqual(log.common.sequence, 2)
        XCTAssertFalse(log.common.isForked)
    }

    func testWhatWaitsAndIsThereIsPublished() {
        let log = OwnLog(
            found: [3: [mark(30, 7)], 4: [mark(40)]], remembered: [segment(2, 20), segment(3, 30, waits: 7)], packed: 3,
            published: 2)
        XCTAssertTrue(log.isForeign)
        XCTAssertEqual(log.common.sequence, 3)
        XCTAssertFalse(log.common.isForked)
    }

    func testAnotherContentUnderANumberIsAForkEvenAtTheSameTime() {
        let waiting = OwnLog(
            found: [3: [mark(30, 8)]], remembered: [segment(2, 20), segment(3, 30, waits: 7)], packed: 3, published: 2)
        XCTAssertTrue(waiting.isForeign)
        XCTAssertEqual(waiting.common.sequence, 2)
        XCTAssertTrue(waiting.common.isForked)
        let published = OwnLog(found: [2: [mark(20, 7), mark(20, 8)]], remembered: [], packed: 3, published: 3)
        XCTAssertEqual(published.common.sequence, 1)
        let replaced = OwnLog(
            found: [2: [mark(20)]], replaced: [2], remembered: [segment(2, 20)], packed: 2, published: 2)
        XCTAssertEqual(replaced.common.sequence, 1)
        XCTAssertTrue(replaced.common.isForked)
    }

    func testALogThatGoesOnBehindAGapIsNotKnownToBeThisOne() {
        // Somebody went on from a snapshot, which may not hold what this database published as 2.
        let log = OwnLog(
            found: [2: [mark(20)], 5: [mark(50)]], remembered: [segment(1, 10), segment(2, 20)], packed: 2, published: 2
        )
        XCTAssertTrue(log.isForeign)
        XCTAssertEqual(log.common.sequence, 1)
        XCTAssertTrue(log.common.isForked)
    }

    func testALogWhoseOldSegmentsWereRemovedIsThisOne() {
        let log = OwnLog(
            found: [5: [mark(50)]], remembered: [segment(1, 10), segment(2, 20)], packed: 2, published: 2)
        XCTAssertTrue(log.isForeign)
        XCTAssertEqual(log.common.sequence, 2)
        XCTAssertFalse(log.common.isForked)
    }

    func testTheNextSegmentNamesTheOneBeforeIt() {
        func log(naming previous: UInt64) -> OwnLog {
            var own = segment(2, 20)
            own.checksum = Checksum(high: 2, low: 0)
            return OwnLog(
                found: [2: [mark(20)], 3: [mark(30)]], predecessors: [3: [Checksum(high: previous, low: 0)]],
                remembered: [own], packed: 2, published: 2)
        }
        XCTAssertFalse(log(naming: 2).common.isForked)
        XCTAssertEqual(log(naming: 2).common.sequence, 2)
        XCTAssertTrue(log(naming: 7).common.isForked)
        XCTAssertEqual(log(naming: 7).common.sequence, 1)
    }

    func testItEndsWithWhatWasPublishedAsTheNextSegmentWouldNameIt() {
        let (own, remembered) = (Checksum(high: 1, low: 2), Checksum(high: 3, low: 4))
        var log = OwnLog(ends: [3: own, 4: remembered], packed: 4, published: 3, checksum: remembered)
        XCTAssertEqual(log.end, LogEnd(sequence: 3, checksum: own), "as its file in the container says")
        log.ends = [:]
        XCTAssertEqual(log.end, LogEnd(sequence: 3, checksum: remembered))
        log.checksum = nil
        XCTAssertNil(log.end, "segments wait, and the file is not there")
    }

    func testWhereNothingTellsTheTimeItIsNotKnown() {
        XCTAssertNil(OwnLog(remembered: [segment(3, 30)], packed: 3, published: 2).common.time)
    }

    func testABranchIsWholeWhereAllFilesBehindTheForkAreThere() {
        func log(_ own: [ClosedRange<UInt64>], published: UInt64 = 4) -> OwnLog {
            OwnLog(
                found: [3: [mark(31)]], own: own,
                remembered: [segment(1, 10), segment(2, 20), segment(3, 30), segment(4, 40)], packed: 4,
                published: published)
        }
        XCTAssertEqual(log([]).common.sequence, 2)
        XCTAssertTrue(log([3...3, 4...4]).isWhole)
        XCTAssertTrue(log([4...4, 3...3, 1...2]).isWhole, "in any order")
        XCTAssertTrue(log([1...4]).isWhole, "as one that was rolled up")
        XCTAssertTrue(log([], published: 2).isWhole, "nothing was published behind it")
        // What they said may be forgotten.
        XCTAssertFalse(log([]).isWhole)
        XCTAssertFalse(log([4...4]).isWhole)
        XCTAssertFalse(log([3...3]).isWhole)
        XCTAssertFalse(log([1...2]).isWhole)
        let alone = OwnLog(remembered: [segment(2, 20)], packed: 2, published: 2)
        XCTAssertTrue(alone.isWhole, "nobody else published")
    }

    func testWhereBranchesPartIsCertainWhereTheOtherOneGoesOnFromWhatIsOnesOwn() {
        let end = Checksum(high: 0, low: 2)
        func log(_ foreign: OwnLog.Foreign?) -> OwnLog {
            var second = segment(2, 20)
            second.checksum = end
            return OwnLog(
                found: [3: [mark(31)]], foreign: [foreign].compactMap { $0 },
                remembered: [segment(1, 10), second, segment(3, 30)], packed: 3, published: 3)
        }
        XCTAssertEqual(log(nil).common.sequence, 2)
        XCTAssertTrue(log(.init(first: 3, last: 3, previous: end)).isForkCertain)
        XCTAssertTrue(log(.init(first: 3, last: 5, previous: end)).isForkCertain)
        // Before that they may differ, too.
        XCTAssertFalse(log(.init(first: 3, last: 3, previous: Checksum(high: 0, low: 3))).isForkCertain)
        XCTAssertFalse(log(.init(first: 3, last: 3, previous: nil)).isForkCertain)
        XCTAssertFalse(log(nil).isForkCertain)
        // One that was rolled up holds what is before.
        var rolledUp = log(.init(first: 1, last: 3, previous: nil))
        XCTAssertFalse(rolledUp.isForkCertain)
        rolledUp.found[2] = [mark(20)]
        XCTAssertTrue(rolledUp.isForkCertain)
        // Nothing in common is certain.
        let none = OwnLog(found: [1: [mark(11)]], remembered: [segment(1, 10)], packed: 1, published: 1)
        XCTAssertTrue(none.common.isForked && none.isForkCertain)
    }
}
