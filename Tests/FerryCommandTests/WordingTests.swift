import Ferry
import XCTest

@testable import FerryCommand

final class WordingTests: XCTestCase {
    func testCountsAgreeWithTheirNouns() {
        XCTAssertEqual(Wording.count(0, "change"), "0 changes")
        XCTAssertEqual(Wording.count(1, "change"), "1 change")
        XCTAssertEqual(Wording.count(15_607, "change"), "15,607 changes")
        XCTAssertEqual(Wording.count(1, "row is", "rows are"), "1 row is")
        XCTAssertEqual(Wording.grouped(-1_234_567), "-1,234,567")
    }

    func testSizesAreRounded() {
        XCTAssertEqual(
            [0, 1, 999, 1000, 1449, 15_000, 999_499, 999_500, 1_250_000, 62_000_000_000].map(Wording.bytes),
            ["0 bytes", "1 byte", "999 bytes", "1 kB", "1.4 kB", "15 kB", "999 kB", "1 MB", "1.3 MB", "62 GB"])
    }

    func testListsReadAsSentences() {
        XCTAssertEqual(Wording.list([]), "")
        XCTAssertEqual(Wording.list(["a"]), "a")
        XCTAssertEqual(Wording.list(["a", "b"]), "a and b")
        XCTAssertEqual(Wording.list(["a", "b", "c"]), "a, b and c")
    }

    func testDurationsAndAgesAreRelative() {
        XCTAssertEqual(Wording.duration(0.0401), "40 ms")
        XCTAssertEqual(Wording.duration(1.44), "1.4 s")
        XCTAssertEqual(Wording.duration(200), "3 min 20 s")
        XCTAssertEqual(Wording.duration(7500), "2 h 5 min")
        XCTAssertEqual(Wording.age(sinceMilliseconds: 0, now: 3_000), "just now")
        XCTAssertEqual(Wording.age(sinceMilliseconds: 0, now: 61_000), "1 minute ago")
        XCTAssertEqual(Wording.age(sinceMilliseconds: 0, now: 3 * 86_400_000), "3 days ago")
        XCTAssertEqual(Wording.age(sinceMilliseconds: 120_000, now: 0), "in the future")
    }

    func testTimesAreThoseOfTheLocalClock() {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
        let years: Int64 = 31_556_952_000
        for milliseconds in [
            0, 1, 999, 1000, 1_700_000_000_123, -1, -999, -1000, -86_400_001, 250 * years, 7000 * years,
        ] {
            // The formatter rounds to the nearest millisecond, and never down to the second before.
            let seconds = (Double(milliseconds) / 1000).rounded(.down)
            let expected = formatter.string(from: Date(timeIntervalSince1970: seconds))
            XCTAssertEqual(Wording.dateAndTime(milliseconds), expected)
            XCTAssertEqual(Wording.time(milliseconds), String(expected.suffix(8)))
        }
        XCTAssertTrue(Wording.exactTime(1_700_000_000_003).hasSuffix(".003"))
        XCTAssertTrue(Wording.exactTime(-1).hasSuffix(".999"))
    }

