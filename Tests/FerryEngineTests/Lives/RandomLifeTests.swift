import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine
@testable import FerryStore

/// Random lives of a container whose devices are away for long, join late, are retired, copied and restored, while
/// everything that can be forgotten is forgotten as soon as may be.
///
/// Of a seed that is played alone (`Seeds`) the story is printed, and the databases are kept.
final class RandomLifeTests: XCTestCase {
    func testDevicesAgreeHoweverMuchIsForgottenMeanwhile() throws {
        let seeds = Seeds(defaultCount: 8)
        var met: [String: Int] = [:]
        for seed in seeds.all {
            let life = try RandomLife(seed)
            // Of one that is looked at the databases stay.
            defer { if seeds.single == nil { life.close() } }
            do {
                try life.run()
                for problem in try life.problems() { XCTFail("FERRY_SEED=\(seed): \(problem)") }
            } catch {
                XCTFail("FERRY_SEED=\(seed): \(error)")
            }
            if seeds.single != nil { print(life.story.joined(separator: "\n"), life.folder.path) }
            met.merge(life.met, uniquingKeysWith: +)
        }
        print("met: " + met.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "))
        // A run in which they do not happen shows nothing.
        for kind in ["snapshots", "segments removed", "rolled up", "tombstones", "left behind"]
        where seeds.single == nil {
            XCTAssertGreaterThan(met[kind] ?? 0, 0, kind)
        }
    }
}

private final class RandomLife {
    private static let schema = """
        CREATE TABLE parent(id INTEGER PRIMARY KEY, name TEXT UNIQUE, amount INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE owned(
            id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE CASCADE, code TEXT UNIQUE);
        CREATE TABLE loose(id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE SET NULL, note TEXT);
        CREATE TABLE strict(
            id INTEGER PRIMARY KEY, parent INTEGER NOT NULL REFERENCES parent ON DELETE RESTRICT, note TEXT);
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour TEXT) WITHOUT ROWID;
        CREATE TABLE tagged(
            id INTEGER PRIMARY KEY, parent INTEGER REFERENCES parent ON DELETE CASCADE,
            tag TEXT REFERENCES tag ON DELETE CASCADE, UNIQUE(parent, tag));
        CREATE TABLE line(text TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        """
    /// What people see, without the integers that each device chooses for itself.
    private static let queries = [
        "SELECT name, amount FROM parent ORDER BY 1, 2",
        "SELECT parent.name, code FROM owned LEFT JOIN parent ON parent.id = parent ORDER BY 2, 1",
        "SELECT parent.name, note FROM loose LEFT JOIN parent ON parent.id = parent ORDER BY 2, 1",
        "SELECT parent.name, note FROM strict LEFT JOIN parent ON parent.id = parent ORDER BY 2, 1",
        "SELECT name, colour FROM tag ORDER BY 1",
        "SELECT parent.name, tag FROM tagged LEFT JOIN parent ON parent.id = parent ORDER BY 2, 1",
        "SELECT text FROM line ORDER BY 1",
    ]
    private static let containerPath = "/shared/container"
    private static let maximumDevices = 6

    private struct Machine {
        var replica: Replica
        var path: String
        var host: String
        var backup: String?
        var isAway = false
    }

    private let clock = SimulatedClock()
    private let random: SeededRandom
    private let files = MemoryFileSystem()
    let folder: URL
    private let retention: RetentionSettings
    private var machines: [Machine] = []
    private var archives: [String] = []
    private var count = 0
    private(set) var story: [String] = []
    private(set) var met: [String: Int] = [:]

    init(_ seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        var retention = RetentionSettings()
        retention.silentAfterMilliseconds = 3 * 86_400_000
        retention.replacedMilliseconds = 5 * 60_000
        retention.tombstoneMilliseconds = 0
        retention.retryMilliseconds = 60_000
        retention.snapshotMinimumBytes = 1 << (8 + random.below(4))
        retention.firstSnapshotChangesPerRow = Double(seed % 2)
        retention.rollUpFanout = 4
        retention.segmentBytes = 4 << 10
        self.retention = retention
        folder = try ScratchFolder.make("ferry-random-life")
        try files.createDirectory(at: "/shared")
        try begin()
        try join()
    }

