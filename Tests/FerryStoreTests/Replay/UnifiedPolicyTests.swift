import FerryCore
import FerryMerge
import FerrySchema
import FerryTestSupport
import XCTest

@testable import FerryReferenceModel
@testable import FerryStore

/// Columns under a policy in rows that are one row, because they claim one UNIQUE value.
final class UnifiedPolicyTests: XCTestCase {
    private static let tags = TestSchema(
        name: "tags",
        sql: """
            CREATE TABLE tag(
                id INTEGER PRIMARY KEY, name TEXT UNIQUE, uses INTEGER DEFAULT 0, best INTEGER, words TEXT, note TEXT);
            """)

    private static let columns: [String: ColumnPolicy] = [
        "tag.uses": .counter, "tag.best": .max, "tag.words": .set,
    ]

    private func devices(_ count: Int, hoursAhead: [Int64] = []) throws -> [TestDevice] {
        let devices = try (1...count).map { number in
            try TestDevice(number, Self.tags, hoursAhead: hoursAhead.count >= number ? hoursAhead[number - 1] : 0)
        }
        try devices[0].store.setPolicies(
            Self.columns.map { PolicySetting(try XCTUnwrap(PolicyTarget(text: $0.key)), $0.value.word) })
        try exchange(devices)
        return devices
    }

    private func exchange(_ devices: [TestDevice]) throws {
        for device in devices { try device.flush() }
        for _ in 0..<2 {
            for device in devices {
                for other in devices where other.id != device.id { try device.receive(other) }
            }
        }
    }

