import FerryCore
import FerryEngine
import FerryStore
import Foundation
import XCTest

@testable import FerryKeyValue

final class StoredValuesTests: XCTestCase {
    private struct Article: Codable, Equatable {
        var title: String
        var score: Double
        var tags: [String]
        var date: Date
    }

    private let samples: [String: KeyValue] = [
        "empty": "", "text": "größer 🎻 \u{0} nul", "min": .integer(.min), "max": .integer(.max), "zero": 0,
        "double": 0.1, "whole": 2.0, "negative zero": .double(-0.0), "nan": .double(.nan),
        "infinite": .double(.infinity),
        "minus infinite": .double(-.infinity), "tiny": .double(.leastNonzeroMagnitude), "true": true, "false": false,
        "data": .data(Data([0, 1, 255])), "no data": .data(Data()),
        "date": .date(Date(timeIntervalSinceReferenceDate: 0.1)),
        "json": .json("{\"a\":1}"), "array": ["a", 1, 2.5, true, [], .data(Data([1]))], "empty array": [],
        "dictionary": ["a": 1, "b": ["c": .double(.nan)]], "empty dictionary": [:], "数": "数",
    ]

    func testEveryKindOfValueSurvivesTheJourney() throws {
        let pair = try TwoStores()
        for (key, value) in samples { try pair.first.set(value, forKey: key) }
        XCTAssertEqual(try pair.first.dictionaryRepresentation(), samples)
        try pair.settle()
        XCTAssertEqual(try pair.second.dictionaryRepresentation(), samples)
        guard case .double(let zero)? = try pair.second.value(forKey: "negative zero") else { return XCTFail() }
        XCTAssertEqual(zero.sign, .minus)
        guard case .double? = try pair.second.value(forKey: "whole") else {
            return XCTFail("a double became an integer")
        }
    }

    func testGettersConvertNumbersAndNothingElse() throws {
        let pair = try TwoStores()
        let store = pair.first
        try store.set("7", forKey: "s")
        try store.set(7, forKey: "i")
        try store.set(7.9, forKey: "d")
        try store.set(true, forKey: "b")
        try store.set(1e300, forKey: "huge")
        XCTAssertEqual(try store.string(forKey: "s"), "7")
        XCTAssertNil(try store.string(forKey: "i"))
        XCTAssertEqual(try store.int64(forKey: "s"), 0)
        XCTAssertEqual(try store.int64(forKey: "d"), 7)
        XCTAssertEqual(try store.longLong(forKey: "b"), 1)
        XCTAssertEqual(try store.int64(forKey: "huge"), .max)
        XCTAssertEqual(try store.double(forKey: "i"), 7)
        XCTAssertTrue(try store.bool(forKey: "i"))
        XCTAssertFalse(try store.bool(forKey: "s"))
        XCTAssertFalse(try store.bool(forKey: "nothing"))
        XCTAssertEqual(try store.int64(forKey: "nothing"), 0)
        XCTAssertNil(try store.data(forKey: "nothing"))
        XCTAssertNil(try store.date(forKey: "i"))
        XCTAssertNil(try store.array(forKey: "i"))
        XCTAssertNil(try store.dictionary(forKey: "i"))
    }

    func testPropertyListsAreTakenOverAndOtherObjectsRefused() throws {
        let pair = try TwoStores()
        let store = pair.first
        let list: [String: Any] = [
            "a": [1, 2.5, "x", true] as [Any], "d": Data([1]), "t": Date(timeIntervalSince1970: 0),
        ]
        try store.setObject(list, forKey: "list")
        XCTAssertEqual(
            try store.value(forKey: "list"),
            ["a": [1, 2.5, "x", true], "d": .data(Data([1])), "t": .date(Date(timeIntervalSince1970: 0))])
        XCTAssertEqual((try store.object(forKey: "list") as? [String: Any])?.count, 3)
        assertFails(.invalidArgument) { try store.setObject(Locale(identifier: "de"), forKey: "list") }
        assertFails(.invalidArgument) { try store.setObject([UInt64.max], forKey: "list") }
        try store.setObject(nil, forKey: "list")
        XCTAssertNil(try store.object(forKey: "list"))
    }

