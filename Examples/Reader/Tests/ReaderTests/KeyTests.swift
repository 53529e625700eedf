import XCTest

@testable import Reader

final class KeyTests: XCTestCase {
    private func keys(_ pieces: String...) -> [Key] {
        var parser = KeyParser()
        let keys = pieces.flatMap { parser.keys($0.utf8) }
        return keys + parser.end()
    }

    func testKeysOfTerminals() {
        XCTAssertEqual(keys("jG/"), [.character("j"), .character("G"), .character("/")])
        XCTAssertEqual(keys("\u{1B}[A\u{1B}OB\u{1B}[C\u{1B}[D"), [.up, .down, .right, .left])
        XCTAssertEqual(keys("\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~"), [.pageUp, .pageDown, .home, .end])
        XCTAssertEqual(keys("\r\n\u{7F}\u{8}\u{3}"), [.enter, .enter, .backspace, .backspace, .interrupt])
        XCTAssertEqual(keys("é字"), [.character("é"), .character("字")])
    }

    func testAnEscapeIsAKeyWhereNothingFollows() {
        XCTAssertEqual(keys("\u{1B}"), [.escape])
        XCTAssertEqual(keys("\u{1B}q"), [.escape, .character("q")])
        XCTAssertEqual(keys("\u{1B}", "[", "A"), [.up], "bytes may come one by one")
    }

    func testWhatIsNoKeyIsDropped() {
        XCTAssertEqual(keys("\u{1B}[99;5uj"), [.character("j")])
        XCTAssertEqual(keys("\u{1}\u{2}j"), [.character("j")])
        XCTAssertEqual(keys("\u{1B}[" + String(repeating: "1;", count: 20), "j"), [.character("j")])
        var parser = KeyParser()
        XCTAssertEqual(parser.keys([0xC3]), [])
        XCTAssertEqual(parser.keys([0xA9, 0xFF, 0x6A]), [.character("é"), .character("j")])
    }
}
