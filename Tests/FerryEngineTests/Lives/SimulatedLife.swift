import FerryContainer
import FerryCore
import FerrySQL
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine
@testable import FerryStore

/// A clock that a simulation moves. What triggers note happened at its time.
final class SimulatedClock: WallClock {
    private let now = Locked<Int64>(1_700_000_000_000)
    func milliseconds() -> Int64 { now.withLock { $0 } }
    func milliseconds(captured: Int64) -> Int64 { milliseconds() }
    func advance(milliseconds: Int64) { now.withLock { $0 += milliseconds } }
}

/// A machine of a simulation, with the files of this one.
struct SimulatedHost: HostIdentity {
    var machine: String
    func machineID() -> String? { machine }
    func fileNumber(at path: String) -> UInt64? { SystemHost().fileNumber(at: path) }
}

/// One database of a simulation.
final class SimulatedDevice {
    let name: String
    let path: String
    private(set) var replica: Replica
    private let environment: ReplicaEnvironment

    init(_ name: String, _ path: String, _ environment: ReplicaEnvironment, _ replica: Replica) {
        self.name = name
        self.path = path
        self.environment = environment
        self.replica = replica
    }

    /// Opens it again: the file was replaced.
    func reopen() throws { replica = try Replica(path: path, environment: environment) }

    @discardableResult
    func sync() throws -> SyncReport { try replica.sync(isThorough: false) }

    func backUp() throws { try replica.store.copy(to: path + ".backup") }
}

/// Devices with a container in memory and one clock.
final class SimulatedLife {
    static let containerPath = "/shared/container"
    static let schema = """
        CREATE TABLE album(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
        CREATE TABLE song(
            id INTEGER PRIMARY KEY, title TEXT NOT NULL, plays INTEGER NOT NULL DEFAULT 0,
            album_id INTEGER REFERENCES album ON DELETE CASCADE);
        CREATE TABLE setting(key TEXT PRIMARY KEY NOT NULL, value) WITHOUT ROWID;
        """

    let clock = SimulatedClock()
    let random: SeededRandom
    let files = MemoryFileSystem()
    private(set) var flushes = 0
    private let folder: URL
    private var names = 0

    /// What lies in the container.
    struct Size {
        var files = 0
        var bytes = 0
        func union(_ other: Size) -> Size { Size(files: max(files, other.files), bytes: max(bytes, other.bytes)) }
    }

    init(seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        folder = try ScratchFolder.make("ferry-life")
        try files.createDirectory(at: "/shared")
    }