    func testShellWordsAreQuotedWhereTheyHaveTo() {
        XCTAssertEqual(Wording.shellWord("~/Sync/music.sqlite"), "~/Sync/music.sqlite")
        XCTAssertEqual(Wording.shellWord("my music"), "'my music'")
        XCTAssertEqual(Wording.shellWord("it's"), #"'it'\''s'"#)
        XCTAssertEqual(Wording.shellWord(""), "''")
    }

    func testControlCharactersNeverReachTheTerminal() {
        XCTAssertEqual(Wording.oneLine("a\u{1B}[31m\nb"), "a�[31m�b")
        XCTAssertEqual(Wording.oneLine("abcdef", limit: 4), "abc…")
        XCTAssertEqual(Wording.oneLine("abcd", limit: 4), "abcd")
    }

    /// A line shows the start alone, so the rest of a value is never looked at.
    func testTheStartOfALongValueIsAsOfTheWhole() {
        let marks = "e" + String(repeating: "\u{301}", count: 5000)
        for text in [
            String(repeating: "ü€😀", count: 30_000), marks, "a\u{7}" + marks, String(repeating: "x", count: 16_385),
        ] {
            let shown = RowWords.value(.text(text), limit: 8)
            XCTAssertTrue(shown.hasSuffix("…"), shown)
            XCTAssertLessThanOrEqual(shown.count, 8)
            XCTAssertEqual(shown.unicodeScalars.first, text.unicodeScalars.first)
        }
        let blob = [UInt8](repeating: 0xAB, count: 100_000)
        XCTAssertEqual(RowWords.value(.blob(blob[...]), limit: 8), "x'ababa…")
        XCTAssertEqual(RowWords.values([NamedValue(column: "b", value: .blob(blob[...]))], limit: 8), "b = x'a…")
    }

    func testNoNameReachesATerminalWithCharactersThatItObeys() {
        let name = "evil\u{1B}]0;owned\u{7}\u{9B}31m\tb\nc"
        XCTAssertEqual(Style(isOn: false).printable(name), "evil�]0;owned��31m\tb\nc")
        let style = Style(isOn: true)
        XCTAssertEqual(style.printable(style.red(name)), style.red("evil�]0;owned��31m\tb\nc"))
        XCTAssertEqual(Style(isOn: false).printable(style.bold("a")), "�[1ma�[0m")
        var table = TextTable("Device", "Rows#")
        table.add("a\nferry: everything is well", "1")
        XCTAssertEqual(
            table.lines(Style(isOn: false)),
            ["  Device                        Rows", "  a�ferry: everything is well      1"])
    }

    func testTablesAreAligned() {
        var table = TextTable("Name", "Rows#", "Why")
        table.add("a", "5", "")
        table.add("longer", "1,000", "because")
        XCTAssertEqual(
            table.lines(Style(isOn: false)),
            ["  Name      Rows   Why", "  a            5", "  longer   1,000   because"])
    }

    func testATableThatIsTooWideForATerminalIsStacked() {
        var table = TextTable("Name", "Rows#", "Why")
        table.add("a", "5", "")
        table.add("longer", "1,000", "because")
        XCTAssertEqual(table.lines(Style(isOn: false, width: 27)).count, 3)
        XCTAssertEqual(
            table.lines(Style(isOn: false, width: 20)),
            ["  Name", "  a", "    Rows  5", "  longer", "    Rows  1,000", "    Why   because"])
    }

    func testLinesAreBrokenBetweenWordsOnANarrowTerminal() {
        let style = Style(isOn: true, width: 20)
        XCTAssertEqual(style.fitted("Everything is well."), "Everything is well.")
        XCTAssertEqual(style.fitted("Two changes wait to be\npublished."), "Two changes wait to\nbe\npublished.")
        XCTAssertEqual(
            style.fitted("  " + style.dim("why") + "   a row that is not there"),
            "  " + style.dim("why") + "   a row that\n  is not there")
        XCTAssertEqual(style.fitted(style.green("Everything is well.")), style.green("Everything is well."))
        let path = "/a/path/that/is/longer/than/the/terminal"
        XCTAssertEqual(style.fitted("It lies in \(path) now."), "It lies in\n\(path)\nnow.")
        XCTAssertEqual(Style(isOn: false).fitted(path + " " + path), path + " " + path)
    }

    func testIdentitiesAreRead() {
        XCTAssertEqual(DeclaredIdentity(argument: "tag=name, color")?.columns, ["name", "color"])
        XCTAssertEqual(DeclaredIdentity(argument: "tag=name")?.table, "tag")
        XCTAssertNil(DeclaredIdentity(argument: "tag"))
        XCTAssertNil(DeclaredIdentity(argument: "=name"))
        XCTAssertNil(DeclaredIdentity(argument: "tag=,"))
    }
}

final class ProgressEstimateTests: XCTestCase {
    func testTheBarTellsShareAndTimeLeft() {
        var estimate = ProgressEstimate()
        estimate.note(.publishing, 0, of: 1000, atMilliseconds: 0)
        XCTAssertNil(estimate.secondsLeft(atMilliseconds: 0))
        estimate.note(.publishing, 250, of: 1000, atMilliseconds: 2000)
        XCTAssertEqual(estimate.secondsLeft(atMilliseconds: 2000), 6)
        XCTAssertEqual(
            estimate.line(width: 100, atMilliseconds: 2000),
            "Publishing  ██████░░░░░░░░░░░░░░░░░░  25 %   250 of 1,000 changes   6 s left")
        XCTAssertEqual(estimate.secondsLeft(atMilliseconds: 5000), 3)
        XCTAssertNil(estimate.secondsLeft(atMilliseconds: 9000))
        XCTAssertLessThan(estimate.line(width: 40, atMilliseconds: 2000).count, 40)
    }

