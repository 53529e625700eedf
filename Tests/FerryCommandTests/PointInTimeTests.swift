import Foundation
import XCTest

@testable import FerryCommand

final class PointInTimeTests: XCTestCase {
    private let now: Int64 = 1_772_374_000_000  // 2026-03-01T14:06:40Z

    private func parse(_ text: String, hoursEast: Int = 0) throws -> Int64? {
        PointInTime.parse(text, now: now, zone: try XCTUnwrap(TimeZone(secondsFromGMT: hoursEast * 3600)))
    }

    func testTimesAgoAreCountedFromNow() throws {
        XCTAssertEqual(try parse("0s"), now)
        XCTAssertEqual(try parse("90s"), now - 90_000)
        XCTAssertEqual(try parse("20min"), now - 1_200_000)
        XCTAssertEqual(try parse("20m"), now - 1_200_000)
        XCTAssertEqual(try parse("2h"), now - 7_200_000)
        XCTAssertEqual(try parse("3d"), now - 259_200_000)
        XCTAssertEqual(try parse("1w"), now - 604_800_000)
    }

    func testTimesWithAZoneAreWhatTheySay() throws {
        for text in [
            "2026-03-01T14:06:40Z", "2026-03-01T14:06:40.000Z", "2026-03-01 15:06:40+01:00",
            "2026-03-01T15:06:40+0100", "2026-03-01T15:06:40+01", "2026-03-01T09:06:40-05:00",
        ] {
            for east in [0, 7] { XCTAssertEqual(try parse(text, hoursEast: east), now, text) }
        }
        XCTAssertEqual(try parse("2026-03-01T14:06:40.123Z"), now + 123)
    }

    func testTimesWithoutAZoneAreLocal() throws {
        for text in ["2026-03-01T16:06:40", "2026-03-01 16:06:40", "2026-03-01 16:06:40.000"] {
            XCTAssertEqual(try parse(text, hoursEast: 2), now, text)
        }
        XCTAssertEqual(try parse("2026-03-01 16:06", hoursEast: 2), now - 40_000)
        XCTAssertEqual(try parse("2026-03-01"), now - (14 * 3600 + 6 * 60 + 40) * 1000)
        XCTAssertEqual(try parse("2026-03-01 16:06:40.120", hoursEast: 2), now + 120)
    }

    func testTheTimesThatAHistoryTellsAreReadBackExactly() {
        for milliseconds in stride(from: now, to: now + 1000, by: 37) {
            let text = Wording.exactTime(milliseconds)
            XCTAssertEqual(PointInTime.parse(text, now: now), milliseconds, text)
        }
    }

    func testAnythingElseIsNoTime() throws {
        for text in [
            "", "2", "h", "-2h", "2x", "yesterday", "2026-13-01", "2026-02-30", "2026-03-01T25:00", "14:06",
            "99999999999999999999h", "9999999999999999w", "2026-03-01T14:06:40Zebra",
        ] {
            XCTAssertNil(try parse(text), text)
        }
    }
}
