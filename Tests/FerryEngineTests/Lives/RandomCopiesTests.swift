import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Random histories of devices whose databases are copied, cloned and restored, and whose folders meet only now and then.
/// Which ones: `Seeds`.
final class RandomCopiesTests: XCTestCase {
    func testCopiesAndRestoredDatabasesAgreeInTheEndAndLoseNothing() throws {
        for seed in Seeds(defaultCount: 12).all {
            do {
                let history = try History(seed)
                try history.run()
                let problems = try history.problems()
                XCTAssertEqual(problems, [], "FERRY_SEED=\(seed)")
                if !problems.isEmpty { return print(history.story.joined(separator: "\n")) }
            } catch {
                XCTFail("FERRY_SEED=\(seed): \(error)")
            }
        }
    }
}

private final class History {
    private static let schema = [
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, amount INTEGER NOT NULL DEFAULT 0, best INTEGER, tags TEXT)",
        "CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE CASCADE, code TEXT UNIQUE)",
        "CREATE TABLE line(text TEXT PRIMARY KEY) WITHOUT ROWID",
    ]

    private struct Machine {
        var replica: Replica
        let database: String
        let folder: String
        var backup: String?
        var isAway = false
    }

    private let place: URL
    private let hub: String
    private var machines: [Machine] = []
    private var random: Chance
    private var count = 0
    private(set) var story: [String] = []

    init(_ seed: UInt64) throws {
        random = Chance(state: seed)
        place = FileManager.default.temporaryDirectory.appendingPathComponent("ferry-copies-\(UUID().uuidString)")
        hub = place.appendingPathComponent("hub").path
        try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
        let store = try emptyDatabase("db0")
        let replica = try Replica.create(store, containerPath: path("folder0"), sealing: .open, name: "device").replica
        machines = [Machine(replica: replica, database: path("db0"), folder: path("folder0"))]
        try replica.setPolicies([
            PolicySetting(table: "item", column: "amount", .counter),
            PolicySetting(table: "item", column: "best", .max),
            PolicySetting(table: "item", column: "tags", .set),
        ])
        try replica.store.write { connection in
            for name in ["one", "two", "three"] {
                try connection.execute("INSERT INTO item(name) VALUES (?)", .text(name))
            }
        }
        _ = try replica.sync()
        try FileManager.default.copyItem(atPath: path("folder0"), toPath: hub)
        try FileManager.default.copyItem(atPath: hub, toPath: path("folder1"))
        let (joined, _) = try Replica.join(databasePath: path("db1"), containerPath: path("folder1"), name: "device")
        machines.append(Machine(replica: try XCTUnwrap(joined), database: path("db1"), folder: path("folder1")))
    }

    deinit { try? FileManager.default.removeItem(at: place) }  // a temporary folder

    private func path(_ name: String) -> String { place.appendingPathComponent(name).path }

    private func emptyDatabase(_ name: String) throws -> Store {
        try Data().write(to: URL(fileURLWithPath: path(name)))
        let store = try Store(path: path(name))
        try store.write { connection in
            for statement in Self.schema { try connection.execute(statement) }
        }
        return store
    }

    // MARK: Running

    func run() throws {
        for _ in 0..<(30 + random.below(50)) { try step() }
    }

    private func step() throws {
        let index = random.below(machines.count)
        switch random.below(20) {
        case 0..<9: try change(index)
        case 9..<13: try sync(index)
        case 13..<16: try exchange(index)
        case 16:
            story.append("\(index) is backed up")
            let backup = path("backup\(story.count)")
            try copyDatabase(machines[index].database, to: backup)
            machines[index].backup = backup
        case 17:
            guard let backup = machines[index].backup else { return }
            story.append("\(index) is restored")
            machines[index].backup = nil
            try machines[index].replica.store.close()
            for suffix in ["", "-wal", "-shm", "-journal"]
            where FileManager.default.fileExists(atPath: machines[index].database + suffix) {
                try FileManager.default.removeItem(atPath: machines[index].database + suffix)
            }
            try FileManager.default.moveItem(atPath: backup, toPath: machines[index].database)
            machines[index].replica = try Replica(path: machines[index].database)
        case 18:
            machines[index].isAway.toggle()
            story.append("\(index) \(machines[index].isAway ? "loses" : "finds") its folder")
            let (folder, away) = (machines[index].folder, machines[index].folder + "-away")
            try FileManager.default.moveItem(
                atPath: machines[index].isAway ? folder : away, toPath: machines[index].isAway ? away : folder)
        default:
            guard machines.count < 6, !machines[index].isAway else { return }
            try copy(index, isRecognisable: random.below(2) == 0)
        }
    }

    private func copy(_ index: Int, isRecognisable: Bool) throws {
        let new = machines.count
        story.append("\(index) is \(isRecognisable ? "copied" : "cloned") as \(new)")
        try copyDatabase(machines[index].database, to: path("db\(new)"))
        try FileManager.default.copyItem(atPath: machines[index].folder, toPath: path("folder\(new)"))
        let store = try Store(path: path("db\(new)"))
        try store.write {
            try $0.execute(
                "UPDATE ferry_meta SET value = ? WHERE name = 'containerPath'", .text(path("folder\(new)")))
        }
        let replica = try Replica(store)
        if !isRecognisable { try store.note(replica.fingerprint) }
        machines.append(Machine(replica: replica, database: path("db\(new)"), folder: path("folder\(new)")))
    }

    private func copyDatabase(_ source: String, to target: String) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sqlite3", source, "VACUUM INTO '\(target)'"]
        try process.run()
        process.waitUntilExit()
        if process.terminationStatus != 0 { throw FerryError(.database, "No copy could be made.") }
    }

    private func sync(_ index: Int) throws {
        do {
            let report = try machines[index].replica.sync()
            story.append("\(index) syncs, \(report.renewed.map { "\($0.reason), \($0.sentAgain) again" } ?? "")")
        } catch let error as FerryError where machines[index].isAway && error.code == .containerMissing {
            story.append("\(index) syncs without its folder")
        }
    }

    // MARK: Changes

    private func change(_ machine: Int) throws {
        let index = machine % machines.count
        count += 1
        let row = "(SELECT id FROM item ORDER BY name, id LIMIT 1 OFFSET \(random.below(6)))"
        let word = ["red", "blue", "green"][random.below(3)]
        let sql = [
            "INSERT INTO item(name) VALUES ('item \(count)')", "INSERT OR IGNORE INTO line VALUES ('line \(count)')",
            "INSERT OR IGNORE INTO line VALUES ('line \(count)')",
            "UPDATE item SET name = 'name \(count)' WHERE id = \(row)", "DELETE FROM item WHERE id = \(row)",
            "UPDATE item SET amount = amount + \(1 + random.below(9)) WHERE id = \(row)",
            "UPDATE item SET best = \(random.below(100)) WHERE id = \(row)",
            "UPDATE item SET tags = '[\"\(word)\"]' WHERE id = \(row)",
            "INSERT OR IGNORE INTO part(item, code) VALUES (\(row), 'code \(random.below(12))')",
            "UPDATE OR IGNORE part SET code = 'code \(random.below(12))' WHERE id = (SELECT max(id) FROM part)",
        ][random.below(10)]
        story.append("\(index): \(sql)")
        try machines[index].replica.store.write { try $0.execute(sql) }
    }

    // MARK: Folders

    private func exchange(_ index: Int) throws {
        guard !machines[index].isAway else { return }
        story.append("\(index) exchanges files")
        for (from, to) in [(machines[index].folder, hub), (hub, machines[index].folder)] {
            for file in (FileManager.default.enumerator(atPath: from)?.allObjects as? [String] ?? []).sorted() {
                let (source, target) = (from + "/" + file, to + "/" + file)
                let attributes = try FileManager.default.attributesOfItem(atPath: source)
                if attributes[.type] as? FileAttributeType == .typeDirectory {
                    try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
                    continue
                }
                let date = attributes[.modificationDate] as? Date ?? .distantPast
                if FileManager.default.fileExists(atPath: target) {
                    let present = try FileManager.default.attributesOfItem(atPath: target)
                    if date <= present[.modificationDate] as? Date ?? .distantPast { continue }
                }
                try Data(contentsOf: URL(fileURLWithPath: source)).write(to: URL(fileURLWithPath: target))
                try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: target)
            }
        }
    }

    // MARK: The end

    private func text(_ index: Int, _ sql: String) throws -> [String] {
        try machines[index].replica.store.read { connection in
            try connection.rows(sql).map { row in row.map { "\($0)" }.joined(separator: "|") }
        }
    }

    private var devices: Set<DeviceID> { Set(machines.map(\.replica.identity.device)) }

    /// Brings all together until nothing is new.
    /// - Returns: whether it comes to that.
    private func settle() throws -> Bool {
        var quiet = 0
        for _ in 0..<40 {
            var hasNews = false
            for index in machines.indices {
                try exchange(index)
                let report = try machines[index].replica.sync()
                story.append("\(index) syncs, \(report.renewed.map { "\($0.reason), \($0.sentAgain) again" } ?? "")")
                hasNews = hasNews || report.hasNews || report.renewed != nil
                try exchange(index)
            }
            quiet = hasNews ? 0 : quiet + 1
            if quiet == 3 { return true }
        }
        return false
    }

    /// Brings all together, and says what is wrong then.
    func problems() throws -> [String] {
        for index in machines.indices where machines[index].isAway {
            machines[index].isAway = false
            try FileManager.default.moveItem(
                atPath: machines[index].folder + "-away", toPath: machines[index].folder)
        }
        var lines: Set<String> = []
        for index in machines.indices { lines.formUnion(try text(index, "SELECT text FROM line")) }
        if try !settle() { return ["the devices do not come to rest"] }
        if devices.count != machines.count {
            // Clones that have packed the same notes and nothing else are one device, and nothing tells them apart, until one
            // of them says something else.
            for index in machines.indices {
                let line = "last line \(index)"
                story.append("\(index): \(line)")
                try machines[index].replica.store.write { try $0.execute("INSERT INTO line VALUES (?)", .text(line)) }
                lines.formUnion(try text(index, "SELECT text FROM line"))
            }
            if try !settle() { return ["the devices do not come to rest after clones differ"] }
        }
        var problems: [String] = []
        let tables = [
            "SELECT name, amount, best, tags FROM item ORDER BY 1, 2, 3, 4",
            "SELECT code, (SELECT name FROM item WHERE item.id = part.item) FROM part ORDER BY 1, 2",
            "SELECT text FROM line ORDER BY 1",
        ]
        let digests = try machines[0].replica.store.statePosition().digests
        let devices = devices
        if devices.count != machines.count { problems.append("two machines have one device ID") }
        for index in machines.indices {
            for sql in tables where try text(index, sql) != text(0, sql) {
                problems.append("\(index) differs from 0: \(sql)\n\(try text(0, sql))\n\(try text(index, sql))")
            }
            let replica = machines[index].replica
            if try replica.store.statePosition().digests != digests { problems.append("\(index) has other digests") }
            let lost = try lines.subtracting(text(index, "SELECT text FROM line"))
            if !lost.isEmpty { problems.append("\(index) lost \(lost.sorted())") }
            let waiting = try replica.sync().waiting
            if !waiting.isEmpty { problems.append("\(index) waits: \(waiting)") }
            let report = try replica.verify(deep: true)
            if !report.isSound { problems.append("\(index) is not sound: \(report.differences)") }
            let standings = try replica.status().devices.filter {
                $0.successors == nil && devices.map(\.description).contains($0.id)
            }
            for standing in standings where standing.standing != .inStep {
                problems.append("\(index) says of \(standing.id): \(standing.standing?.rawValue ?? "nothing")")
            }
        }
        return problems
    }
}

/// https://prng.di.unimi.it/splitmix64.c
