import Feeds
import Foundation
import XCTest

final class FeedDateTests: XCTestCase {
    func testReadsTheFormsThatAreMet() throws {
        let forms: [(String, String)] = [
            ("Mon, 05 Jan 2026 10:20:30 GMT", "2026-01-05T10:20:30Z"),
            ("Mon, 5 Jan 2026 10:20:30 +0100", "2026-01-05T09:20:30Z"),
            ("5 Jan 26 10:20 EST", "2026-01-05T15:20:00Z"),
            ("05 Jan 98 10:20:30 PDT", "1998-01-05T17:20:30Z"),
            ("Mon,05 Jan 2026 10:20:30 UT", "2026-01-05T10:20:30Z"),
            ("Monday, January 5, 2026 10:20:30 -05:30", "2026-01-05T15:50:30Z"),
            ("Mon, 05 Jan 2026 10:20:30 GMT+2", "2026-01-05T08:20:30Z"),
            ("Mon, 05 Jan 2026 10:20:30 Z (Zulu)", "2026-01-05T10:20:30Z"),
            ("Mon, 05 Jan 2026 10:20:30", "2026-01-05T10:20:30Z"),
            ("Mon, 05 Jan 2026", "2026-01-05T00:00:00Z"),
            ("Wrd, 05 Jan 2026 1:05:09 PM CEST", "invalid"),
            ("Tue, 05 Sept 2026 1:05:09 PM CEST", "2026-09-05T11:05:09Z"),
            ("05-Jan-2026 12:00:00 GMT", "2026-01-05T12:00:00Z"),
            ("Mon Jan  5 10:20:30 UTC 2026", "2026-01-05T10:20:30Z"),
            ("Thu, 31 Dec 2026 24:00:00 GMT", "2027-01-01T00:00:00Z"),
            ("Thu, 31 Dec 2026 23:59:60 GMT", "2027-01-01T00:00:00Z"),
            ("2026-01-05T10:20:30Z", "2026-01-05T10:20:30Z"),
            ("2026-01-05t10:20:30z", "2026-01-05T10:20:30Z"),
            ("2026-01-05T10:20:30.123456+05:45", "2026-01-05T04:35:30Z"),
            ("2026-01-05T10:20-0800", "2026-01-05T18:20:00Z"),
            ("2026-01-05T10:20:30+01", "2026-01-05T09:20:30Z"),
            ("2026-01-05 10:20:30 +0000", "2026-01-05T10:20:30Z"),
            ("2026-01-05 10:20:30 UTC", "2026-01-05T10:20:30Z"),
            ("2026-01-05T10:20:30", "2026-01-05T10:20:30Z"),
            ("20260105T102030Z", "2026-01-05T10:20:30Z"),
            ("2026-01-05", "2026-01-05T00:00:00Z"), ("2026-01", "2026-01-01T00:00:00Z"),
            ("2026", "2026-01-01T00:00:00Z"),
            ("2020/1/10 14:33:00", "2020-01-10T14:33:00Z"), ("2020/01/10 14:33", "2020-01-10T14:33:00Z"),
            ("2020/1/10", "2020-01-10T00:00:00Z"), ("2020.1.10 4:05:06 +0800", "2020-01-09T20:05:06Z"),
            ("2020-1-10 2:33 PM GMT", "2020-01-10T14:33:00Z"), ("2020/12/31T23:59:59", "2020-12-31T23:59:59Z"),
            ("2020/13/10 14:33:00", "invalid"), ("2020/1-10", "invalid"), ("2020/1", "invalid"),
            ("2020/1/10 noon", "invalid"), ("2020/2/30", "invalid"),
            ("2024-02-29", "2024-02-29T00:00:00Z"),
            ("  2026-01-05\n", "2026-01-05T00:00:00Z"),
            ("1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z"),
            ("2023-02-29", "invalid"), ("2026-13-01", "invalid"), ("2026-01-05T25:00:00Z", "invalid"),
            ("31 Apr 2026 10:00 GMT", "invalid"), ("yesterday", "invalid"), ("", "invalid"), ("5", "invalid"),
            ("Mon, 05 Jan 2026 10:20:30 +9999", "invalid"), ("2026-01-05 at noon", "invalid"),
            (String(repeating: "9", count: 99), "invalid"),
        ]
        for (text, expected) in forms {
            let found = FeedDate.parse(text)
            if expected == "invalid" {
                XCTAssertNil(found, text)
            } else {
                let seconds = try XCTUnwrap(found, text).timeIntervalSince1970.rounded(.down)
                XCTAssertEqual(seconds, try date(expected).timeIntervalSince1970, text)
            }
        }
    }

    func testAgreesWithTheCalendarOnEveryDay() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try XCTUnwrap(TimeZone(secondsFromGMT: 0))
        for day in stride(from: -30_000, through: 60_000, by: 97) {
            let date = Date(timeIntervalSince1970: Double(day) * 86400)
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let text = String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            XCTAssertEqual(FeedDate.parse(text), date, text)
        }
    }
}
