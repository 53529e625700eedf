import FerryCore
import FerryEngine
import FerryStore
import FerryTestSupport
import XCTest

/// Random histories in which columns and the table get other names, on every device at a time of its own: names that change
/// places, and former names that are used again. No write may be lost or come into another column.
/// `FERRY_SEEDS`, `FERRY_FIRST_SEED` and `FERRY_SEED` as in `Seeds`.
final class RandomRenameTests: XCTestCase {
    func testNoWriteComesIntoAnotherColumn() throws {
        let seeds = Seeds(defaultCount: 12)
        for seed in seeds.single.map({ [$0] }) ?? Array(seeds.all) {
            do {
                var history = try RenameHistory(seed: seed)
                try history.play()
            } catch {
                XCTFail("seed \(seed): \(error)")
            }
        }
    }
}

/// An app with a schema that grows older, and devices that each have some version of it.
private struct RenameHistory {
    /// A column as the app means it, whatever its name.
    private struct Column {
        var name: String
        let number: Int
        let preset: String
    }

    private struct Version {
        var table: String
        var columns: [Column]
        /// The statements that lead here from the version before.
        var statements: [String]
    }

    private let seed: UInt64
    private var chance: Chance
    private let fleet: Fleet
    private var versions: [Version]
    /// The version of each device.
    private var present: [Int] = []
    private var stores: [Store] = []
    /// The values by row and by the column's number.
    private var rows: [Int: [Int: String]] = [:]
    private var columnCount = 3
    private var written = 0
    private var lines: [String] = []

    private static let names = ["a", "b", "c", "d"]
    private static let tables = ["item", "thing"]

    init(seed: UInt64) throws {
        self.seed = seed
        chance = Chance(seed: seed)
        fleet = try Fleet()
        let columns = (0..<3).map { Column(name: Self.names[$0], number: $0, preset: "p\($0)") }
        versions = [Version(table: "item", columns: columns, statements: [])]
        let list = columns.map { "\($0.name) TEXT DEFAULT '\($0.preset)'" }.joined(separator: ", ")
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, \(list)); PRAGMA user_version = 0;")
        for _ in 0..<2 { try fleet.join() }
        for _ in 0...2 { try addDevice() }
    }

    private mutating func addDevice() throws {
        let store = try Store(path: fleet.databasePath(stores.count))
        present.append(try store.read { try $0.count("PRAGMA user_version") })
        stores.append(store)
    }

    mutating func play() throws {
        for _ in 0..<chance.below(30) + 20 {
            let device = chance.below(stores.count)
            switch chance.below(12) {
            case 0: evolve()
            case 1, 2: try migrate(device)
            case 3, 4: try sync(device)
            case 5 where stores.count < 5 && chance.oneIn(3):
                try fleet.join()
                try addDevice()
                note("join \(stores.count - 1) with version \(present[stores.count - 1])")
            default: try write(device)
            }
        }
        for device in stores.indices {
            while present[device] < versions.count - 1 { try migrate(device) }
        }
        try fleet.settle()
        try check()
    }

    private mutating func note(_ line: String) { lines.append(line) }

    private mutating func sync(_ device: Int) throws {
        note("sync \(device)")
        _ = try fleet.replicas[device].sync()
    }

    // MARK: The app

    /// Makes another version of the schema.
    private mutating func evolve() {
        var version = versions[versions.count - 1]
        let table = version.table
        func rename(_ from: String, _ to: String) -> String { "ALTER TABLE \(table) RENAME COLUMN \(from) TO \(to)" }
        let free = Self.names.filter { name in !version.columns.contains { $0.name == name } }
        let kind = chance.below(6)
        switch kind {
        case 0, 1:
            let (left, right) = (0, 1 + chance.below(version.columns.count - 1))
            let (a, b) = (version.columns[left].name, version.columns[right].name)
            version.statements = [rename(a, "x"), rename(b, a), rename("x", b)]
            version.columns[left].name = b
            version.columns[right].name = a
        case _ where (kind == 2 || kind == 3) && !free.isEmpty && version.columns.count < 4:
            let place = chance.below(version.columns.count)
            let former = version.columns[place].name
            let preset = "p\(columnCount)"
            version.statements = [
                rename(former, free[0]), "ALTER TABLE \(table) ADD COLUMN \(former) TEXT DEFAULT '\(preset)'",
            ]
            version.columns[place].name = free[0]
            version.columns.append(Column(name: former, number: columnCount, preset: preset))
            columnCount += 1
        case 4:
            version.table = Self.tables.first { $0 != table } ?? table
            version.statements = ["ALTER TABLE \(table) RENAME TO \(version.table)"]
        default:
            guard let name = free.first else { return }
            let place = chance.below(version.columns.count)
            version.statements = [rename(version.columns[place].name, name)]
            version.columns[place].name = name
        }
        versions.append(version)
        note("version \(versions.count - 1): " + version.statements.joined(separator: "; "))
    }

    /// Brings a device to the next version, perhaps in a transaction and perhaps looked at in between.
    private mutating func migrate(_ device: Int) throws {
        guard present[device] < versions.count - 1 else { return }
        present[device] += 1
        note("migrate \(device) to \(present[device])")
        let statements = versions[present[device]].statements + ["PRAGMA user_version = \(present[device])"]
        try stores[device].write { connection in
            for statement in statements { try connection.executeScript(statement) }
        }
        if chance.oneIn(3) { try sync(device) }
    }

    /// Writes rows that no other device writes, so that the last statement wins.
    private mutating func write(_ device: Int) throws {
        let version = versions[present[device]]
        written += 1
        let own = rows.keys.filter { $0 % 10 == device }.sorted()
        if own.isEmpty || chance.oneIn(4) {
            let id = written * 10 + device
            let column = chance.pick(version.columns)
            rows[id] = [column.number: "v\(written)"]
            note("insert \(device): \(id).\(column.number) = v\(written)")
            try run(device, "INSERT INTO \(version.table)(id, \(column.name)) VALUES (\(id), 'v\(written)')")
            return
        }
        let id = chance.pick(own)
        var sets: [String] = []
        for column in version.columns where chance.oneIn(2) {
            rows[id]?[column.number] = "v\(written)c\(column.number)"
            sets.append("\(column.name) = 'v\(written)c\(column.number)'")
        }
        if sets.isEmpty { return }
        note("update \(device): \(id) \(sets.joined(separator: ", ")) in version \(present[device])")
        try run(device, "UPDATE \(version.table) SET \(sets.joined(separator: ", ")) WHERE id = \(id)")
    }

    private func run(_ device: Int, _ sql: String) throws {
        try stores[device].write { try $0.executeScript(sql) }
    }

    // MARK: What must hold

    private func check() throws {
        let version = versions[versions.count - 1]
        let expected = rows.map { id, values in
            version.columns.map { values[$0.number] ?? $0.preset }.joined(separator: ",")
        }.sorted()
        let list = version.columns.map(\.name).joined(separator: " || ',' || ")
        for device in stores.indices {
            let found = try stores[device].read { try $0.rows("SELECT \(list) FROM \(version.table)") }.map {
                $0[0].text
            }
            if found.sorted() != expected {
                let story = lines.joined(separator: "\n")
                XCTFail("seed \(seed), device \(device): \(found.sorted())\nexpected \(expected)\n\(story)")
                return
            }
        }
        for replica in fleet.replicas {
            let status = try replica.status()
            if status.devices.contains(where: { $0.standing != .inStep }) {
                XCTFail("seed \(seed): not in step\n" + lines.joined(separator: "\n"))
            }
        }
        try fleet.assertSoundAndInStep()
    }
}
