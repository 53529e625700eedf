import Ferry
import Foundation
import XCTest

@testable import FerryCommand

/// What the page of `ferry ui` shows, without a database.
final class PageModelTests: XCTestCase {
    // MARK: Changes over time

    private let minute: Int64 = 60_000

    private func plot(_ ages: [(String, Int64)], now: Int64 = 1_000_000_000_000) -> ActivityPlot? {
        ActivityPlot(
            ages.map { .init(device: $0.0, timeMilliseconds: now - $0.1 * minute) }, now: now, isWhole: true)
    }

    func testAPlotHasEveryChangeOnceAndEverySpan() throws {
        let plot = try XCTUnwrap(plot([("b", 0), ("a", 10), ("a", 11), ("a", 3000)]))
        XCTAssertEqual(plot.devices.map(\.name), ["a", "b"])
        XCTAssertEqual(plot.devices.map { $0.counts.reduce(0, +) }, [3, 1])
        XCTAssertEqual(Set(plot.devices.map(\.counts.count)).count, 1)
        XCTAssertEqual(plot.devices[0].counts.first, 1)
        XCTAssertEqual(plot.devices[1].counts.last, 1)
        XCTAssertEqual(plot.changes, 4)
    }

    func testSpansSuitTheTime() throws {
        for (age, span) in [(0, 1), (40, 1), (50, 2), (2000, 60), (100_000, 2880), (10_000_000, 221_760)]
            as [(Int64, Int64)]
        {
            let plot = try XCTUnwrap(plot([("a", age)]))
            XCTAssertEqual(plot.bucketMilliseconds, span * minute, "\(age) minutes")
            let count = plot.devices[0].counts.count
            XCTAssertLessThanOrEqual(count, ActivityPlot.maximumSpans, "\(age) minutes")
            XCTAssertGreaterThanOrEqual(count, ActivityPlot.minimumSpans, "\(age) minutes")
        }
    }

    func testClocksAheadAndTimesBeforeTheEpochHaveAPlace() throws {
        let plot = try XCTUnwrap(plot([("a", -500), ("a", 5)]))
        XCTAssertEqual(plot.devices[0].counts.reduce(0, +), 2)
        XCTAssertEqual(plot.devices[0].counts.last, 1)
        let old = try XCTUnwrap(self.plot([("a", Int64.max / 60_000 / 2), ("a", 0)]))
        XCTAssertEqual(old.devices[0].counts.first, 1)
        XCTAssertEqual(old.startMilliseconds, 0)
        XCTAssertNil(ActivityPlot([], now: 5, isWhole: true))
        XCTAssertEqual(ActivityPlot([.init(device: "a", timeMilliseconds: 9)], now: 5, isWhole: true)?.changes, 1)
    }

    func testDaysBeginAtMidnight() throws {
        let now: Int64 = 1_764_122_400_000  // 2025-11-26 02:00 UTC
        let plot = try XCTUnwrap(
            ActivityPlot(
                [.init(device: "a", timeMilliseconds: now - 40 * 24 * 60 * minute)], now: now, offset: 60 * minute,
                isWhole: true))
        XCTAssertEqual(plot.bucketMilliseconds, 24 * 60 * minute)
        XCTAssertEqual((plot.startMilliseconds + 60 * minute) % (24 * 60 * minute), 0)
    }

    // MARK: JSON for a browser

    func testIntegersThatABrowserDoesNotHoldAreText() {
        XCTAssertEqual(PageJSON.fitting(.integer(1 << 53 - 1)), .integer(1 << 53 - 1))
        XCTAssertEqual(PageJSON.fitting(.integer(1 << 53)), .object(["integer": .string("9007199254740992")]))
        XCTAssertEqual(
            PageJSON.fitting(.array([.integer(.min)])), .array([.object(["integer": .string("-9223372036854775808")])]))
    }

    func testLongTextsAreCut() {
        let long = String(repeating: "é", count: PageJSON.maximumLength + 1)
        XCTAssertEqual(
            PageJSON.fitting(.object(["a": .string(long)])),
            .object(["a": .object(["text": .string(String(long.dropLast())), "length": .integer(4001)])]))
        XCTAssertEqual(PageJSON.fitting(.string(String(long.dropLast()))), .string(String(long.dropLast())))
    }

    func testCutCellsTellTheirLength() {
        XCTAssertEqual(PageJSON.cell(.init(value: .text("ab"))), .string("ab"))
        XCTAssertEqual(
            PageJSON.cell(.init(value: .text("ab"), wholeLength: 9)),
            .object(["text": .string("ab"), "length": .integer(9)]))
        XCTAssertEqual(
            PageJSON.cell(.init(value: .blob([0]), wholeLength: 9)),
            .object(["base64": .string("AA=="), "length": .integer(9)]))
    }

    // MARK: Places

    func testAPlaceComesBackAsItWas() throws {
        let key: [FieldValue] = [.integer(.min), .real(0.5), .text("ü\u{0}"), .blob([0, 255])]
        XCTAssertEqual(try RowPlace.key(RowPlace.text(key)), key)
        for text in ["", "0", "zz", "ff", "03", "04ffffffffffffffff", "<script>"] {
            XCTAssertThrowsError(try RowPlace.key(text), text) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
            }
        }
    }

    // MARK: Sentences

    func testALineOfStatusKeepsItsWordsAndGetsATone() {
        let style = PageSentence.style
        XCTAssertEqual(
            PageSentence(styled: style.red("It differs.") + " Run " + style.bold("ferry verify") + "."),
            PageSentence(text: "It differs. Run `ferry verify`.", tone: .bad))
        XCTAssertEqual(PageSentence(styled: style.green("All is well.")).tone, .good)
        XCTAssertEqual(PageSentence(styled: "3 wait, " + style.yellow("late")).tone, .wait)
        XCTAssertEqual(PageSentence(styled: style.dim("plain")), PageSentence(text: "plain", tone: .plain))
        // A device's name is a stranger's.
        XCTAssertEqual(PageSentence(styled: style.yellow("a\u{1B}[31mb")).text, "ab")
    }

    func testTheBrowserGetsTheAddressAndNothingElse() {
        let page = BrowserOpening.page("http://127.0.0.1:8377/#token=abc")
        XCTAssertTrue(page.contains("content=\"0;url=http://127.0.0.1:8377/#token=abc\""), page)
        XCTAssertFalse(page.contains("<script"))
    }
}

extension PageSentence {
    fileprivate init(text: String, tone: Tone) {
        self.init(styled: text)
        self.tone = tone
    }
}
