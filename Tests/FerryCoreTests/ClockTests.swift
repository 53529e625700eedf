import FerryCore
import XCTest

final class ClockTests: XCTestCase {
    func testTheClockNeverGoesBack() {
        var clock = HybridClock()
        let first = clock.advance(toMilliseconds: 1000)
        XCTAssertEqual(clock.advance(toMilliseconds: 900), first)
        XCTAssertLessThan(first, clock.tick())
        XCTAssertLessThan(clock.now, clock.advance(toMilliseconds: 1001))
    }

    func testTheCounterOverflowsIntoTheMilliseconds() {
        var clock = HybridClock(now: HybridTime(milliseconds: 7, counter: .max))
        XCTAssertEqual(clock.tick(), HybridTime(milliseconds: 8))
    }

    func testWhatIsObservedIsEarlierThanWhatComes() {
        var clock = HybridClock(now: HybridTime(milliseconds: 1000))
        XCTAssertTrue(clock.observe(HybridTime(milliseconds: 5000, counter: 3), wallMilliseconds: 1000))
        XCTAssertLessThan(HybridTime(milliseconds: 5000, counter: 3), clock.tick())
    }

    func testATimeMoreThanADayAheadMovesNothing() {
        var clock = HybridClock(now: HybridTime(milliseconds: 1000))
        let ahead = HybridTime(milliseconds: 1001 + HybridClock.maximumLeadMilliseconds)
        XCTAssertFalse(clock.observe(ahead, wallMilliseconds: 1000))
        XCTAssertEqual(clock.now, HybridTime(milliseconds: 1000))
        XCTAssertTrue(
            clock.observe(HybridTime(milliseconds: 1000 + HybridClock.maximumLeadMilliseconds), wallMilliseconds: 1000))
    }

    func testTimesFitASignedInteger() {
        XCTAssertLessThan(HybridTime(milliseconds: .max).rawValue, UInt64(Int64.max))
        XCTAssertEqual(HybridTime(milliseconds: -5), .zero)
        XCTAssertGreaterThan(HybridTime.latest.next, HybridTime.latest)
        XCTAssertFalse(HybridTime.unknown.isKnown)
    }

    func testRowsThatAreSentAgainStayBehindThoseOfEarlierJoins() {
        for givingWay in [true, false] {
            var times: [HybridTime] = []
            for _ in 0..<100 { times.append(.joining(givingWay: givingWay, among: times)) }
            for (earlier, later) in zip(times, times.dropFirst()) {
                XCTAssertEqual(later.givesWay, givingWay)
                XCTAssertFalse(later.isKnown)
                XCTAssertLessThan(later.next.next, earlier)
                XCTAssertEqual(later.next.givesWay, givingWay)
            }
            for raw: UInt64 in [1, 2, 1 << 15, 1 << 16] {
                let time = HybridTime.joining(
                    givingWay: givingWay, among: [HybridTime(rawValue: raw), HybridTime(rawValue: raw + 1)])
                XCTAssertEqual(time.givesWay, givingWay)
                XCTAssertFalse(time.isKnown)
            }
        }
    }

    func testAVectorIncludesWhatWasWrittenUpToItsTime() {
        let device = DeviceID(high: 1, low: 2)
        var vector = VersionVector()
        vector.advance(device, to: LogPosition(sequence: 3, time: HybridTime(milliseconds: 30)))
        vector.advance(device, to: LogPosition(sequence: 2, time: HybridTime(milliseconds: 20)))
        XCTAssertEqual(vector[device].sequence, 3)
        XCTAssertTrue(vector.includes(Stamp(time: HybridTime(milliseconds: 30), device: device)))
        XCTAssertFalse(vector.includes(Stamp(time: HybridTime(milliseconds: 31), device: device)))
        XCTAssertFalse(vector.includes(Stamp(time: HybridTime(milliseconds: 1), device: DeviceID(high: 9, low: 9))))
    }
}
