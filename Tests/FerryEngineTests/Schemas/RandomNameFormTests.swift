import FerryCore
import FerryEngine
import FerrySQL
import FerrySchema
import FerryStore
import FerryTestSupport
import XCTest

/// Generated schemas in which tables, columns, keys, references and indexes are twins: equal to Swift, and two names to SQLite.
/// Two devices write, rename and write again, and a third one joins. `FERRY_SEEDS`, `FERRY_FIRST_SEED` and `FERRY_SEED` as in
/// `Seeds`.
final class RandomNameFormTests: XCTestCase {
    func testTwinsStayTwoOnEveryDevice() throws {
        let seeds = Seeds(defaultCount: 10)
        for seed in seeds.single.map({ [$0] }) ?? Array(seeds.all) {
            do {
                try TwinHistory(seed: seed).play()
            } catch {
                XCTFail("seed \(seed): \(error)")
            }
        }
    }
}

private struct TwinHistory {
    private let seed: UInt64
    private let fleet = try? Fleet()
    private let sql: String
    private let declared: [String: [String]]

    /// The endings of names that end in 0, 1, 2 and so on: each pair is one text to Swift.
    private static let forms = ["\u{e9}", "e\u{301}", "\u{fc}", "u\u{308}", "\u{e4}", "a\u{308}"]

    init(seed: UInt64) {
        self.seed = seed
        let made = RandomSchema.statements(seed: seed)
        sql = Self.twins(made.sql)
        declared = Dictionary(made.declared.map { (exactKey(Self.twins($0)), $1.map(Self.twins)) }) { first, _ in first }
    }

    /// `t0`, `t1` and `t0_u1` become twins, and so do `c0` and `c1`; the key's `a` and `b` as well.
    private static func twins(_ text: String) -> String {
        var result = ""
        var word = ""
        for scalar in (text + " ").unicodeScalars {
            if scalar.isASCII, scalar.properties.isAlphabetic || scalar == "_" || ("0"..."9").contains(scalar) {
                word.unicodeScalars.append(scalar)
                continue
            }
            result += twin(word)
            result.unicodeScalars.append(scalar)
            word = ""
        }
        return String(String.UnicodeScalarView(result.unicodeScalars.dropLast()))
    }

    private static func twin(_ word: String) -> String {
        if word == "a" { return "\u{f1}" }
        if word == "b" { return "n\u{303}" }
        guard let first = word.first, "tcrkf".contains(first), let last = word.last, let number = last.wholeNumberValue,
            word.count == 2 || word.contains("_u")
        else { return word }
        let middle = word.contains("_u") ? "_" + twin("t" + String(word.dropFirst().prefix(1))) : ""
        return "\(first)\(middle)\(forms[number % forms.count])"
    }

    func play() throws {
        let fleet = try XCTUnwrap(fleet)
        var chance = Chance(seed: seed)
        try fleet.start(sql, selection: TableSelection(declaredIdentities: declared))
        try fleet.join()
        for _ in 0..<2 {
            for device in 0...1 { try write(&chance, device, fleet) }
            try fleet.settle()
        }
        try check(fleet)
        for device in 0...1 {
            let rename = try renames(device, fleet)
            try write(&chance, device, fleet)
            try fleet.shell(device, rename)
            try write(&chance, device, fleet)
            _ = try fleet.replicas[1 - device].sync()
        }
        try fleet.settle()
        try check(fleet)
        try fleet.join()
        try write(&chance, 2, fleet)
        try fleet.settle()
        try check(fleet)
    }

    private func tables(_ device: Int, _ fleet: Fleet) throws -> [(name: String, columns: [String], key: Set<String>)] {
        let list = """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'ferry%' ORDER BY rowid;
            """
        return try lines(fleet.shell(device, list)).map { name in
            let columns = "SELECT name FROM pragma_table_xinfo('\(name)') WHERE hidden = 0"
            return (
                name, lines(try fleet.shell(device, columns + ";")),
                Set(lines(try fleet.shell(device, columns + " AND pk > 0;")).map(exactKey))
            )
        }
    }

    private func lines(_ text: String) -> [String] {
        text.unicodeScalars.split(separator: "\n").map { String($0) }
    }

    /// Writes rows with few values, so that keys and UNIQUE values meet. A statement that the schema refuses is left out.
    private func write(_ chance: inout Chance, _ device: Int, _ fleet: Fleet) throws {
        let tables = try tables(device, fleet)
        for _ in 0..<12 {
            let table = chance.pick(tables)
            let name = quoted(table.name)
            let column = chance.pick(table.columns)
            let statement: String
            switch chance.below(5) {
            case 0..<3:
                let columns = table.columns.map(quoted).joined(separator: ", ")
                let values = table.columns.map { _ in "\(1 + chance.below(4))" }.joined(separator: ", ")
                statement = "INSERT OR IGNORE INTO \(name)(\(columns)) VALUES (\(values));"
            case 3 where !table.key.contains(exactKey(column)):
                let other = quoted(chance.pick(table.columns))
                statement = "UPDATE OR IGNORE \(name) SET \(quoted(column)) = \(1 + chance.below(4)) WHERE \(other) > \(chance.below(4));"
            default: statement = "DELETE FROM \(name) WHERE \(quoted(column)) = \(1 + chance.below(6));"
            }
            do { try fleet.shell(device, statement) } catch is FerryError { continue }
        }
    }

    /// Each column outside of keys and references, and each table, gets its twin's form, where the twin does not have it.
    private func renames(_ device: Int, _ fleet: Fleet) throws -> String {
        func other(_ name: String) -> String {
            let (composed, decomposed) = (name.precomposedStringWithCanonicalMapping, name.decomposedStringWithCanonicalMapping)
            return equalBytes(composed, name) ? decomposed : composed
        }
        var statements: [String] = []
        let tables = try tables(device, fleet)
        for table in tables {
            for column in table.columns where !equalBytes(other(column), column) && !table.key.contains(exactKey(column)) {
                if table.columns.contains(where: { equalBytes($0, other(column)) }) { continue }
                statements.append(
                    "ALTER TABLE \(quoted(table.name)) RENAME COLUMN \(quoted(column)) TO \(quoted(other(column)));")
            }
            if equalBytes(other(table.name), table.name) || tables.contains(where: { equalBytes($0.name, other(table.name)) }) { continue }
            statements.append("ALTER TABLE \(quoted(table.name)) RENAME TO \(quoted(other(table.name)));")
        }
        return statements.joined(separator: "\n")
    }

    private func check(_ fleet: Fleet) throws {
        let all = try fleet.replicas.indices.map { device in
            try tables(device, fleet).map { table in
                // Integer keys may differ from device to device, and so may references to them: their values are compared by verification.
                lines(try fleet.shell(device, "SELECT count(*) FROM \(quoted(table.name));")).joined()
            }
        }
        for rows in all.dropFirst() where rows != all[0] { XCTFail("seed \(seed): \(all)") }
        for replica in fleet.replicas {
            XCTAssertEqual(try replica.verify(deep: true).differences, [], "seed \(seed)")
            let status = try replica.status()
            XCTAssert(status.devices.allSatisfy { $0.standing == .inStep }, "seed \(seed): \(status.devices)")
        }
        try fleet.assertSound()
    }
}
