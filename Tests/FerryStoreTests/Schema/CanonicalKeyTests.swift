import FerryCore
import FerrySQL
import FerrySchema
import FerryTestSupport
import GRDB
import XCTest

@testable import FerryStore

/// The bytes of keys against SQLite's own answer: two values have the same bytes where SQLite takes them for equal.
final class CanonicalKeyTests: XCTestCase {
    /// Values that are nearly equal: letter case, spaces, NULs, numbers as texts, integers as reals, and the edges between
    /// what a double and what an integer can hold.
    private static let texts = [
        "", " ", "  ", "a", "A", "a ", "A  ", " a", "ä", "Ä", "ß", "straße", "STRASSE", "a\u{0}b", "a\u{0}c", "A\u{0}b",
        "a\u{0}bc", "a\u{0}", "\u{0}", "\u{0}\u{0}", "b\u{0}b", "[", "{", "@", "`", "1", "1.0", "01", " 1", "1 ", "1e0",
        "-0", "0", "0.0", "-0.0", "9007199254740993", "9007199254740992", "9223372036854775807", "9223372036854775808",
        "9.2233720368547758e18", "-9223372036854775808", "1e999", "nan", "0x10", "\u{feff}a", "e\u{301}", "é",
    ]
    private static let integers: [Int64] = [
        0, 1, -1, 16, 1 << 53, (1 << 53) + 1, (1 << 53) - 1, -(1 << 53), -(1 << 53) - 1, .max, .max - 1, .min, .min + 1,
        1 << 62, (1 << 62) + 1,
    ]
    private static let reals: [Double] = [
        0, -0.0, 1, 1.5, -1, 9_007_199_254_740_992, 9_007_199_254_740_994, 9.223_372_036_854_775_807e18,
        -9.223_372_036_854_775_808e18, 9.223_372_036_854_774_784e18, 1.844_674_407_370_955_2e19, 1e300, -1e300,
        .infinity, -.infinity, .leastNonzeroMagnitude, 4.611_686_018_427_387_904e18, .nan,
    ]

    private static func values() -> [FieldValue] {
        texts.map { .text(Array($0.utf8)[...]) } + texts.prefix(12).map { .blob(Array($0.utf8)[...]) }
            + integers.map { .integer($0) } + reals.map { .real($0) } + [.null]
    }

    private static func random(_ chance: inout Chance) -> FieldValue {
        switch chance.below(8) {
        case 0: return .integer(Int64(bitPattern: chance.next() >> UInt64(chance.below(64))))
        case 1: return .real(Double(Int64(bitPattern: chance.next() >> UInt64(chance.below(64)))))
        case 2: return .text(Array("\(Int64(bitPattern: chance.next() >> UInt64(chance.below(64))))".utf8)[...])
        default:
            let letters = ["a", "A", "b", " ", "\u{0}", "é", "Z", "z"]
            return .text(Array((0..<chance.below(5)).map { _ in chance.pick(letters) }.joined().utf8)[...])
        }
    }

    func testValuesHaveTheSameBytesWhereSQLiteTakesThemForEqual() throws {
        var chance = Chance(seed: 23)
        let all = Self.values() + (0..<60).map { _ in Self.random(&chance) }
        for collation in ["BINARY", "NOCASE", "RTRIM"] {
            for type in ["", "INTEGER", "TEXT", "REAL", "NUMERIC", "BLOB"] {
                try DatabaseQueue().write { database in
                    let connection = SQLConnection(try XCTUnwrap(database.sqliteConnection))
                    defer { connection.finalizeStatements() }
                    try connection.executeScript("CREATE TABLE value(v \(type) COLLATE \(collation))")
                    for value in all { try connection.execute("INSERT INTO value VALUES (?)", value) }
                    var pairs = 0
                    try connection.forEachRow(
                        "SELECT a.v, b.v, a.v = b.v FROM value AS a JOIN value AS b ON a.rowid < b.rowid"
                    ) { row in
                        let (left, right) = (row.value(0), row.value(1))
                        if left == .null || right == .null { return }
                        pairs += 1
                        XCTAssertEqual(
                            Self.bytes(left, collation) == Self.bytes(right, collation), row.int(2) == 1,
                            "\(left) and \(right), \(type) \(collation)")
                    }
                    XCTAssertGreaterThan(pairs, 9000)
                }
            }
        }
    }

    func testNoValueThatSQLiteStoresAsNullClaimsAnything() {
        let table = TrackedTable(
            id: 1, name: "t", identity: .surrogate, isLocal: true, columns: [], keyColumns: ["id"])
        XCTAssertNil(table.uniqueToken([.real(.nan)], names: ["i"], collations: ["BINARY"]))
        XCTAssertNil(table.uniqueToken([.null], names: ["i"], collations: ["BINARY"]))
        XCTAssertNotNil(table.uniqueToken([.real(.infinity)], names: ["i"], collations: ["BINARY"]))
    }

    private static func bytes(_ value: FieldValue, _ collation: String) -> ObjectID {
        var key = CanonicalKey(table: "t")
        key.append(value, collation: collation)
        return key.id
    }
}