    func testCodableValuesTravel() throws {
        let pair = try TwoStores()
        let article = Article(title: "T", score: .infinity, tags: ["a/b"], date: Date(timeIntervalSince1970: 1.5))
        try pair.first.setCodable(article, forKey: "article")
        try pair.first.setCodable(3, forKey: "number")
        try pair.settle()
        XCTAssertEqual(try pair.second.value(Article.self, forKey: "article"), article)
        XCTAssertEqual(try pair.second.value(Int.self, forKey: "number"), 3)
        XCTAssertNil(try pair.second.value(Article.self, forKey: "nothing"))
        try pair.first.set("text", forKey: "text")
        assertFails(.invalidArgument) { _ = try pair.first.value(Article.self, forKey: "number") }
        assertFails(.invalidArgument) { _ = try pair.first.value(Article.self, forKey: "text") }
    }

    func testTheNewestWriteWinsAndRemovalIsAWrite() throws {
        let pair = try TwoStores()
        try pair.first.set("a", forKey: "k")
        try pair.first.set("a", forKey: "gone")
        try pair.settle()
        try pair.first.set(1, forKey: "k")
        pair.waitForALaterMillisecond()
        try pair.second.set(true, forKey: "k")
        try pair.second.removeObject(forKey: "gone")
        try pair.settle()
        for store in pair.stores {
            XCTAssertEqual(try store.value(forKey: "k"), true)
            XCTAssertNil(try store.value(forKey: "gone"))
        }
    }

    func testSettingWhatIsThereSendsNothing() throws {
        let pair = try TwoStores()
        try pair.first.set(["a": 1, "b": 2], forKey: "k")
        try pair.settle()
        try pair.first.set(["b": 2, "a": 1], forKey: "k")
        try pair.first.removeValue(forKey: "nothing")
        XCTAssertFalse(try pair.engines[0].replica.sync().hasNews)
    }

    func testKeysAreComparedAsSwiftComparesThem() throws {
        let pair = try TwoStores()
        let store = pair.first
        try store.set(1, forKey: "caf\u{e9}")
        try store.set(2, forKey: "cafe\u{301}")
        XCTAssertEqual(try store.int64(forKey: "caf\u{e9}"), 2)
        XCTAssertEqual(try store.dictionaryRepresentation().count, 1)
    }

    func testValuesPersist() throws {
        let pair = try TwoStores()
        try pair.first.set("there", forKey: "k")
        let again = try KeyValueStore(Store(path: pair.databasePath(0)))
        XCTAssertEqual(try again.string(forKey: "k"), "there")
    }

    func testBeyondALimitNothingChanges() throws {
        var limits = KeyValueLimits()
        limits.keyBytes = 4
        limits.valueBytes = 10
        limits.keys = 2
        let pair = try TwoStores(limits: limits)
        let store = pair.first
        assertFails(.invalidArgument) { try store.set(1, forKey: "") }
        assertFails(.limitExceeded, naming: "keyBytes") { try store.set(1, forKey: "12345") }
        assertFails(.limitExceeded, naming: "valueBytes") { try store.set("12345678901", forKey: "k") }
        try store.set("1234567890", forKey: "a")
        try store.set(1, forKey: "b")
        assertFails(.limitExceeded, naming: "keys") { try store.set(1, forKey: "c") }
        assertFails(.limitExceeded, naming: "keys") { try store.set(1, forKey: "d") }
        try store.set(2, forKey: "b")
        try store.removeValue(forKey: "a")
        try store.set(1, forKey: "c")
        XCTAssertEqual(try store.dictionaryRepresentation(), ["b": 2, "c": 1])
        var deep: KeyValue = []
        for _ in 0..<100 { deep = [deep] }
        assertFails(.limitExceeded, naming: "maximumDepth") { try store.set(deep, forKey: "b") }
    }

    func testAnUntrackedDatabaseIsRefused() throws {
        let pair = try TwoStores()
        let path = pair.folder.appendingPathComponent("plain.sqlite").path
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        assertFails(.notTracked) { _ = try KeyValueStore(Store(path: path)) }
    }

    func testForeignBlobsAreData() {
        XCTAssertEqual(KeyValueCoding.decode(.blob([])), .data(Data()))
        XCTAssertEqual(KeyValueCoding.decode(.blob([1, 2, 3])), .data(Data([1, 2, 3])))
        // A count of more elements than there are bytes.
        let hostile: [UInt8] = [UInt8(ascii: "a"), 0xff, 0xff, 0xff, 0xff, 0x0f]
        XCTAssertEqual(KeyValueCoding.decode(.blob(hostile[...])), .data(Data(hostile)))
    }
}