    func testAVerificationCountsRowsAndADoctorFiles() {
        var estimate = ProgressEstimate()
        estimate.note(.checking, 0, of: nil, atMilliseconds: 0)
        XCTAssertEqual(estimate.line(width: 80, atMilliseconds: 2000), "Checking the file …  2 s")
        estimate.note(.comparing, 4096, of: 8192, atMilliseconds: 3000)
        XCTAssertEqual(
            estimate.line(width: 80, atMilliseconds: 3000),
            "Comparing  ████████████░░░░░░░░░░░░  50 %   4,096 of 8,192 rows")
        estimate.note(.examining, 1, of: 4, atMilliseconds: 3000)
        XCTAssertTrue(estimate.line(width: 80, atMilliseconds: 3000).hasSuffix("25 %   1 of 4 files"))
    }

    func testWithoutATotalItCounts() {
        var estimate = ProgressEstimate()
        estimate.note(.replaying, 12, of: nil, atMilliseconds: 0)
        XCTAssertEqual(estimate.line(width: 80, atMilliseconds: 3000), "Merging 12 changes …  3 s")
        XCTAssertEqual(estimate.line(width: 10, atMilliseconds: 3000), "Merging 1")
    }
}

final class ExitStatusTests: XCTestCase {
    func testThePageHasEachCodeUnderItsStatus() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("Docs/CommandLine.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") }
        for (code, status) in ExitStatus.byCode {
            let word = "`\(code.rawValue)`"
            if status == .badData {
                XCTAssertTrue(page.contains(word), "\(word) is not on the page")
            } else {
                let row = rows.first { $0.hasPrefix("| \(status.rawValue) |") }
                XCTAssertTrue(row?.contains(word) ?? false, "\(word) is not in the row of \(status.rawValue)")
            }
        }
    }

    func testFailuresEndAsSysexitsSays() {
        let expected: [FerryError.Code: Int32] = [
            .invalidArgument: 64, .notADatabase: 65, .databaseCorrupt: 65, .damagedFile: 65, .formatTooNew: 65,
            .containerTooNew: 65, .storeTooNew: 65, .foreignFile: 65, .incompatibleSchema: 65, .databaseMissing: 66,
            .databaseReplaced: 66,
            .containerMissing: 69, .containerEmpty: 69, .containerMismatch: 69, .internalInconsistency: 70,
            .containerExists: 73, .alreadyTracked: 73, .inputOutput: 74, .busy: 75,
        ]
        for (code, status) in expected { XCTAssertEqual(ExitStatus(code).rawValue, status, code.rawValue) }
    }

    func testACodeOfALaterEngineIsABugHere() {
        XCTAssertEqual(ExitStatus(FerryError.Code(rawValue: "later")), .bug)
    }

    func testAWaitHasAnAgeOnceItIsAMinuteOld() {
        XCTAssertEqual(Wording.waiting(sinceMilliseconds: nil, now: 0), "")
        XCTAssertEqual(Wording.waiting(sinceMilliseconds: 1000, now: 60_999), "")
        XCTAssertEqual(Wording.waiting(sinceMilliseconds: 1000, now: 61_000), " (for 1 minute)")
        XCTAssertEqual(Wording.waiting(sinceMilliseconds: 0, now: 3 * 86_400_000), " (for 3 days)")
    }
}
