import FerryCore
import FerryDocuments
import FerryTestSupport
import XCTest

final class DocumentNameTests: XCTestCase {
    func testNamesThatNoDiskTakesAnywhereAreRefused() {
        for name in ["", ".", "..", "a/b", "/", "a\0", "\0", String(repeating: "ä", count: 128)] {
            XCTAssertNotNil(DocumentName.refusal(of: name), name)
            XCTAssertThrowsError(try DocumentName.check(name)) {
                let error = $0 as? FerryError
                XCTAssertEqual(error?.code, .invalidArgument)
                XCTAssertFalse(error?.message.utf8.contains(0) ?? true)
            }
        }
        for name in ["a", "...", ".a", "a.", " ", "CON", "a:b", "a\nb", String(repeating: "x", count: 255)] {
            XCTAssertNil(DocumentName.refusal(of: name), name)
        }
    }

    func testAMessageAboutALongNameIsShort() {
        let name = String(repeating: "x", count: 100_000)
        XCTAssertThrowsError(try DocumentName.check(name)) {
            XCTAssertLessThan(($0 as? FerryError)?.message.count ?? .max, 200)
        }
    }

    func testANumberGoesBeforeTheExtension() {
        for (name, result) in [
            ("a.md", "a (2).md"), ("a", "a (2)"), (".profile", ".profile (2)"), ("a.tar.gz", "a.tar (2).gz"),
            ("a.", "a. (2)"), ("..a", ". (2).a"), ("…", "… (2)"), ("Ü.ß", "Ü (2).ß"),
        ] { XCTAssertEqual(DocumentName.adding(" (2)", to: name), result) }
    }

    func testALongNameIsCutBetweenCharacters() {
        // 👩‍👩‍👧‍👦 has 25 bytes, and would be cut in itself.
        let family = "👩‍👩‍👧‍👦"
        let name = String(repeating: family, count: 10) + ".md"
        XCTAssertEqual(name.utf8.count, 253)
        XCTAssertEqual(
            DocumentName.adding(" (2)", to: name), String(repeating: family, count: 9) + " (2).md")
        let accents = String(repeating: "e\u{301}", count: 85)
        XCTAssertEqual(DocumentName.adding(" (2)", to: accents), String(repeating: "e\u{301}", count: 83) + " (2)")
        let full = String(repeating: "x", count: 255)
        XCTAssertEqual(DocumentName.adding(" (12)", to: full).utf8.count, 255)
    }

    func testACharacterThatIsTooLongAloneIsCutBetweenScalars() {
        let name = "e" + String(repeating: "\u{301}", count: 127)
        XCTAssertEqual(name.count, 1)
        let result = DocumentName.adding(" (2)", to: name)
        XCTAssertEqual(Array(result.utf8), Array(("e" + String(repeating: "\u{301}", count: 125) + " (2)").utf8))
    }

    func testAnExtensionOfMoreThanHalfANameIsNone() {
        let name = "a." + String(repeating: "b", count: 253)
        XCTAssertEqual(DocumentName.adding(" (2)", to: name), String(name.prefix(251)) + " (2)")
    }

    func testWhatARowSaysIsShownAsANameThatAPathCanHave() {
        for name in [
            "", ".", "..", "a/b", "/", "a\0", "\0", "../..", String(repeating: ".", count: 300),
            String(repeating: "ä", count: 300) + ".md", "/" + String(repeating: "\u{301}", count: 300),
        ] {
            XCTAssertNil(DocumentName.refusal(of: DocumentName.shown(name)), name)
        }
        XCTAssertEqual(DocumentName.shown("a/b\0c.md"), "a_b_c.md")
        XCTAssertEqual(DocumentName.shown(".."), "_..")
        XCTAssertEqual(DocumentName.shown("as it is"), "as it is")
    }

    func testComposedFormsAreOneForAllSpellings() {
        for (left, right) in [("é", "e\u{301}"), ("Å", "Å"), ("한", "한"), ("ệ", "e\u{302}\u{323}")] {
            XCTAssertEqual(Array(DocumentName.composed(left).utf8), Array(DocumentName.composed(right).utf8))
        }
        XCTAssertNotEqual(DocumentName.composed("ﬁ"), DocumentName.composed("fi"), "a ligature is another name")
        XCTAssertNotEqual(DocumentName.composed("A"), DocumentName.composed("a"))
    }

    /// Letters, dots, slashes, NULs, accents, parts of pictures, and bytes that are no text.
    func testNoTextBreaksARule() throws {
        let parts: [[UInt8]] = ["a", ".", "/", "\0", "\u{301}", "👩‍", "👧", "é", "(2)", " ", "\r", "\n", "ﷺ"].map {
            Array($0.utf8)
        }
        for seed in Seeds(defaultCount: 3000).all {
            var chance = Chance(seed: seed)
            let favorite = chance.pick(parts)
            var bytes: [UInt8] = []
            for _ in 0..<chance.below(chance.oneIn(3) ? 200 : 12) {
                bytes += chance.oneIn(9) ? [UInt8(chance.below(256))] : chance.oneIn(2) ? favorite : chance.pick(parts)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            let shown = DocumentName.shown(text)
            XCTAssertNil(DocumentName.refusal(of: shown), "FERRY_SEED=\(seed)")
            XCTAssertEqual(DocumentName.shown(shown), shown, "FERRY_SEED=\(seed)")
            let numbered = DocumentName.adding(" (\(seed))", to: shown)
            XCTAssertNil(DocumentName.refusal(of: numbered), "FERRY_SEED=\(seed)")
            XCTAssertTrue(numbered.unicodeScalars.contains("("), "FERRY_SEED=\(seed)")
            XCTAssertEqual(DocumentName.composed(text), text, "FERRY_SEED=\(seed)")
            if let path = try? DocumentPath(text) {  // refused
                XCTAssertTrue(path.names.allSatisfy { DocumentName.refusal(of: $0) == nil }, "FERRY_SEED=\(seed)")
                XCTAssertEqual(try DocumentPath(path.description), path, "FERRY_SEED=\(seed)")
            }
        }
    }
}
