import Feeds
import Foundation
import XCTest

final class EncodingTests: XCTestCase {
    private let title = "Łódź “Größe” — 10 €"

    private func document(_ title: String, encoding: String?) -> String {
        let declaration = encoding.map { "<?xml version=\"1.0\" encoding=\"\($0)\"?>\n" } ?? ""
        return "\(declaration)<rss><channel><item><title>\(title)</title></item></channel></rss>"
    }

    private func utf16(_ text: String, isBigEndian: Bool, mark: Bool) -> [UInt8] {
        ((mark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit in
            isBigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
        }
    }

    func testReadsUTF8WithAndWithoutDeclarationAndMark() {
        for text in [document(title, encoding: nil), document(title, encoding: "utf-8")] {
            XCTAssertEqual(parse(text).titles, [title])
            XCTAssertEqual(parse(bytes: [0xEF, 0xBB, 0xBF] + text.utf8).titles, [title])
            XCTAssertEqual(parse(bytes: [0xEF, 0xBB, 0xBF] + text.utf8, charset: "iso-8859-1").titles, [title])
        }
    }

    func testReadsUTF16WithAndWithoutMark() {
        for isBigEndian in [true, false] {
            for mark in [true, false] {
                let text = document(title + " 😀", encoding: "UTF-16")
                let parsed = parse(bytes: utf16(text, isBigEndian: isBigEndian, mark: mark))
                XCTAssertEqual(parsed.titles, [title + " 😀"], "big-endian: \(isBigEndian), mark: \(mark)")
            }
        }
    }

    func testReadsJSONInUTF16() {
        let bytes = utf16(#"{"items":[{"id":"é"}]}"#, isBigEndian: false, mark: true)
        XCTAssertEqual(parse(bytes: bytes).articles.map(\.guid), ["é"])
    }

    func testReadsTheDeclaredEncoding() throws {
        // "é€" in each encoding; ISO-8859-1 is read as windows-1252, as browsers do.
        let samples: [(String, [UInt8], String)] = [
            ("ISO-8859-1", [0xE9, 0x80], "é€"), ("windows-1252", [0xE9, 0x80], "é€"),
            ("iso-8859-15", [0xE9, 0xA4], "é€"),
            ("windows-1251", [0xD4, 0x88], "Ф€"), ("KOI8-R", [0xC6], "ф"),
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"),
            ("GB2312", [0xD6, 0xD0], "中"), ("EUC-JP", [0xC6, 0xFC], "日"), ("Big5", [0xA4, 0xA4], "中"),
        ]
        for (name, bytes, text) in samples {
            let parts = document("|", encoding: name).split(separator: "|").map { Array($0.utf8) }
            let parsed = parse(bytes: parts[0] + bytes + parts[1])
            XCTAssertEqual(parsed.titles, [text], name)
            let byHTTP = document("|", encoding: nil).split(separator: "|").map { Array($0.utf8) }
            XCTAssertEqual(parse(bytes: byHTTP[0] + bytes + byHTTP[1], charset: name).titles, [text], "\(name) by HTTP")
        }
    }

    func testAWrongCharsetHeaderDoesNotHarmUTF8() {
        XCTAssertEqual(parse(document(title, encoding: "UTF-8"), charset: "ISO-8859-1").titles, [title])
        XCTAssertEqual(parse(document(title, encoding: nil), charset: "nonsense").titles, [title])
    }

    func testAWrongDeclarationIsOverruledByHTTP() {
        let parts = document("|", encoding: "UTF-8").split(separator: "|").map { Array($0.utf8) }
        XCTAssertEqual(parse(bytes: parts[0] + [0xE9] + parts[1], charset: "windows-1252").titles, ["é"])
    }

    func testBytesThatAreNotUTF8AreMendedAndCounted() {
        let parts = document("|", encoding: "UTF-8").split(separator: "|").map { Array($0.utf8) }
        let parsed = parse(bytes: parts[0] + [0xC3, 0xA9, 0x20, 0xE9, 0x20, 0x93, 0xFF] + parts[1])
        XCTAssertEqual(parsed.titles, ["é é “ÿ"])
        XCTAssertEqual(parsed.feed?.repairs, ["3 characters were not in the encoding that the feed says it is in"])
    }

    func testAnUnknownEncodingIsOneClearError() {
        let parsed = parse(document("x", encoding: "EBCDIC-HARBOUR"))
        XCTAssertEqual(parsed.error?.code, .encoding)
        XCTAssertEqual(
            parsed.error?.message,
            "the feed says that its encoding is “EBCDIC-HARBOUR”, which is not known here; tell its publisher")
    }

    func testHalfACharacterAtTheEndIsNoCrash() {
        for count in 1...40 {
            let bytes = utf16(document(title + "😀", encoding: nil), isBigEndian: false, mark: true)
            XCTAssertEqual(parse(bytes: bytes.dropLast(count)).error?.code, .cutOff, "without \(count) bytes")
            let utf8 = Array(document(title + "😀", encoding: nil).utf8)
            XCTAssertEqual(parse(bytes: utf8.dropLast(count)).error?.code, .cutOff, "without \(count) bytes")
        }
    }

    func testCharactersOfSeveralBytesSurviveEveryPlaceBetweenPieces() throws {
        let samples: [(name: String, bytes: [UInt8], text: String)] = [
            ("Shift_JIS", [0x93, 0xFA, 0x96, 0x7B], "日本"), ("EUC-JP", [0xC6, 0xFC, 0xCB, 0xDC], "日本"),
            ("Big5", [0xA4, 0xA4, 0xA4, 0xE5], "中文"), ("GB18030", [0xFE, 0x5C, 0xD6, 0xD0], "㘎中"),
        ]
        // Pieces are 64 KiB.
        let count = 20_000
        for (name, bytes, text) in samples {
            for shift in 0..<bytes.count {
                let parts = document("|", encoding: name).split(separator: "|").map { Array($0.utf8) }
                let filler = [UInt8](repeating: UInt8(ascii: "x"), count: shift)
                let body = [[UInt8]](repeating: bytes, count: count).joined()
                let parsed = parse(bytes: parts[0] + filler + body + parts[1])
                let expected = String(repeating: "x", count: shift) + String(repeating: text, count: count)
                XCTAssertTrue(parsed.titles == [expected], "\(name), shift \(shift)")
                XCTAssertEqual(parsed.feed?.repairs, [], "\(name), shift \(shift)")
            }
        }
    }

    func testBytesThatAreNotOfTheEncodingAreMendedAndCounted() {
        let parts = document("|", encoding: "Shift_JIS").split(separator: "|").map { Array($0.utf8) }
        let parsed = parse(bytes: parts[0] + [0x93, 0xFA, 0xFF, 0x96, 0x7B] + parts[1])
        XCTAssertEqual(parsed.titles, ["日\u{FFFD}本"])
        XCTAssertEqual(parsed.feed?.repairs, ["1 character was not in the encoding that the feed says it is in"])
    }

    func testEveryCharacterSurvivesEveryPlaceBetweenPieces() throws {
        // Pieces are 64 KiB; the title moves over the seam byte by byte.
        for shift in 0..<24 {
            let filler = String(repeating: "x", count: (64 << 10) - 70 + shift)
            let text =
                "<rss><channel><item><link>\(filler)</link><title>é😀&eacute;&amp;<![CDATA[]]]>€</title></item></channel></rss>"
            XCTAssertEqual(parse(text, from: nil).titles, ["é😀é&]€"], "shift \(shift)")
        }
    }
}
