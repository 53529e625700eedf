import FerryCore
import XCTest

/// Names are one where SQLite takes them for one: by bytes, with ASCII letters folded.
final class TableNamesTests: XCTestCase {
    private let composed = "caf\u{e9}"
    private let decomposed = "cafe\u{301}"

    /// Names that Swift or a careless key could take for another one of them.
    private var names: [String] {
        [
            "cafe", "café", composed, decomposed, "caf", "café ", "cafè", "K", "\u{212a}", "å", "a\u{30a}", "\u{212b}",
            "\u{f1}o",
            "n\u{303}o", "\u{7f}", "\u{7f}c3", "\u{7f}c3\u{7f}a9", "c3a9", "e\u{301}\u{327}", "e\u{327}\u{301}",
            "ferry_\u{301}", "", " ",
        ]
    }

    private func bytes(_ name: String) -> [UInt8] {
        name.utf8.map { (0x41...0x5a).contains($0) ? $0 + 0x20 : $0 }
    }

    func testKeysAreEqualWhereSQLiteTakesNamesForOne() {
        for left in names {
            for right in names {
                let areOne = bytes(left) == bytes(right)
                XCTAssertEqual(foldedName(left) == foldedName(right), areOne, "\(left) \(right)")
                XCTAssertEqual(equalNames(left, right), areOne, "\(left) \(right)")
                XCTAssertEqual(
                    exactKey(left) == exactKey(right), Array(left.utf8) == Array(right.utf8), "\(left) \(right)")
            }
        }
        XCTAssertEqual(Set([composed, decomposed].map(foldedName)).count, 2)
        XCTAssertEqual(composed, decomposed, "what Swift takes for equal")
    }

    func testRandomNamesHaveKeysOfTheirOwn() {
        let parts = [
            "e", "E", "\u{301}", "\u{e9}", "\u{327}", "\u{7f}", "c3", "a9", "0", "\u{1}", "ß", "K", "\u{212a}", "日",
        ]
        var generator = SystemRandomNumberGenerator()
        var known: [String: [UInt8]] = [:]
        for _ in 0..<20_000 {
            let name = (0..<Int.random(in: 0...5, using: &generator)).compactMap { _ in
                parts.randomElement(using: &generator)
            }.joined()
            let key = foldedName(name)
            XCTAssert(key.utf8.allSatisfy { $0 < 0x80 }, name)
            XCTAssertEqual(known.updateValue(bytes(name), forKey: key) ?? bytes(name), bytes(name), name)
        }
    }

    func testAKeyStandsForItsName() {
        for name in names {
            let key = foldedName(name)
            XCTAssertEqual(foldedName(key), key)
            XCTAssertEqual(exactKey(exactKey(name)), exactKey(name))
            XCTAssertEqual(Array(plainText(exactKey(name)).utf8), Array(name.utf8))
            XCTAssertEqual(Array(foldedText(key).utf8), bytes(name))
            XCTAssertEqual(Array(foldedText(name).utf8), bytes(name))
            XCTAssert(equalNames(key, name) && equalNames(name, key) && equalNames(key, key), name)
            for other in names where bytes(other) != bytes(name) {
                XCTAssertFalse(equalNames(key, other), "\(name) \(other)")
            }
        }
        XCTAssertFalse(equalNames(foldedName(composed), decomposed))
    }

    func testKeysOfASCIINamesAreTheNamesInLowerCase() {
        for name in ["Song", "song", "a b", "SONG_1", "{}~"] { XCTAssertEqual(foldedName(name), name.lowercased()) }
        XCTAssert(isFerryName("Ferry_x") && isFerryName("ferry_\u{301}") && !isFerryName("ferr\u{79}"))
    }

    func testKeysHaveTheOrderOfBytes() {
        let sorted = names.filter { !$0.contains("\u{7f}") }.sorted { foldedName($0) < foldedName($1) }
        for (left, right) in zip(sorted, sorted.dropFirst()) {
            XCTAssertFalse(bytes(right).lexicographicallyPrecedes(bytes(left)), "\(left) \(right)")
        }
    }

    func testTextsHashedOneAfterTheOtherKeepSwiftsOrder() {
        XCTAssert(textOrder(decomposed, composed) != textOrder(composed, decomposed))
        for left in names {
            for right in names where left != right { XCTAssertEqual(textOrder(left, right), left < right) }
        }
    }

    func testNotesOfAnEarlierFerryAreReadByKeys() {
        XCTAssertEqual([composed: 1, "song": 2].byNameKeys, [foldedName(composed): 1, "song": 2])
        XCTAssertEqual([foldedName(composed): 1].byNameKeys, [foldedName(composed): 1])
        XCTAssertEqual(["CAFÉ": 1].byExactKeys, [exactKey("CAFÉ"): 1])
    }

    func testStoredTextsCountByTheirBytes() {
        func column(_ name: String) -> RenamedColumn { RenamedColumn(name: name, localName: "x") }
        XCTAssertEqual(column(composed), column(composed))
        XCTAssertNotEqual(column(composed), column(decomposed))
        XCTAssertEqual(Set([column(composed), column(decomposed)]).count, 2)
        XCTAssertNotEqual(TableIdentity.key([composed]), .key([decomposed]))
        XCTAssertNotEqual(
            TrackedTableRecord(name: "t", identity: .surrogate, localName: composed),
            .init(name: "t", identity: .surrogate))
        XCTAssertFalse(equalBytes(PolicyTarget.table(composed).text, PolicyTarget.table(decomposed).text))
        XCTAssertEqual(PolicyTarget(text: "column:t.\u{301}x"), .column(table: "t", column: "\u{301}x"))
    }

    func testAStoredTextIsWrittenAsIfNothingWereAroundIt() throws {
        let column = RenamedColumn(name: decomposed, localName: "x")
        let data = try JSONEncoder().encode(column)
        let text = try XCTUnwrap(JSONSerialization.jsonObject(with: data) as? [String: String])
        XCTAssertEqual(text, ["name": decomposed, "localName": "x"])
        XCTAssertEqual(try JSONDecoder().decode(RenamedColumn.self, from: data), column)
    }
}