    func close() { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    private func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    private func environment(on host: String) -> ReplicaEnvironment {
        ReplicaEnvironment(clock: clock, random: random, fileSystem: files, host: SimulatedHost(machine: host))
    }

    private func open(_ path: String, on host: String) throws -> Replica {
        try Replica(path: path, environment: environment(on: host), retention: retention)
    }

    private func tell(_ text: String) { story.append(text) }

    private func meet(_ kind: String, _ times: Int = 1) { if times > 0 { met[kind, default: 0] += times } }

    // MARK: Devices

    private func begin() throws {
        try Data().write(to: URL(fileURLWithPath: path("db0")))
        let store = try Store(path: path("db0"), clock: clock, random: random)
        try store.write { connection in
            try connection.executeScript(Self.schema)
            for number in 0..<5 {
                try connection.execute("INSERT INTO parent(name) VALUES (?)", .text("parent \(number)"))
            }
        }
        let made = try ReplicaSetup(environment: environment(on: "host0")).create(
            store, containerPath: Self.containerPath, name: "device"
        ).replica
        if random.below(2) == 0 {
            try made.setPolicies([PolicySetting(table: "parent", column: "amount", .counter)])
        }
        if random.below(4) == 0 { try made.setPolicies([PolicySetting(.table("tag"), PolicyWord.deleteWins)]) }
        try store.close()
        machines = [Machine(replica: try open(path("db0"), on: "host0"), path: path("db0"), host: "host0")]
    }

    private func join() throws {
        let (new, host) = (path("db\(machines.count)"), "host\(machines.count)")
        if let archive = archives.last, random.below(2) == 0 {
            tell("\(machines.count) begins with an export")
            let (made, _) = try ReplicaSetup(environment: environment(on: host)).importDatabase(
                at: new, from: archive, containerPath: Self.containerPath, name: "device")
            try made?.store.close()
        } else {
            tell("\(machines.count) joins")
            let (made, _) = try ReplicaSetup(environment: environment(on: host)).join(
                databasePath: new, containerPath: Self.containerPath, name: "device"
            )
            try made?.store.close()
        }
        machines.append(Machine(replica: try open(new, on: host), path: new, host: host))
    }

    /// - Parameter isKnown: whether the copy can be told by where it lies.
    private func copy(_ index: Int, isKnown: Bool) throws {
        let new = path("db\(machines.count)")
        let host = isKnown ? "host\(machines.count)" : machines[index].host
        tell("\(index) is \(isKnown ? "copied" : "cloned") as \(machines.count)")
        try machines[index].replica.store.copy(to: new)
        let replica = try open(new, on: host)
        if !isKnown { try replica.store.note(replica.fingerprint) }
        machines.append(Machine(replica: replica, path: new, host: host))
    }

    private func restore(_ index: Int, from backup: String) throws {
        tell("\(index) is restored")
        machines[index].backup = nil
        try machines[index].replica.store.close()
        for suffix in ["", "-wal", "-shm", "-journal"]
        where FileManager.default.fileExists(atPath: machines[index].path + suffix) {
            try FileManager.default.removeItem(atPath: machines[index].path + suffix)
        }
        try FileManager.default.moveItem(atPath: backup, toPath: machines[index].path)
        machines[index].replica = try open(machines[index].path, on: machines[index].host)
    }

    // MARK: What happens

    func run() throws {
        for _ in 0..<(50 + random.below(80)) { try step() }
    }

    private func step() throws {
        let index = random.below(machines.count)
        clock.advance(milliseconds: Int64(random.below(10)) * 60_000)
        switch random.below(100) {
        case ..<44: for _ in 0...random.below(4) { try change(index) }
        case ..<45:
            if machines[index].isAway { return }
            // So many segments that they are rolled up.
            for _ in 0..<18 {
                try change(index)
                try sync(index, isThorough: false)
            }
        case ..<78: if !machines[index].isAway { try sync(index) }
        case ..<82: machines[index].isAway.toggle()
        case ..<88:
            let hours = [12, 24, 30, 100][random.below(4)]
            tell("\(hours) hours pass")
            clock.advance(milliseconds: Int64(hours) * 3_600_000)
        case ..<90:
            let backup = path("backup\(story.count)")
            tell("\(index) is backed up")
            try machines[index].replica.store.copy(to: backup)
            machines[index].backup = backup
        case ..<92: if let backup = machines[index].backup { try restore(index, from: backup) }
        case ..<93: if machines.count < Self.maximumDevices { try copy(index, isKnown: random.below(2) == 0) }
        case ..<94: if machines.count < Self.maximumDevices { try join() }
        case ..<95:
            let other = machines[random.below(machines.count)].replica.identity.device
            guard other != machines[index].replica.identity.device, !machines[index].isAway,
                try machines[index].replica.devices().devices.contains(where: { $0.id == other.description })
            else { return }
            tell("\(index) retires \(other)")
            try machines[index].replica.retire(other.description)
        case ..<97: if !machines[index].isAway { try exchangeFile(index) }
        default:
            guard !machines[index].isAway else { return }
            tell("\(index) compacts")
            note(try machines[index].replica.compact())
        }
    }

    private func exchangeFile(_ index: Int) throws {
        if archives.isEmpty || random.below(2) == 0 {
            let file = path("archive\(story.count)")
            tell("\(index) exports")
            _ = try machines[index].replica.exportSnapshot(to: file)
            return archives.append(file)
        }
        let file = archives[random.below(archives.count)]
        tell("\(index) imports \(file.suffix(10))")
        do {
            _ = try machines[index].replica.importSnapshot(from: file)
        } catch let error as FerryError where error.code == .deviceForked {
            tell("  it is from its own future")
        }
    }

    @discardableResult
    private func sync(_ index: Int, isThorough: Bool? = nil) throws -> SyncReport {
        let replica = machines[index].replica
        let isLeft = try replica.devices().devices.contains { $0.isLeftBehind }
        if isLeft { meet("left behind") }
        let report = try replica.sync(isThorough: isThorough ?? (random.below(3) == 0))
        if let compaction = report.compaction { note(compaction) }
        tell(
            "\(index) syncs: \(report.published.changes) sent, \(report.replayed.changes) replayed, \(report.conflicts) conflicts"
                + (report.renewed.map { ", renewed (\($0.reason), \($0.sentAgain) again)" } ?? "")
                + ", \(report.compaction?.tombstones ?? 0) tombstones"
                + (report.compaction?.snapshot == nil ? "" : ", a snapshot"))
        return report
    }

    private func note(_ report: CompactionReport) {
        meet("snapshots", report.snapshot == nil ? 0 : 1)
        meet("segments removed", report.removed.segments)
        meet("rolled up", report.rolledUp.into)
        meet("tombstones", report.tombstones)
        meet("skipped", report.skipped.count)
    }

    private func change(_ index: Int) throws {
        count += 1
        let parent = "(SELECT id FROM parent ORDER BY name, id LIMIT 1 OFFSET \(random.below(6)))"
        let name = "parent \(random.below(9))"
        let tag = "tag \(random.below(6))"
        func row(_ table: String) -> String {
            "(SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(random.below(5)))"
        }
        let statements = [
            "INSERT OR IGNORE INTO parent(name) VALUES ('\(name)')",
            "UPDATE OR IGNORE parent SET name = '\(name)' WHERE id = \(parent)",
            "UPDATE parent SET amount = amount + \(1 + random.below(9)) WHERE id = \(parent)",
            "DELETE FROM parent WHERE id = \(parent) AND NOT EXISTS (SELECT 1 FROM strict WHERE parent = parent.id)",
            "DELETE FROM parent WHERE id = \(parent) AND NOT EXISTS (SELECT 1 FROM strict WHERE parent = parent.id)",
            "INSERT OR IGNORE INTO owned(parent, code) VALUES (\(parent), 'code \(random.below(10))')",
            "UPDATE OR IGNORE owned SET code = 'code \(random.below(10))', parent = \(parent) WHERE id = \(row("owned"))",
            "DELETE FROM owned WHERE id = \(row("owned"))",
            "INSERT INTO loose(parent, note) VALUES (\(parent), 'note \(count)')",
            "UPDATE loose SET note = 'edited \(count)' WHERE id = \(row("loose"))",
            "DELETE FROM loose WHERE id = \(row("loose"))",
            "INSERT OR IGNORE INTO strict(parent, note) VALUES (\(parent), 'note \(count)')",
            "DELETE FROM strict WHERE id = \(row("strict"))",
            "DELETE FROM strict WHERE id = \(row("strict"))",
            "INSERT INTO tag VALUES ('\(tag)', 'colour \(count)') ON CONFLICT DO UPDATE SET colour = excluded.colour",
            "UPDATE tag SET colour = 'colour \(count)' WHERE name = '\(tag)'",
            "DELETE FROM tag WHERE name = '\(tag)'",
            "INSERT OR IGNORE INTO tagged(parent, tag) SELECT \(parent), name FROM tag WHERE name = '\(tag)'",
            "DELETE FROM tagged WHERE id = \(row("tagged"))",
            "INSERT INTO line VALUES ('line \(count)')",
        ]
        let sql = statements[random.below(statements.count)]
        tell("\(index): \(sql)")
        try machines[index].replica.store.write { try $0.execute(sql) }
    }

    // MARK: The end

    private func rows(_ index: Int, _ sql: String) throws -> [String] {
        try machines[index].replica.store.read { connection in
            try connection.rows(sql).map { row in row.map(\.text).joined(separator: "|") }
        }
    }

    /// Syncs until nothing goes either way.
    private func settle() throws -> Bool {
        var quiet = 0
        for round in 0..<40 {
            tell("round \(round)")
            clock.advance(milliseconds: 10 * 60_000)
            var hasNews = false
            for index in machines.indices {
                let report = try sync(index, isThorough: true)
                hasNews = hasNews || report.hasNews || report.renewed != nil
            }
            quiet = hasNews ? 0 : quiet + 1
            if quiet == 2 { return true }
        }
        return false
    }

    /// Brings all together, and says what is wrong then.
    func problems() throws -> [String] {
        var lines: Set<String> = []
        for index in machines.indices { lines.formUnion(try rows(index, "SELECT text FROM line")) }
        guard try settle() else { return ["the devices do not come to rest"] }
        var problems = try disagreements(lines, isDeep: false)
        // And once everything is forgotten that can be.
        for _ in 0..<5 {
            clock.advance(milliseconds: 86_400_000)
            for index in machines.indices { try sync(index) }
        }
        for index in machines.indices { note(try machines[index].replica.compact()) }
        guard try settle() else { return problems + ["the devices do not come to rest after days"] }
        problems += try disagreements(lines, isDeep: true).map { "after days: " + $0 }
        return problems + (try sizeProblems())
    }

    private func disagreements(_ lines: Set<String>, isDeep: Bool) throws -> [String] {
        var problems: [String] = []
        let devices = Set(machines.map(\.replica.identity.device))
        if devices.count != machines.count { problems.append("two machines have one device ID") }
        for index in machines.indices {
            let replica = machines[index].replica
            for sql in Self.queries {
                let (expected, found) = try (rows(0, sql), rows(index, sql))
                if expected == found { continue }
                problems.append(
                    "\(index) and 0 differ: \(sql)\n  only 0: \(expected.filter { !found.contains($0) })"
                        + "\n  only \(index): \(found.filter { !expected.contains($0) })")
            }
            let lost = try lines.subtracting(rows(index, "SELECT text FROM line"))
            if !lost.isEmpty { problems.append("\(index) lost \(lost.sorted())") }
            let waiting = try replica.sync(isThorough: true).waiting
            if !waiting.isEmpty { problems.append("\(index) waits: \(waiting)") }
            let report = try replica.verify(deep: isDeep)
            if !report.isSound { problems.append("\(index) is not sound: \(report.differences.prefix(5))") }
            for peer in try replica.status().devices
            where peer.successors == nil && devices.map(\.description).contains(peer.id) && peer.standing != .inStep {
                problems.append(
                    "\(index) says of \(peer.id): \(peer.standing?.rawValue ?? "nothing") \(peer.differing ?? [])")
            }
        }
        return problems
    }

    private func sizeProblems() throws -> [String] {
        var problems: [String] = []
        for index in machines.indices {
            let replica = machines[index].replica
            let device = Self.containerPath + "/devices/" + replica.identity.device.hex
            let segments = try replica.store.ownSegments()
            let uncovered = segments.reduce(0) { $0 + $1.bytes }
            if segments.count > 40 { problems.append("\(index) keeps \(segments.count) segments, \(uncovered) bytes") }
            let snapshots = try files.entryNames(ofDirectoryAt: device + "/snapshots", maximumCount: .max) ?? []
            if snapshots.count > 40 { problems.append("\(index) keeps \(snapshots.count) files of snapshots") }
        }
        return problems
    }
}
