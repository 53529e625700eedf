import FerryTestSupport
import Foundation
import XCTest

@testable import FerryStore

/// Rows that two devices make together and that the schema refuses (rule 4), which general random histories hardly ever
/// meet: a few rows under CHECK constraints over several columns, joined by a UNIQUE name, and what refers to them.
final class RandomRefusalTests: XCTestCase {
    private static let schema = TestSchema(
        name: "limits",
        sql: """
            CREATE TABLE span(
                id INTEGER PRIMARY KEY, name TEXT UNIQUE, lo INTEGER DEFAULT 1, hi INTEGER DEFAULT 3,
                CHECK (lo <= hi), CHECK (name <> 'a' OR hi > 3), CHECK (name <> 'b' OR lo < 2));
            CREATE TABLE part(
                span INTEGER NOT NULL REFERENCES span(id), word TEXT, other INTEGER REFERENCES span(id) ON DELETE SET NULL,
                PRIMARY KEY(span, word), CHECK (span <> other)) WITHOUT ROWID;
            """)

    func testRefusedRowsAreThoseOfTheOracle() throws {
        let seeds = Seeds(defaultCount: 150)
        let oracle = try Oracle(Self.schema)
        var refused = 0
        for seed in seeds.all { refused += try play(seed, oracle) }
        XCTAssertGreaterThan(refused, seeds.count / 10, "hardly any row was refused")
    }

    /// - Returns: how many refused objects were met.
    private func play(_ seed: UInt64, _ oracle: Oracle) throws -> Int {
        var chance = Chance(seed: seed)
        var story: [String] = []
        let devices = try (1...3).map { try TestDevice($0, Self.schema) }
        try devices[0].run(
            """
            INSERT INTO span VALUES (1, 'c', 1, 3), (2, 'd', 0, 5), (3, 'e', 2, 2);
            INSERT INTO part VALUES (1, 'x', 2), (2, 'y', NULL), (3, 'x', 1);
            """)
        try devices[0].flush()
        for device in devices.dropFirst() { try device.receive(devices[0]) }
        var refused = 0
        for _ in 0..<8 {
            for device in devices where !chance.oneIn(4) {
                device.clock.now += Int64(chance.below(3)) * 500
                let statement = self.statement(&chance)
                story.append("\(device.id.low): \(statement)")
                device.runTolerating([statement], foreignKeys: true)
                try device.flush()
            }
            let reader = chance.pick(devices)
            let news = devices.filter { $0.id != reader.id && !chance.oneIn(3) }.flatMap { reader.news(from: $0) }
            story.append(
                "\(reader.id.low): pass \(news.map { "\($0.device.low)/\($0.sequence)" }.joined(separator: " "))")
            try reader.pass(news)
            refused += try check(reader, oracle, seed, story)
        }
        for device in devices {
            try device.pass(devices.filter { $0.id != device.id }.flatMap { device.news(from: $0) })
            refused += try check(device, oracle, seed, story)
        }
        return refused
    }

    private func statement(_ chance: inout Chance) -> String {
        let key = 1 + chance.below(4)
        let number = chance.below(6)
        let name = chance.pick(["a", "b", "c", "d", "e"])
        switch chance.below(9) {
        case 0, 1: return "UPDATE span SET lo = \(number) WHERE id = \(key)"
        case 2, 3: return "UPDATE span SET hi = \(number) WHERE id = \(key)"
        case 4: return "UPDATE span SET name = '\(name)' WHERE id = \(key)"
        case 5: return "INSERT INTO span(name, lo, hi) VALUES ('\(name)', \(number), \(number + 1))"
        case 6: return "UPDATE part SET other = \(number) WHERE span = \(key)"
        case 7: return "INSERT INTO part VALUES (\(key), '\(name)', \(number))"
        default: return "DELETE FROM \(chance.pick(["span", "part"])) WHERE \(chance.pick(["lo", "span"])) = \(key)"
        }
    }

    private func check(_ device: TestDevice, _ oracle: Oracle, _ seed: UInt64, _ story: [String]) throws -> Int {
        var complaints = try oracle.complaints(about: device)
        complaints += try device.store.verify(deep: true).differences.map {
            "verify: \($0.table) \($0.key) \($0.kind): \($0.problem)"
        }
        XCTAssertEqual(complaints, [], "seed \(seed), device \(device.id.low)\n\(story.joined(separator: "\n"))")
        return try device.query("SELECT 1 FROM ferry_exception WHERE kind = \(AnomalyKind.refused.rawValue)").count
    }
}
