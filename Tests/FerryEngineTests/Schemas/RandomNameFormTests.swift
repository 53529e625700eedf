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
        let seeds = Seeds(defaultCount: 8)
        var rows = 0
        for seed in seeds.single.map({ [$0] }) ?? Array(seeds.all) {
            do {
                var history = try TwinHistory(seed: seed)
                rows += try history.play()
            } catch {
                XCTFail("seed \(seed): \(error)")
            }
        }
        XCTAssertGreaterThan(rows, 0)
    }
}

private struct TwinHistory {
    private struct Table {
        var name: String
        var columns: [String]
        /// Exact keys of the names of the key's columns.
        var key: Set<String>
    }

    private let seed: UInt64
    private let fleet: Fleet
    private var chance: Chance

    /// The endings of names that end in 0, 1, 2 and so on: each pair is one text to Swift.
    private static let forms = ["\u{e9}", "e\u{301}", "\u{fc}", "u\u{308}", "\u{e4}", "a\u{308}"]

    init(seed: UInt64) throws {
        self.seed = seed
        chance = Chance(seed: seed)
        fleet = try Fleet()
        let made = RandomSchema.statements(seed: seed)
        let declared = made.declared.map { (exactKey(Self.twins($0)), $1.map(Self.twins)) }
        try fleet.start(
            Self.twins(made.sql),
            selection: TableSelection(declaredIdentities: Dictionary(declared) { first, _ in first }))
        try fleet.join()
    }

    /// `t0`, `t1` and `t0_u1` become twins, and so do `c0` and `c1`, and the key's `a` and `b`.
    private static func twins(_ text: String) -> String {
        var (result, word) = ("", "")
        for byte in text.utf8 {
            let character = Character(Unicode.Scalar(byte))
            if character.isLetter || character.isNumber || character == "_" {
                word.append(character)
                continue
            }
            result += twin(word) + String(character)
            word = ""
        }
        return result + twin(word)
    }

    private static func twin(_ word: String) -> String {
        if word == "a" { return "\u{f1}" }
        if word == "b" { return "n\u{303}" }
        let parts = word.split(separator: "_").map(String.init)
        let areNumbered = parts.allSatisfy { part in
            part.count == 2 && "tcrkfu".contains(part.prefix(1)) && part.last?.wholeNumberValue != nil
        }
        guard areNumbered, !parts.isEmpty else { return word }
        return parts.map { $0.prefix(1) + forms[($0.last?.wholeNumberValue ?? 0) % forms.count] }.joined(separator: "_")
    }

    /// - Returns: the number of rows in the end.
    mutating func play() throws -> Int {
        for _ in 0..<2 {
            for device in 0...1 { try write(device) }
            try fleet.settle()
        }
        try check()
        for device in 0...1 {
            try write(device)
            try fleet.shell(device, renames(device))
            try write(device)
            _ = try fleet.replicas[1 - device].sync()
        }
        try fleet.settle()
        try check()
        try fleet.join()
        try write(2)
        try fleet.settle()
        return try check()
    }

    private func texts(_ device: Int, _ query: String, _ values: FieldValue...) throws -> [String] {
        try fleet.replicas[device].store.read { try $0.rows(query, values: values) }.map { $0[0].text }
    }

    private func tables(_ device: Int) throws -> [Table] {
        let names = try texts(
            device,
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'ferry%' ORDER BY rowid
            """)
        return try names.map { name in
            let columns = "SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0"
            return Table(
                name: name, columns: try texts(device, columns, .text(name)),
                key: Set(try texts(device, columns + " AND pk > 0", .text(name)).map(exactKey)))
        }
    }

    /// Writes rows with few values, so that keys and UNIQUE values meet. A statement that the schema refuses is left out.
    private mutating func write(_ device: Int) throws {
        let tables = try tables(device)
        var statements = [".bail off"]
        for _ in 0..<12 {
            let table = chance.pick(tables)
            let (name, column) = (quoted(table.name), chance.pick(table.columns))
            switch chance.below(5) {
            case 0..<3:
                let columns = table.columns.map(quoted).joined(separator: ", ")
                let values = table.columns.map { _ in "\(1 + chance.below(4))" }.joined(separator: ", ")
                statements.append("INSERT OR IGNORE INTO \(name)(\(columns)) VALUES (\(values));")
            case 3 where !table.key.contains(exactKey(column)):
                let other = quoted(chance.pick(table.columns))
                statements.append(
                    "UPDATE OR IGNORE \(name) SET \(quoted(column)) = \(1 + chance.below(4)) WHERE \(other) > \(chance.below(4));"
                )
            default: statements.append("DELETE FROM \(name) WHERE \(quoted(column)) = \(1 + chance.below(6));")
            }
        }
        // The shell goes on behind a refused statement, and says so in the end.
        do { try fleet.shell(device, statements.joined(separator: "\n")) } catch is FerryError { return }
    }

    /// Each column outside of the key, and each table, gets its twin's form, where the twin does not have it.
    private func renames(_ device: Int) throws -> String {
        func other(_ name: String) -> String {
            let composed = name.precomposedStringWithCanonicalMapping
            return equalBytes(composed, name) ? name.decomposedStringWithCanonicalMapping : composed
        }
        func isFree(_ name: String, among names: [String]) -> Bool {
            !equalBytes(other(name), name) && !names.contains { equalBytes($0, other(name)) }
        }
        var statements = [""]
        let tables = try tables(device)
        for table in tables {
            for column in table.columns
            where !table.key.contains(exactKey(column)) && isFree(column, among: table.columns) {
                statements.append(
                    "ALTER TABLE \(quoted(table.name)) RENAME COLUMN \(quoted(column)) TO \(quoted(other(column)));")
            }
            guard isFree(table.name, among: tables.map(\.name)) else { continue }
            statements.append("ALTER TABLE \(quoted(table.name)) RENAME TO \(quoted(other(table.name)));")
        }
        return statements.joined(separator: "\n")
    }

    /// Integer keys differ from device to device, so verification compares the values, and digests compare the devices.
    @discardableResult
    private func check() throws -> Int {
        let counts = try fleet.replicas.indices.map { device in
            try tables(device).map { try texts(device, "SELECT count(*) FROM \(quoted($0.name))")[0] }
        }
        for other in counts.dropFirst() where other != counts[0] { XCTFail("seed \(seed): \(counts)") }
        for replica in fleet.replicas {
            XCTAssertEqual(try replica.verify(deep: true).differences, [], "seed \(seed)")
            let devices = try replica.status().devices
            XCTAssert(devices.allSatisfy { $0.standing == .inStep }, "seed \(seed): \(devices)")
        }
        try fleet.assertSound()
        return counts[0].reduce(0) { $0 + (Int($1) ?? 0) }
    }
}
