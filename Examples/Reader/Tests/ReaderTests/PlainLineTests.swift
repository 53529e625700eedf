import XCTest

@testable import Reader

final class PlainLineTests: XCTestCase {
    func testTextIsFittedByColumnsNotCharacters() {
        XCTAssertEqual(PlainLine.fitted("abc", 5), "abc  ")
        XCTAssertEqual(PlainLine.fitted("abcdef", 5), "abcd…")
        XCTAssertEqual(PlainLine.fitted("日本語", 6), "日本語")
        XCTAssertEqual(PlainLine.fitted("日本語", 5), "日本…")
        XCTAssertEqual(PlainLine.fitted("日本語", 4), "日… ")
        XCTAssertEqual(PlainLine.width("e\u{301}🎻"), 3)
        XCTAssertEqual(PlainLine.fitted("abc", 0), "")
    }

    func testTextIsWrappedBetweenWords() {
        XCTAssertEqual(PlainLine.wrapped("one two three", 7), ["one two", "three"])
        XCTAssertEqual(PlainLine.wrapped("a\n\nb", 10), ["a", "", "b"])
        XCTAssertEqual(PlainLine.wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"])
        XCTAssertEqual(PlainLine.wrapped("日本語", 4), ["日本", "語"])
        XCTAssertEqual(PlainLine.wrapped("", 10), [""])
    }

    func testNoWrappedLineIsTooWide() {
        let text = "日本 abc defghijklmnop q 🎻🎻🎻🎻 rs tuvw\u{301}xyz"
        for columns in 2..<30 {
            let lines = PlainLine.wrapped(text, columns)
            for line in lines { XCTAssertLessThanOrEqual(PlainLine.width(line), columns, "\(columns): \(line)") }
            XCTAssertEqual(lines.joined().filter { $0 != " " }, text.filter { $0 != " " })
        }
    }
}
