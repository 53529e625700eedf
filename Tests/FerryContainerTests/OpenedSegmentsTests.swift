import FerryCore
import XCTest

@testable import FerryContainer

/// Opened segments between the two readings of a join.
final class OpenedSegmentsTests: XCTestCase {
    private let epoch: EpochID? = nil

    func testASegmentIsHandedOutOnceInTheSecondReading() {
        let opened = OpenedSegments()
        opened.keep("a", ([1, 2], epoch))
        XCTAssertNil(opened.take("a"), "the first reading goes on")
        opened.beginSecondReading()
        XCTAssertEqual(opened.take("a")?.content, [1, 2])
        XCTAssertNil(opened.take("a"))
        XCTAssertNil(opened.take("b"))
        opened.keep("c", ([3], epoch))
        XCTAssertNil(opened.take("c"), "nothing is kept any more")
    }

    func testSegmentsBeyondTheCapacityAreNotKept() {
        let opened = OpenedSegments()
        let half = [UInt8](repeating: 0, count: 8 << 20)
        for path in ["a", "b", "c"] { opened.keep(path, (half, epoch)) }
        // The same segment again takes no more room.
        opened.keep("a", (half, epoch))
        opened.beginSecondReading()
        XCTAssertEqual(["a", "b", "c"].map { opened.take($0) != nil }, [true, true, false])
    }
}
