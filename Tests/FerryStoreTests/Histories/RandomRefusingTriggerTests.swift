import FerryTestSupport
import XCTest

@testable import FerryStore

/// Random histories of devices whose triggers refuse, by a row's own values and by other rows, in every way that RAISE knows.
/// Beside them triggers keep a copy of each table in one that stays: after each pass it has what the table has.
final class RandomRefusingTriggerTests: XCTestCase {
    private static let tables = """
        CREATE TABLE bill(id INTEGER PRIMARY KEY, status TEXT DEFAULT 'open', number INTEGER UNIQUE);
        CREATE TABLE "line of"(
            id INTEGER PRIMARY KEY, bill INTEGER NOT NULL REFERENCES bill(id) ON DELETE CASCADE, amount INTEGER,
            tag TEXT REFERENCES tag(name) ON DELETE SET NULL);
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, color TEXT UNIQUE) WITHOUT ROWID;
        """
    private static let columns = [
        "bill": ["id", "status", "number"], "line of": ["id", "bill", "amount", "tag"], "tag": ["name", "color"],
    ]

    /// In every third history nothing refuses, so that it meets all that the others do.
    private func schema(_ chance: inout Chance) -> TestSchema {
        var sql = Self.tables
        let count = chance.oneIn(3) ? 0 : 1 + chance.below(6)
        let mirrors = Self.columns.keys.sorted().map { mirror($0) }.joined()
        // The order in which triggers are made is that in which SQLite runs them, or the reverse.
        let isFirst = chance.oneIn(2)
        if isFirst { sql += mirrors }
        for number in 0..<count { sql += refusal(number, &chance) }
        if !isFirst { sql += mirrors }
        return TestSchema(name: "refusing", sql: sql, staying: Self.columns.keys.sorted().map { "mirror of \($0)" })
    }

    private func mirror(_ table: String) -> String {
        let columns = Self.columns[table] ?? []
        func row(_ name: String) -> String { columns.map { "\(name).\($0)" }.joined(separator: ", ") }
        let delete = "DELETE FROM \"mirror of \(table)\" WHERE k0 = old.\(columns[0]);"
        let insert = "INSERT INTO \"mirror of \(table)\" VALUES (\(row("new")));"
        let slots = columns.indices.map { "k\($0)" }.joined(separator: ", ")
        return """
            CREATE TABLE "mirror of \(table)"(\(slots));
            CREATE TRIGGER "\(table) i" AFTER INSERT ON "\(table)" BEGIN \(insert) END;
            CREATE TRIGGER "\(table) d" AFTER DELETE ON "\(table)" BEGIN \(delete) END;
            CREATE TRIGGER "\(table) u" AFTER UPDATE ON "\(table)" BEGIN \(delete) \(insert) END;
            """
    }

    private func refusal(_ number: Int, _ chance: inout Chance) -> String {
        let table = chance.pick(Self.columns.keys.sorted())
        let event = chance.pick(["INSERT", "UPDATE", "DELETE"])
        let row = event == "DELETE" || event == "UPDATE" && chance.oneIn(2) ? "old" : "new"
        let column = chance.pick(Self.columns[table] ?? [])
        let conditions = [
            "\(row).\(column) IN (1, 'a', 'closed')",
            "(SELECT count(*) FROM \"\(table)\") % 3 = 1",
            "(SELECT count(*) FROM bill WHERE status = 'closed') > 0",
            "EXISTS (SELECT 1 FROM \"\(table)\" AS other WHERE other.\(column) = \(row).\(column))",
        ]
        let condition = chance.pick(conditions)
        // What FAIL leaves done by half, and IGNORE after the fact, would leave the copies wrong by the app's own doing.
        let kind = chance.pick([
            "ABORT, 'no'", event == "INSERT" ? "FAIL, 'no'" : "ABORT, 'no'", "ROLLBACK, 'no'", "IGNORE",
        ])
        let mayBeAfter = kind.hasPrefix("ABORT") || kind.hasPrefix("ROLLBACK")
        let time = mayBeAfter ? chance.pick(["BEFORE", "AFTER"]) : "BEFORE"
        return chance.oneIn(2)
            ? "CREATE TRIGGER r\(number) \(time) \(event) ON \"\(table)\" WHEN \(condition) BEGIN SELECT RAISE(\(kind)); END;"
            : "CREATE TRIGGER r\(number) \(time) \(event) ON \"\(table)\" "
                + "BEGIN SELECT CASE WHEN \(condition) THEN RAISE(\(kind)) END; END;"
    }