    private func assertAll(
        _ devices: [TestDevice], show query: String, _ expected: [String], file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let oracle = try Oracle(Self.tags, columns: Self.columns)
        for device in devices {
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query(query), expected, name, file: file, line: line)
            XCTAssertEqual(try oracle.complaints(about: device), [], name, file: file, line: line)
            XCTAssertEqual(
                try device.store.verify(deep: true).differences.map { "\($0)" }, [], name, file: file, line: line)
        }
    }

    func testAdditionsToAUnifiedRowAddUpOnceEach() throws {
        for (first, second) in [(50, 3), (3, 50), (0, 0), (7, 7)] {
            let all = try devices(3)
            try all[0].run("INSERT INTO tag(name, uses) VALUES ('jazz', \(first))")
            all[1].clock.now += 1000
            try all[1].run("INSERT INTO tag(name, uses) VALUES ('jazz', \(second))")
            try exchange(all)
            try assertAll(all, show: "SELECT uses FROM tag", ["\(second)"])
            for round in 1...3 {
                for (place, device) in all.enumerated() {
                    device.clock.now += Int64(3 - place) * 500
                    try device.run("UPDATE tag SET uses = uses + 1")
                    try device.flush()
                    XCTAssertEqual(try device.query("SELECT uses FROM tag"), ["\(second + 3 * round - 2)"])
                }
                try exchange(all)
                try assertAll(all, show: "SELECT uses FROM tag", ["\(second + 3 * round)"])
            }
        }
    }

    func testAnAdditionToASingleObjectIsTheObjectsAlone() throws {
        let all = try devices(3)
        try all[0].run("INSERT INTO tag(name, uses) VALUES ('jazz', 50)")
        try all[0].flush()
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO tag(name, uses) VALUES ('jazz', 3)")
        try all[1].flush()
        // The third device knows the shown object alone, the first neither.
        try all[2].receive(all[1])
        try all[2].run("UPDATE tag SET uses = uses + 10")
        try all[1].receive(all[0])
        try all[1].run("UPDATE tag SET uses = uses + 1")
        all[0].clock.now += 9000
        try all[0].run("UPDATE tag SET uses = uses + 100")
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag", ["14"])
    }

    func testRowsThatComeApartKeepTheAdditionsOfBoth() throws {
        let all = try devices(2)
        try all[0].run("INSERT INTO tag(name, uses) VALUES ('jazz', 50)")
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO tag(name, uses) VALUES ('jazz', 3)")
        try exchange(all)
        for device in all { try device.run("UPDATE tag SET uses = uses + 1") }
        try exchange(all)
        try all[0].run("UPDATE tag SET name = NULL")
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag ORDER BY uses", ["5", "52"])
    }

    func testAValueThatIsNoAdditionIsANewBaseOfEveryObject() throws {
        let all = try devices(2)
        try all[0].run("INSERT INTO tag(name, uses) VALUES ('jazz', 50)")
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO tag(name, uses) VALUES ('jazz', NULL)")
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag", ["NULL"])
        try all[0].run("UPDATE tag SET uses = 5")
        try exchange(all)
        for device in all { try device.run("UPDATE tag SET uses = uses + 1") }
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag", ["7"])
    }

    func testAnAdditionLeavesAnObjectWithoutANumberAsItIs() throws {
        let all = try devices(2)
        try all[0].run("INSERT INTO tag(name, uses) VALUES ('jazz', NULL)")
        all[1].clock.now += 1000
        try all[1].run("INSERT INTO tag(name, uses) VALUES ('jazz', 3)")
        try exchange(all)
        for device in all { try device.run("UPDATE tag SET uses = uses + 1") }
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag", ["5"])
        try all[1].run("UPDATE tag SET name = NULL")
        try exchange(all)
        try assertAll(all, show: "SELECT uses FROM tag ORDER BY uses", ["NULL", "5"])
    }

    func testTheGreatestValueAndTheElementsOfAUnifiedRowMergeToo() throws {
        let all = try devices(2)
        try all[0].run(#"INSERT INTO tag(name, best, words) VALUES ('jazz', 10, '["a","x"]')"#)
        all[1].clock.now += 1000
        try all[1].run(#"INSERT INTO tag(name, best, words) VALUES ('jazz', 5, '["b","c"]')"#)
        try exchange(all)
        try assertAll(all, show: "SELECT best, words FROM tag", [#"5|["b","c"]"#])
        all[0].clock.now += 1000
        try all[0].run(#"UPDATE tag SET best = 9, words = '["b","c","n"]'"#)
        all[1].clock.now += 5000
        try all[1].run(#"UPDATE tag SET best = 7, words = '["c"]'"#)
        try exchange(all)
        try assertAll(all, show: "SELECT best, words FROM tag", [#"9|["c","n"]"#])
    }

    /// Additions, bases, names that come and go, on devices that hear of each other at random.
    func testRandomHistoriesOfUnifiedCountersConverge() throws {
        for seed in UInt64(1)...40 { try play(seed) }
    }

    private func play(_ seed: UInt64) throws {
        var chance = Chance(seed: seed &+ 77)
        let all = try devices(3, hoursAhead: (0..<3).map { _ in Int64(chance.below(2)) })
        for _ in 0..<40 {
            let device = chance.pick(all)
            device.clock.now += Int64(chance.below(3)) * 400
            if chance.oneIn(3) {
                let other = chance.pick(all)
                if other.id != device.id { try device.pass(device.news(from: other, limit: 1 + chance.below(3))) }
                continue
            }
            device.runTolerating([statement(&chance)], foreignKeys: true)
            guard chance.oneIn(2) else { continue }
            let before = try device.query(Self.named)
            let count = device.log.count
            try device.flush()
            // What was written is what is shown.
            if device.log.count > count { XCTAssertEqual(try device.query(Self.named), before, "seed \(seed)") }
        }
        try exchange(all)
        let oracle = try Oracle(Self.tags, columns: Self.columns)
        for device in all {
            XCTAssertEqual(try oracle.complaints(about: device), [], "seed \(seed), device \(device.id.low)")
            XCTAssertEqual(try device.store.verify(deep: true).differences.map { "\($0)" }, [], "seed \(seed)")
        }
        // Every device counts on what all show, once.
        let numbers = "FROM tag WHERE typeof(uses) = 'integer' AND name IS NOT NULL ORDER BY name"
        let expected = try all[0].query("SELECT name, uses + 3 \(numbers)")
        for device in all {
            try device.run("UPDATE tag SET uses = uses + 1 WHERE typeof(uses) = 'integer' AND name IS NOT NULL")
        }
        try exchange(all)
        for device in all {
            XCTAssertEqual(
                try device.query("SELECT name, uses \(numbers)"), expected, "seed \(seed), device \(device.id.low)")
        }
    }

    private static let named = "SELECT name, uses, best, words FROM tag WHERE name IS NOT NULL ORDER BY name"

    private func statement(_ chance: inout Chance) -> String {
        let (number, name, id) = (chance.below(18), "n\(chance.below(2))", 1 + chance.below(3))
        let words = chance.oneIn(2) ? #"["w1"]"# : #"["w1","w2"]"#
        switch chance.below(9) {
        case 0, 1:
            return
                "INSERT OR IGNORE INTO tag(name, uses, best, words) VALUES ('\(name)', \(number), \(number), '\(words)')"
        case 2: return "INSERT OR IGNORE INTO tag(name) VALUES ('\(name)')"
        case 3, 4: return "UPDATE tag SET uses = uses + \(number - 4) WHERE name = '\(name)'"
        case 5: return "UPDATE OR IGNORE tag SET name = '\(name)', best = \(number) WHERE id = \(id)"
        case 6: return "UPDATE tag SET uses = \(chance.oneIn(2) ? "NULL" : "'t'") WHERE name = '\(name)'"
        case 7: return "UPDATE tag SET words = '\(words)' WHERE id = \(id)"
        default:
            return chance.oneIn(3) ? "DELETE FROM tag WHERE id = \(id)" : "UPDATE tag SET name = NULL WHERE id = \(id)"
        }
    }

    /// An addition brings back a row that OR REPLACE displaced elsewhere. Both rows have the same name, so they are one row, and the
    /// newer one gives the number of uses. A newcomer may hear of the policy after the rows.
    func testARowThatWasUnifiedBeforeThePolicyShowsWhatThePolicySays() throws {
        let devices = try (1...3).map { try TestDevice($0, Self.tags) }
        try devices[0].run("INSERT INTO tag(name) VALUES ('jazz')")
        try exchange(devices)
        try devices[2].store.setPolicies([
            PolicySetting(.column(table: "tag", column: "uses"), ColumnPolicy.counter.word)
        ])
        try exchange(devices)
        devices[0].clock.now += 100_000
        try devices[0].run("INSERT OR REPLACE INTO tag(name, note) VALUES ('jazz', 'anew')")
        try devices[0].flush()
        devices[1].clock.now += 200_000
        try devices[1].run("UPDATE tag SET uses = uses + 1")
        try exchange(devices)
        let fresh = try TestDevice(4, Self.tags)
        try fresh.pass(devices[0].log + devices[1].log)
        try fresh.pass(devices[2].log)
        for device in devices + [fresh] {
            let name = "device \(device.id.low)"
            XCTAssertEqual(try device.query("SELECT name, uses, note FROM tag"), ["jazz|0|anew"], name)
            XCTAssertEqual(try device.store.verify(deep: true).differences, [], name)
        }
        XCTAssertEqual(Set(try (devices + [fresh]).map { try $0.store.statePosition().digests }).count, 1)
    }
}
