import FerryDocuments
import Foundation
import XCTest

final class CopyNameTests: XCTestCase {
    private func name(_ name: String, _ label: String = "phone", _ made: Int64 = Samples.now, zone: Int = 0) -> String {
        CopyName.of(name, label: label, madeMilliseconds: made, secondsFromGMT: zone)
    }

    func testACopyIsNamedByDeviceAndDay() {
        XCTAssertEqual(name("Trio.pdf"), "Trio (phone, 1 March).pdf")
        XCTAssertEqual(name("Trio"), "Trio (phone, 1 March)")
        XCTAssertEqual(name("Trio.pdf", ""), "Trio (1 March).pdf")
        XCTAssertEqual(name("Trio.pdf", "a/b\0c"), "Trio (abc, 1 March).pdf")
    }

    func testTheDayIsTheReadersDay() {
        let evening = Samples.now + 23 * 3_600_000 - Samples.now % Samples.day
        XCTAssertEqual(name("a", zone: 7200), "a (phone, 1 March)")
        XCTAssertEqual(name("a", "p", evening, zone: 7200), "a (p, 2 March)")
        XCTAssertEqual(name("a", "p", evening, zone: -86_400), "a (p, 28 February)")
    }

    /// By Foundation's calendar.
    func testDaysOfThreeCenturiesAreRight() throws {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "UTC")
        format.dateFormat = "d MMMM"
        for day in stride(from: -1 as Int64, to: 110_000, by: 13) {
            let expected = format.string(from: Date(timeIntervalSince1970: Double(day) * 86_400))
            XCTAssertEqual(name("a", "", day * Samples.day), "a (\(expected))")
        }
    }

    func testNoClockMakesAnImpossibleName() {
        for made in [.min, -1, .max] as [Int64] {
            for zone in [-86_400, 0, 86_400] { XCTAssertTrue(name("a", "p", made, zone: zone).hasPrefix("a (p, ")) }
        }
        let long = String(repeating: "label ", count: 100)
        XCTAssertLessThanOrEqual(name(String(repeating: "x", count: 255), long).utf8.count, 255)
    }
}
