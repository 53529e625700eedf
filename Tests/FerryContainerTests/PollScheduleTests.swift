import FerryContainer
import XCTest

final class PollScheduleTests: XCTestCase {
    func testTheIntervalDoublesUpToTheMaximumAndFallsBackOnNews() {
        var schedule = PollSchedule()
        XCTAssertEqual(schedule.intervalMilliseconds, 1000)
        let idle = (0..<6).map { _ in schedule.next(foundNews: false, eventsAreDelivered: true) }
        XCTAssertEqual(idle, [2000, 4000, 8000, 16_000, 30_000, 30_000])
        XCTAssertEqual(schedule.next(foundNews: true, eventsAreDelivered: true), 1000)
        XCTAssertEqual(schedule.intervalMilliseconds, 1000)
    }

    func testWithoutEventsItStaysShorter() {
        var schedule = PollSchedule()
        for _ in 0..<9 { _ = schedule.next(foundNews: false, eventsAreDelivered: true) }
        XCTAssertEqual(schedule.next(foundNews: false, eventsAreDelivered: false), 8000)
    }

    func testAbsurdNumbersDoNotTrap() {
        var schedule = PollSchedule(
            minimumMilliseconds: -5, maximumMilliseconds: .max, maximumWithoutEventsMilliseconds: 0)
        XCTAssertEqual(schedule.intervalMilliseconds, 1)
        for _ in 0..<100 { _ = schedule.next(foundNews: false, eventsAreDelivered: true) }
        XCTAssertEqual(schedule.intervalMilliseconds, .max)
        XCTAssertEqual(schedule.next(foundNews: false, eventsAreDelivered: false), 1)
    }
}
