import CFerrySQLite
import FerryContainer
import FerryCore
import FerryEngine
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation
import GRDB

/// A device of a simulation: a database, kept in step by Ferry and written by an app, and the device's folder.
final class Machine {
    let index: Int
    /// The device's name for people.
    let name: String
    let path: String
    let files: DeviceFileSystem
    /// The device's view of the storage; `nil` where the container is a folder.
    let storage: DeviceStorage?
    /// Faults of the database's disk.
    let faults: FaultVFS
    let clock: SimulatedClock
    let host: SimulatedHost
    /// Where its computer keeps the keys of sealed containers' devices.
    let keys: SimulatedKeyStore
    private let random: SimulatedRandom
    private let retention: RetentionSettings
    private(set) var replica: Replica?
    private(set) var app: DatabaseQueue?
    /// The highest time of Ferry's clock since the database was last restored.
    var lastTime: Int64 = 0
    /// The number of applied migrations of the app.
    var version = 0
    /// A backup of the database: the path, and the version of the schema.
    var backup: (path: String, version: Int)?
    /// True if the device was stolen: it never returns.
    var isLost = false
    /// The fast paths that its store may take.
    private let fastPaths: FastPaths
    /// Which values lie in parts.
    var largeValues = LargeValueSettings()
    private let companions: [any SyncCompanion]

    init(
        index: Int, name: String, path: String, files: DeviceFileSystem, storage: DeviceStorage? = nil,
        faults: FaultVFS,
        clock: SimulatedClock, host: SimulatedHost,
        keys: SimulatedKeyStore, random: SimulatedRandom, retention: RetentionSettings, fastPaths: FastPaths = .all,
        companions: [any SyncCompanion] = []
    ) {
        self.index = index
        self.name = name
        self.faults = faults
        self.path = path
        self.files = files
        self.storage = storage
        self.clock = clock
        self.host = host
        self.keys = keys
        self.random = random
        self.retention = retention
        self.fastPaths = fastPaths
        self.companions = companions
    }

    var environment: ReplicaEnvironment {
        var environment = ReplicaEnvironment(
            clock: clock, random: random, fileSystem: files, host: host, keys: keys)
        environment.companions = companions
        environment.largeValues = largeValues
        guard let storage else { return environment }
        let (clock, random) = (clock, random)
        return environment.opening(storage.shared.scheme) { _ in
            RemoteBackend(storage, clock: clock, random: random)
        }
    }

    /// The replica; a machine in use has a replica.
    func opened() throws -> Replica {
        guard let replica else { throw FerryError(.databaseMissing, "Device \(index) has no database.") }
        return replica
    }

    /// The container's location for Ferry.
    var containerPath: String { storage?.shared.place ?? DeviceFileSystem.root }

    /// The place of the container's files, past all faults.
    var place: any SimulatedPlace { storage.map { $0.shared as any SimulatedPlace } ?? files.disk }

    /// The same device in the hands of a thief, with a place of the thief's own.
    func stolen(over files: DeviceFileSystem, _ storage: DeviceStorage?, random: SimulatedRandom) -> Machine {
        let machine = Machine(
            index: index, name: name, path: path, files: files, storage: storage, faults: faults, clock: clock,
            host: host,
            keys: keys, random: random, retention: retention, fastPaths: fastPaths, companions: companions)
        machine.version = version
        machine.lastTime = lastTime
        machine.largeValues = largeValues
        return machine
    }

    // MARK: Beginning

    /// Makes the app's database and a container for the database.
    func create(policies: [PolicySetting], sealed: SealedLife?) throws {
        try Data().write(to: URL(fileURLWithPath: path))
        app = try SimulatedApp.open(path)
        try database { database in
            try database.execute(sql: SimulatedApp.schema + (sealed?.schema ?? ""))
            for number in 0..<4 {
                try database.execute(sql: "INSERT INTO feed(url) VALUES ('url \(number)')")
                try database.execute(sql: "INSERT INTO article(feed, guid) VALUES (\(number + 1), 'guid \(number)')")
            }
        }
        let store = try Store(path: path, clock: clock, random: random)
        let setup = ReplicaSetup(
            environment: environment,
            sealing: sealed.map { life in .sealed(recovery: { life.recovery = $0 }) } ?? .open)
        let made = try setup.create(store, containerPath: containerPath, name: name).replica
        if !policies.isEmpty { try made.setPolicies(policies) }
        try store.close()
        try reopen()
    }

