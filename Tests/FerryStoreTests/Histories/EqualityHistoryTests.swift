import FerryTestSupport
import XCTest

@testable import FerryStore

/// Random changes of nearly equal values under UNIQUE constraints as people write them: all devices show the same, which is
/// what verification computes by asking SQLite.
final class EqualityHistoryTests: XCTestCase {
    private static let words = [
        "'Rock'", "'rock'", "'ROCK '", "'rock  '", "''", "' '", "'a' || char(0) || 'b'", "'A' || char(0) || 'c'", "1",
        "'1'",
        "1.0", "' 1'", "0", "-0.0", "9007199254740993", "9007199254740992.0", "9223372036854775807", "9.3e18", "'é'",
        "'É'",
        "x'61'", "'a'", "NULL",
    ]
    private static let tableNames = ["u", "Order", "a b", "t.x", "Größe", "say \"hi\"", "[x", "group"]
    private static let columnNames = ["v", "V w", "select", "na\"me", "ключ", "a.b", "`q`"]
    private static let collations = ["nocase", "NoCase", "RTRIM", "rtrim", "binary", "BINARY", "NOCASE"]
    private static let types = ["", "text", "TEXT", "INTEGER", "int", "Real", "numeric", "varchar(20)", "BLOB"]

    private static func quote(_ name: String, _ chance: inout Chance) -> String {
        switch chance.below(3) {
        case 0 where !name.contains("]"): return "[\(name)]"
        case 1 where !name.contains("`"): return "`\(name)`"
        default: return "\"\(name.replacing("\"", with: "\"\""))\""
        }
    }

    /// A table with a key, a UNIQUE value and one more column, and statements that change it.
    private struct World {
        let sql: String
        let table: String
        let columns: [String]
        /// To an expression the bytes of a blob are another text in UTF-16.
        let words: [String]

        init(_ chance: inout Chance) {
            let collation = { (chance: inout Chance) in
                chance.oneIn(3) ? "" : " \(chance.oneIn(2) ? "collate" : "COLLATE") \(chance.pick(collations))"
            }
            let spelling = chance.pick(tableNames)
            let table = quote(spelling, &chance)
            let key = quote("k", &chance)
            let value = quote(chance.pick(columnNames), &chance)
            let keyType = chance.pick(["integer", "INTEGER", "text", "TEXT", ""])
            let isInteger = keyType.lowercased() == "integer"
            let type = chance.pick(types)
            let isAtColumn = isInteger || chance.oneIn(2)
            var parts = [
                "\(key) \(keyType)" + (isAtColumn ? " \(isInteger ? "" : collation(&chance)) primary key" : ""),
                "\(value) \(type)\(collation(&chance))", "n",
            ]
            var index = ""
            switch chance.below(4) {
            case 0: parts[1] += " \(chance.oneIn(2) ? "unique" : "UNIQUE")"
            case 1:
                let condition = chance.oneIn(2) ? " WHERE \(value) IS NOT 'a'" : ""
                index = "; CREATE UNIQUE INDEX \"on it\" ON \(table)(\(value)\(collation(&chance)) DESC)\(condition)"
            case 2: index = "; create unique index i on \(table)(trim(\(value))\(collation(&chance)))"
            default:
                parts.append("g AS (length(\(value)) || typeof(\(value)))\(chance.oneIn(2) ? " STORED" : "") UNIQUE")
            }
            if !isAtColumn { parts.append("PRIMARY KEY(\(key)\(collation(&chance)))") }
            let clause = !isInteger && chance.oneIn(3) ? " WITHOUT ROWID" : ""
            sql = "CREATE TABLE \(table)(\(parts.joined(separator: ", ")))\(clause)\(index)"
            self.table = table
            columns = [key, value]
            words = EqualityHistoryTests.words.filter { !index.contains("trim") || !$0.hasPrefix("x'") }
        }

        func statement(_ chance: inout Chance) -> String {
            let how = chance.pick(["INSERT OR IGNORE", "INSERT OR REPLACE", "INSERT OR IGNORE"])
            let key = chance.pick(words.dropLast() + ["5", "6", "7"])
            switch chance.below(6) {
            case 0: return "DELETE FROM \(table) WHERE \(columns[0]) = \(key)"
            case 1:
                return "UPDATE OR IGNORE \(table) SET \(columns[1]) = \(chance.pick(words)), n = \(chance.below(9)) "
                    + "WHERE \(columns[0]) = \(key)"
            case 2:
                return
                    "UPDATE OR REPLACE \(table) SET \(columns[chance.below(2)]) = \(key) WHERE n = \(chance.below(9))"
            default:
                return "\(how) INTO \(table)(\(columns.joined(separator: ", ")), n) "
                    + "VALUES (\(key), \(chance.pick(words)), \(chance.below(9)))"
            }
        }
    }

    func testNearlyEqualValuesAreTheSameRowsOnEveryDevice() throws {
        let seeds = Seeds(defaultCount: 60)
        var joined = 0
        for seed in seeds.all {
            var chance = Chance(seed: seed)
            let world = World(&chance)
            let devices = try (1...3).map { try TestDevice($0, TestSchema(name: "world", sql: world.sql)) }
            for _ in 0..<3 {
                for device in devices {
                    for _ in 0..<chance.below(5) {
                        // A key of a wrong type is the app's error, not Ferry's.
                        do { try device.run(world.statement(&chance)) } catch { continue }
                    }
                    device.clock.now += Int64(1 + chance.below(2000))
                    try device.flush()
                }
                var order = Array(devices.indices)
                order.shuffle(using: &chance)
                for to in order { for from in order where from != to { try devices[to].receive(devices[from]) } }
            }
            let shown = try devices.map { device in
                try device.query("SELECT typeof(v), v, n FROM (SELECT \(world.columns[1]) AS v, n FROM \(world.table))")
                    .sorted()
            }
            XCTAssertEqual(shown[0], shown[1], "seed \(seed): \(world.sql)")
            XCTAssertEqual(shown[0], shown[2], "seed \(seed): \(world.sql)")
            joined += try devices[0].query("SELECT 1 FROM ferry_joined").count
            for device in devices {
                let report = try device.store.verify(deep: true)
                XCTAssertTrue(
                    report.isSound,
                    "seed \(seed), device \(device.id.low): \(world.sql) \(report.integrity) \(report.differences)")
            }
        }
        // So many rows were one that the others are no accident.
        XCTAssertTrue(joined >= seeds.count / 8 || seeds.single != nil, "\(joined) rows were joined")
        print("\(seeds.count) histories of nearly equal values, \(joined) rows joined")
    }
}
