import Ferry
import Foundation
import XCTest

@testable import FerryCommand

final class PointInTimeTests: XCTestCase {
    private let now: Int64 = 1_772_374_000_000  // 2026-03-01T14:06:40Z

    private func parse(_ text: String, hoursEast: Int = 0) throws -> Int64? {
        do throws(PointInTime.Refusal) {
            return try PointInTime(text, now: now, offset: { _ in Int64(hoursEast) * 3600 }).milliseconds
        } catch {
            XCTAssertEqual(error, .noTime)
            return nil
        }
    }

    /// The offsets of a zone, in seconds.
    private func offset(_ zone: String) throws -> (Int64) -> Int64 {
        let zone = try XCTUnwrap(TimeZone(identifier: zone))
        return { Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0) / 1000))) }
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
            XCTAssertEqual(try PointInTime(text, now: now).milliseconds, milliseconds, text)
        }
    }

    func testEveryTimeOfAHistoryIsReadBackAsTheSameTime() throws {
        let times: [HybridTime] = [
            HybridTime(rawValue: 32_752), HybridTime(rawValue: 32_768), .unknown, HybridTime(milliseconds: now),
            HybridTime(milliseconds: now + 1, counter: 3), HybridTime(milliseconds: now + 1, counter: 259),
            HybridTime(milliseconds: now + 1, counter: .max), HybridTime(milliseconds: now + 90_000_000),
        ]
        for moment in [Wording.exactTime, ISO8601.text] {
            let texts = PointInTime.texts(times, moment)
            XCTAssertEqual(Set(texts).count, times.count)
            XCTAssertEqual(texts[0], "before joining#32752")
            XCTAssertEqual(texts[3], moment(now))
            XCTAssertEqual(texts[5], moment(now + 1) + "#259")
            for (place, text) in texts.enumerated() {
                // Each text means the changes up to its own, and no further one.
                let time = try PointInTime(text, now: now).time
                XCTAssertEqual(times.filter { $0 <= time }, Array(times[...place]), text)
            }
        }
        XCTAssertEqual(PointInTime.texts([HybridTime(rawValue: 16)], ISO8601.text), ["before joining"])
    }

    func testAHistoryTellsTheZoneOfATimeThatCameTwice() throws {
        let former = ProcessInfo.processInfo.environment["TZ"]
        setenv("TZ", "Europe/Berlin", 1)
        tzset()
        defer {
            if let former { setenv("TZ", former, 1) } else { unsetenv("TZ") }
            tzset()
        }
        for (utc, local) in [
            ("2026-10-24T23:59:59.999Z", "2026-10-25 01:59:59.999"),
            ("2026-10-25T00:00:00.000Z", "2026-10-25 02:00:00.000+02:00"),
            ("2026-10-25T00:30:00.929Z", "2026-10-25 02:30:00.929+02:00"),
            ("2026-10-25T01:30:00.929Z", "2026-10-25 02:30:00.929+01:00"),
            ("2026-10-25T01:59:59.999Z", "2026-10-25 02:59:59.999+01:00"),
            ("2026-10-25T02:00:00.000Z", "2026-10-25 03:00:00.000"),
            ("2026-03-29T00:59:59.999Z", "2026-03-29 01:59:59.999"),
            ("2026-03-29T01:00:00.000Z", "2026-03-29 03:00:00.000"),
        ] {
            let milliseconds = try PointInTime(utc, now: now).milliseconds
            XCTAssertEqual(Wording.exactTime(milliseconds), local)
            XCTAssertEqual(try PointInTime(local, now: now).milliseconds, milliseconds, local)
        }
    }

    func testALocalTimeThatCameTwiceOrNeverIsRefused() throws {
        let berlin = try offset("Europe/Berlin")
        func time(_ text: String) throws -> String {
            ISO8601.text(try PointInTime(text, now: now, offset: berlin).milliseconds)
        }
        XCTAssertEqual(try time("2026-10-25 01:59:59.999"), "2026-10-24T23:59:59.999Z")
        XCTAssertEqual(try time("2026-10-25 03:00"), "2026-10-25T02:00:00.000Z")
        XCTAssertEqual(try time("2026-10-25 02:30+02:00"), "2026-10-25T00:30:00.000Z")
        XCTAssertEqual(try time("2026-10-25"), "2026-10-24T22:00:00.000Z")
        for text in ["2026-10-25 02:00", "2026-10-25T02:30:00.929", "2026-10-25 02:59:59.999"] {
            XCTAssertThrowsError(try time(text), text) { error in
                guard case .isTwoMoments(let texts)? = error as? PointInTime.Refusal else { return XCTFail("\(error)") }
                XCTAssertEqual(texts.count, 2)
            }
        }
        XCTAssertEqual(try time("2026-03-29 01:59"), "2026-03-29T00:59:00.000Z")
        XCTAssertEqual(try time("2026-03-29 03:00"), "2026-03-29T01:00:00.000Z")
        for text in ["2026-03-29 02:00", "2026-03-29 02:30", "2026-03-29T02:59:59.999"] {
            XCTAssertThrowsError(try time(text), text) { XCTAssertEqual($0 as? PointInTime.Refusal, .neverWas) }
        }
        // A day that begins with a leap begins after the leap, and a day whose first hour came twice with the first of them.
        let cairo = try offset("Africa/Cairo")
        XCTAssertEqual(try PointInTime("2026-04-24", now: now, offset: cairo).milliseconds, 1_776_981_600_000)
        let azores = try offset("Atlantic/Azores")
        XCTAssertEqual(try PointInTime("2026-10-25", now: now, offset: azores).milliseconds, 1_792_886_400_000)
    }

    func testAnythingElseIsNoTime() throws {
        for text in [
            "", "2", "h", "-2h", "2x", "yesterday", "2026-13-01", "2026-02-30", "2026-03-01T25:00", "14:06",
            "99999999999999999999h", "2h#1", "2026-03-01#", "2026-03-01#65536", "2026-03-01#-1", "before",
            "9999999999999999w", "2026-03-01T14:06:40Zebra",
        ] {
            XCTAssertNil(try parse(text), text)
        }
    }
}