    func close() { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    private func environment(on machine: String) -> ReplicaEnvironment {
        ReplicaEnvironment(clock: clock, random: random, fileSystem: files, host: SimulatedHost(machine: machine))
    }

    private func path(_ name: String) -> String { folder.appendingPathComponent("\(name).sqlite").path }

    func begin(_ name: String) throws -> SimulatedDevice {
        try Data().write(to: URL(filePath: path(name)))
        let store = try Store(path: path(name), clock: clock, random: random)
        try store.write { connection in
            try connection.executeScript(Self.schema)
            for number in 1...20 {
                try connection.execute("INSERT INTO album(name) VALUES (?)", .text("album \(number)"))
            }
            for number in 1...1000 {
                try connection.execute(
                    "INSERT INTO song(title, album_id) VALUES (?, ?)", .text("the song with the number \(number)"),
                    .integer(Int64(number % 20 + 1)))
            }
        }
        let replica = try ReplicaSetup(environment: environment(on: name)).create(
            store, containerPath: Self.containerPath, name: name
        ).replica
        return SimulatedDevice(name, path(name), environment(on: name), replica)
    }

    func join(_ name: String) throws -> SimulatedDevice {
        let (replica, _) = try ReplicaSetup(environment: environment(on: name)).join(
            databasePath: path(name), containerPath: Self.containerPath, name: name)
        return SimulatedDevice(name, path(name), environment(on: name), try XCTUnwrap(replica))
    }

    /// A copy of a device's database that goes on beside it, on another machine.
    func copy(_ device: SimulatedDevice, to name: String, host: String) throws -> SimulatedDevice {
        try device.replica.store.copy(to: path(name))
        let copy = SimulatedDevice(name, path(name), environment(on: host), device.replica)
        try copy.reopen()
        return copy
    }

    /// Puts a device's backup in place of its database.
    func restore(_ device: SimulatedDevice) throws -> SimulatedDevice {
        try device.replica.store.close()
        for suffix in ["", "-wal", "-shm", "-journal"] {
            let file = device.path + suffix
            if FileManager.default.fileExists(atPath: file) { try FileManager.default.removeItem(atPath: file) }
        }
        try FileManager.default.moveItem(atPath: device.path + ".backup", toPath: device.path)
        try device.reopen()
        return device
    }

    func advance(minutes: Int) { clock.advance(milliseconds: Int64(minutes) * 60_000) }

    /// A person's writes: mostly plays, some new songs and deletions, now and then an album.
    func write(on device: SimulatedDevice, rows: Int = 1) throws {
        try device.replica.store.write { connection in
            for _ in 0..<rows { try write(connection) }
        }
        flushes += 1
    }

    private func write(_ connection: SQLConnection) throws {
        let newest = try connection.count("SELECT coalesce(max(id), 1) FROM song")
        let song = FieldValue.integer(Int64(random.below(newest) + 1))
        let oldest = "(SELECT id FROM song WHERE id >= ? ORDER BY id LIMIT 1)"
        switch random.below(100) {
        case ..<70: try connection.execute("UPDATE song SET plays = plays + 1 WHERE id = \(oldest)", song)
        case ..<82:
            names += 1
            try connection.execute(
                "INSERT INTO song(title, album_id) SELECT ?, id FROM album ORDER BY id LIMIT 1 OFFSET ?",
                .text("a new song, the \(names)th"), .integer(Int64(random.below(15))))
        case ..<94: try connection.execute("DELETE FROM song WHERE id = \(oldest)", song)
        case ..<97:
            try connection.execute(
                "INSERT INTO setting VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
                .text("setting \(random.below(30))"), .integer(Int64(random.below(1000))))
        case 97:
            // Two devices may choose one name.
            try connection.execute("INSERT OR IGNORE INTO album(name) VALUES (?)", .text("album \(random.below(60))"))
        case 98:
            try connection.execute(
                "DELETE FROM album WHERE id NOT IN (SELECT album_id FROM song WHERE album_id IS NOT NULL)")
        default: try connection.execute("DELETE FROM setting WHERE key = ?", .text("setting \(random.below(30))"))
        }
    }

    /// Syncs until nothing goes either way.
    func settle(_ devices: [SimulatedDevice]) throws {
        for _ in 0..<30 {
            advance(minutes: 1)
            var hasNews = false
            for device in devices { hasNews = try device.sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest")
    }

    func assertAgreement(_ devices: [SimulatedDevice]) throws {
        let queries = [
            "SELECT name FROM album ORDER BY name",
            "SELECT title, plays, album.name FROM song LEFT JOIN album ON album.id = album_id ORDER BY title, plays",
            "SELECT key, value FROM setting ORDER BY key",
        ]
        let first = try XCTUnwrap(devices.first)
        for query in queries {
            let rows = try first.replica.store.read { try $0.rows(query) }
            XCTAssertFalse(rows.isEmpty, query)
            for device in devices.dropFirst() {
                XCTAssertEqual(try device.replica.store.read { try $0.rows(query) }, rows, "\(device.name): \(query)")
            }
        }
        for device in devices {
            let report = try device.replica.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(device.name): \(report.differences.prefix(3))")
            let standings = try device.replica.status().devices
            for peer in standings { XCTAssertNotEqual(peer.standing, .differs, "\(device.name) and \(peer.name)") }
        }
    }

    func size() throws -> Size { try size(of: Self.containerPath) }

    private func size(of directory: String) throws -> Size {
        var size = Size()
        for name in try files.entryNames(ofDirectoryAt: directory, maximumCount: .max) ?? [] {
            switch try files.item(at: directory + "/" + name) {
            case .file(let bytes):
                size.files += 1
                size.bytes += bytes
            case .directory:
                let below = try self.size(of: directory + "/" + name)
                size.files += below.files
                size.bytes += below.bytes
            case .missing, .other: continue
            }
        }
        return size
    }

    /// The bytes of the rows alone, in a database of their own.
    func liveBytes(_ device: SimulatedDevice) throws -> Int {
        let copy = path("live")
        try device.replica.store.copy(to: copy)
        try Store(path: copy).endTracking()
        try Store(path: copy).copy(to: copy + ".packed")
        let attributes = try FileManager.default.attributesOfItem(atPath: copy + ".packed")
        return attributes[.size] as? Int ?? 0
    }
}