    func testTriggersThatRefuseChangeNoRowOfAReplay() throws {
        // The oracle knows the tables that travel, and no trigger.
        let oracle = try Oracle(TestSchema(name: "tables", sql: Self.tables))
        for seed in Seeds(defaultCount: 60).all { try play(seed, oracle) }
    }

    private func play(_ seed: UInt64, _ oracle: Oracle) throws {
        var chance = Chance(seed: seed)
        let schema = schema(&chance)
        var story = [schema.sql]
        let devices = try (1...3).map { try TestDevice($0, schema) }
        for _ in 0..<8 {
            for device in devices where !chance.oneIn(4) {
                device.clock.now += Int64(chance.below(3)) * 500
                for _ in 0...chance.below(3) {
                    let statement = statement(&chance)
                    story.append("\(device.id.low): \(statement)")
                    // What a trigger refuses, the app does not do.
                    try? device.run(statement)
                }
                try device.flush()
            }
            let reader = chance.pick(devices)
            let news = devices.filter { $0.id != reader.id && !chance.oneIn(3) }.flatMap { reader.news(from: $0) }
            story.append("\(reader.id.low): pass \(news.map { "\($0.device.low)/\($0.sequence)" })")
            try reader.pass(news)
            try check(reader, oracle, seed, story)
        }
        let fresh = try TestDevice(9, schema)
        for device in devices + [fresh] {
            try device.pass(devices.filter { $0.id != device.id }.flatMap { device.news(from: $0) })
            try check(device, oracle, seed, story)
        }
    }

    private func statement(_ chance: inout Chance) -> String {
        let key = 1 + chance.below(4)
        let number = chance.below(5)
        let status = chance.pick(["open", "closed"])
        let name = chance.pick(["a", "b", "c"])
        switch chance.below(11) {
        case 0: return "INSERT INTO bill(status, number) VALUES ('\(status)', \(number))"
        case 1: return "UPDATE bill SET status = '\(status)' WHERE id = \(key)"
        case 2: return "UPDATE bill SET number = \(number) WHERE id = \(key)"
        case 3: return "DELETE FROM bill WHERE id = \(key)"
        case 4, 5: return "INSERT INTO \"line of\"(bill, amount, tag) VALUES (\(key), \(number), '\(name)')"
        case 6: return "UPDATE \"line of\" SET amount = \(number), tag = '\(name)' WHERE id = \(key)"
        case 7: return "DELETE FROM \"line of\" WHERE id = \(key)"
        case 8: return "INSERT INTO tag VALUES ('\(name)', '\(number)')"
        case 9: return "UPDATE tag SET color = '\(number)' WHERE name = '\(name)'"
        default: return "DELETE FROM tag WHERE name = '\(name)'"
        }
    }

    private func check(_ device: TestDevice, _ oracle: Oracle, _ seed: UInt64, _ story: [String]) throws {
        var complaints = try oracle.complaints(about: device)
        complaints += try device.store.verify(deep: true).differences.map {
            "verify: \($0.table) \($0.key) \($0.kind): \($0.problem)"
        }
        for table in Self.columns.keys.sorted() {
            let rows = try device.query("SELECT * FROM \"\(table)\" ORDER BY 1")
            let mirror = try device.query("SELECT * FROM \"mirror of \(table)\" ORDER BY 1")
            if rows != mirror { complaints.append("mirror of \(table): \(mirror), not \(rows)") }
        }
        XCTAssertEqual(complaints, [], "seed \(seed), device \(device.id.low)\n\(story.joined(separator: "\n"))")
    }
}