    /// Makes a database from the container.
    /// - Parameter enrolment: for a sealed container.
    func join(_ enrolment: Enrolment? = nil) throws {
        let (made, _) = try ReplicaSetup(environment: environment, enrolment: enrolment).join(
            databasePath: path, containerPath: containerPath, name: name)
        try made?.store.close()
        try reopen()
        try findVersion()
    }

    /// Finds the version of the app's schema in the database.
    func findVersion() throws {
        version = try database { database in
            if try database.columns(in: "download").contains(where: { $0.name == "size" }) { return 3 }
            if try database.tableExists("extra") { return 2 }
            return try database.columns(in: "star").contains { $0.name == "colour" } ? 1 : 0
        }
    }

    /// Ends both programs, and starts them again.
    func reopen() throws {
        try close()
        let opened = try Replica(path: path, environment: environment, retention: retention)
        opened.store.fastPaths = fastPaths
        replica = opened
        app = try SimulatedApp.open(path)
    }

    func close() throws {
        // A dead process closes nothing.
        try replica?.store.close()
        try app?.close()
        (replica, app) = (nil, nil)
    }

    /// Ends both programs without letting them finish anything, as far as possible.
    func abandon() throws {
        // A dead process closes nothing; its last writes fail.
        try? replica?.store.close()  // the process is dead
        try? app?.close()  // as above
        (replica, app) = (nil, nil)
    }

    /// Removes the remains of a failed join.
    func removeDatabase() throws {
        try close()
        for suffix in ["", "-wal", "-shm", "-journal", "-ferry-lock"]
        where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    // MARK: Use

    /// Sets SQLite's time to this machine's clock. No two transactions have equal times: a copy takes longer.
    func setSQLitesTime() {
        clock.tick()
        FaultVFS.setTime(milliseconds: clock.milliseconds())
    }

    /// Writes as the app does, in a single transaction.
    @discardableResult
    func database<Result>(_ body: (Database) throws -> Result) throws -> Result {
        guard let app else { throw FerryError(.databaseMissing, "Device \(index) has no database.") }
        setSQLitesTime()
        return try app.write(body)
    }

    func rows(_ sql: String) throws -> [String] {
        guard let app else { throw FerryError(.databaseMissing, "Device \(index) has no database.") }
        return try app.read { try SimulatedApp.rows($0, sql) }
    }

    /// Ferry's clock, in milliseconds: the highest assigned or followed time.
    func hybridTime() throws -> Int64 {
        guard let app else { return 0 }
        let raw = try app.read { try Int64.fetchOne($0, sql: "SELECT value FROM ferry_meta WHERE name = 'clock'") } ?? 0
        return Int64(UInt64(bitPattern: raw) >> 16)
    }

    /// The values of `line` and `cell`.
    func values() throws -> Set<String> {
        Set(try rows("SELECT text FROM line UNION ALL SELECT value FROM cell").map(SimulatedProperties.bare))
    }

    /// Runs SQL without triggers.
    func sabotage(_ sql: String) throws {
        try app?.writeWithoutTransaction { database in
            guard ferry_sqlite3_enable_triggers(database.sqliteConnection, 0, nil) == SQLITE_OK else {
                throw FerryError(.database, "Triggers cannot be turned off.")
            }
            try database.execute(sql: sql)
        }
    }

    func migrate() throws {
        let sql = SimulatedApp.migrations[version]
        setSQLitesTime()
        // Other tables refer to the rebuilt table.
        guard let app else { return }
        try app.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA foreign_keys = OFF")
            try database.inTransaction(.immediate) {
                try database.execute(sql: sql)
                return .commit
            }
            try database.execute(sql: "PRAGMA foreign_keys = ON")
        }
        version += 1
    }

    /// Copies the database, as a backup or a copy of a virtual machine does.
    func copyDatabase(to path: String) throws {
        try opened().store.copy(to: path)
    }

    /// Puts a backup in place of the database.
    func restore() throws {
        guard let backup else { return }
        try removeDatabase()
        try FileManager.default.moveItem(atPath: backup.path, toPath: path)
        faults.takeAsSynchronized()
        host.file += 1
        version = backup.version
        self.backup = nil
        try reopen()
        lastTime = try hybridTime()
    }
}
