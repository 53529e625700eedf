import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation
import GRDB
import XCTest

@testable import FerryEngine

/// Devices of which one, the *subject*, has faults below its database and its container; the others are its peers.
///
/// What was prepared once is put back for every fault: the databases' bytes, in the same files, and the container.
final class FaultHome {
    /// How the subject's database is kept.
    enum Keeping: String, CaseIterable {
        /// In WAL mode, on a connection of Ferry's own.
        case wal
        /// With a rollback journal, on a connection of Ferry's own.
        case rollback
        /// In WAL mode, on an app's pool, which does not synchronize its commits (`synchronous = NORMAL`).
        case pool
    }

    /// The subject's number; peers have those above.
    static let subject = 0

    let keeping: Keeping
    let scratch: ScratchFolder
    let faults: FaultVFS
    let clock = MemoryHome.Clock()
    let host = Host()
    var largeValues = LargeValueSettings()
    /// The random numbers of all devices.
    var random: any RandomSource = SystemRandom()
    private(set) var files = MemoryFileSystem()
    /// The storage with the container; `nil`: the container is a folder.
    let storage: MemoryStorage?
    /// The same storage, for the subject.
    private let mortalStorage: MortalStorage?
    private var replicas: [Int: Replica] = [:]
    private var pools: [Int: DatabasePool] = [:]

    /// A machine whose files keep their numbers, and that a test can exchange.
    final class Host: HostIdentity {
        private let machine = Locked("one machine")
        func machineID() -> String? { machine.withLock { $0 } }
        func fileNumber(at path: String) -> UInt64? { 1 }
        func become(_ name: String) { machine.withLock { $0 = name } }
    }

    init(_ keeping: Keeping, _ storage: MemoryStorage? = nil) throws {
        self.keeping = keeping
        self.storage = storage
        scratch = try ScratchFolder()
        let folder = scratch.path("subject")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        faults = try FaultVFS(folder: folder)
        let faults = faults
        mortalStorage = storage.map { MortalStorage($0, faults, folder: folder) }
        try files.createDirectory(at: "/shared")
        try files.synchronizeDirectory(at: "/")
    }

    deinit { closeAll() }

    // MARK: Devices

    func environment(_ index: Int) -> ReplicaEnvironment {
        let fileSystem: any FileSystem =
            index == Self.subject ? MortalFileSystem(files: files, faults: faults) : files
        var environment = ReplicaEnvironment(clock: clock, random: random, fileSystem: fileSystem, host: host)
        environment.largeValues = largeValues
        let reached: (any ObjectStorage)? = index == Self.subject ? mortalStorage : storage
        guard let reached else { return environment }
        let clock = clock
        return environment.opening("s3") { _ in RemoteBackend(reached, clock: clock) }
    }

    static let containerPath = "/shared/c"
    /// Where the container is: a folder, or the storage.
    var place: String { storage == nil ? Self.containerPath : "s3://bucket/c" }

    func databasePath(_ index: Int) -> String {
        scratch.path(index == Self.subject ? "subject/db.sqlite" : "peer\(index).sqlite")
    }

    /// Opens a device's database, which is there.
    func openStore(_ index: Int) throws -> Store {
        guard keeping == .pool, index == Self.subject else {
            return try Store(path: databasePath(index), busyTimeoutSeconds: 0.05, clock: clock)
        }
        if let pool = pools[index] { return Store(pool, clock: clock) }
        var configuration = Configuration()
        configuration.busyMode = .timeout(0.05)
        let pool = try DatabasePool(path: databasePath(index), configuration: configuration)
        pools[index] = pool
        return Store(pool, clock: clock)
    }

    /// Makes a database with the app's tables.
    func makeStore(_ index: Int, _ rows: String = "") throws -> Store {
        XCTAssertTrue(FileManager.default.createFile(atPath: databasePath(index), contents: nil))
        let queue = try DatabaseQueue(path: databasePath(index))
        try queue.writeWithoutTransaction { database in
            if keeping != .rollback { try database.execute(sql: "PRAGMA journal_mode = WAL") }
            try database.execute(sql: FaultSituation.schema + rows)
        }
        try queue.close()
        return try openStore(index)
    }

    func create(_ index: Int, _ store: Store) throws {
        let made = try ReplicaSetup(environment: environment(index)).create(
            store, containerPath: place, name: "device\(index)")
        try keep(made.replica, index)
    }

    func join(_ index: Int, _ store: Store, _ options: JoinOptions = JoinOptions()) throws {
        let made = try ReplicaSetup(environment: environment(index)).join(
            store, containerPath: place, name: "device\(index)", options: options)
        try keep(made.replica, index)
    }

    /// Joins with a database that is made from the container.
    func joinAnew(_ index: Int) throws {
        let made = try ReplicaSetup(environment: environment(index)).join(
            databasePath: databasePath(index), containerPath: place, name: "device\(index)")
        try made.replica?.store.close()
    }

    /// A device, opened where it is not open yet.
    func replica(_ index: Int) throws -> Replica {
        if let open = replicas[index] { return open }
        let store = try openStore(index)
        do {
            return try keep(Replica(store, environment: environment(index)), index)
        } catch {
            if keeping != .pool || index != Self.subject { try store.close() }
            throw error
        }
    }

    /// Goes on with a replica for which snapshots are due early.
    @discardableResult
    private func keep(_ replica: Replica, _ index: Int) throws -> Replica {
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 100
        retention.firstSnapshotChangesPerRow = 0
        let made = try Replica(replica.store, environment: environment(index), retention: retention)
        replicas[index] = made
        return made
    }

    /// Whether there is such a device, and it belongs to the container.
    func isTracked(_ index: Int) throws -> Bool {
        guard FileManager.default.fileExists(atPath: databasePath(index)) else { return false }
        if replicas[index] != nil { return true }
        let store = try openStore(index)
        defer { if pools[index] == nil { closing { try store.close() } } }
        return try store.identity() != nil
    }

    func write(_ index: Int, _ sql: String) throws {
        for statement in sql.split(separator: ";") {
            try replica(index).store.write { try $0.execute(String(statement)) }
        }
    }

    /// Packs what waits without publishing it.
    func pack(_ index: Int) throws {
        let replica = try replica(index)
        _ = try replica.store.pass(replaying: [], encode: replica.segmentEncoding(for: replica.identity))
    }

    /// Publishes what waits, and does nothing else of a sync.
    func publish(_ index: Int) throws {
        var report = SyncReport()
        try replica(index).publisher(container).publish(&report, nil, total: nil)
    }

    @discardableResult
    func sync(_ index: Int) throws -> SyncReport { try replica(index).sync() }

    /// Leaves, and closes the database. Removes the remains where the database has left already.
    func leave(_ index: Int) throws {
        guard try isTracked(index) else {
            _ = try Replica.leaveRemains(path: databasePath(index), environment: environment(index))
            return
        }
        let replica = try replica(index)
        _ = try replica.leave()
        replicas[index] = nil
        if pools[index] == nil { try replica.store.close() }
    }

    /// Closes everything; errors of a "dead" process mean nothing.
    func closeAll() {
        for index in replicas.keys.sorted() where pools[index] == nil {
            if let store = replicas[index]?.store { closing { try store.close() } }
        }
        replicas = [:]
        for pool in pools.values { closing { try pool.close() } }
        pools = [:]
    }

    private func closing(_ body: () throws -> Void) {
        do { try body() } catch { XCTAssertTrue(faults.isCrashed, "closing failed: \(error)") }
    }

    // MARK: What was prepared

    /// Databases and container at rest, with everything closed.
    struct Prepared {
        fileprivate var databases: [String: Data]
        fileprivate var files: MemoryFileSystem
        fileprivate var objects: [String: [UInt8]]
        fileprivate var machine: String?
        fileprivate var milliseconds: Int64
    }

    private static let suffixes = ["", "-wal", "-shm", "-journal"]

    private var databaseFiles: [String] {
        get throws {
            let manager = FileManager.default
            return try manager.subpathsOfDirectory(atPath: scratch.path).filter { !$0.hasSuffix("-ferry-lock") }
                .filter { manager.isReadableFile(atPath: scratch.path($0)) && $0.contains("sqlite") }
        }
    }

    func prepared() throws -> Prepared {
        closeAll()
        var databases: [String: Data] = [:]
        for name in try databaseFiles { databases[name] = try Data(contentsOf: URL(filePath: scratch.path(name))) }
        return Prepared(
            databases: databases, files: try Self.copy(files), objects: storage?.contents ?? [:],
            machine: host.machineID(), milliseconds: clock.milliseconds())
    }

    /// Puts everything back.
    func begin(_ prepared: Prepared) throws {
        closeAll()
        try mortalStorage?.bury()
        try faults.begin()
        for name in try databaseFiles { try FileManager.default.removeItem(atPath: scratch.path(name)) }
        for (name, bytes) in prepared.databases { try bytes.write(to: URL(filePath: scratch.path(name))) }
        files = try Self.copy(prepared.files)
        storage?.recover()
        storage?.restore(prepared.objects)
        host.become(prepared.machine ?? "")
        clock.set(prepared.milliseconds)
    }

    /// A file system with the same files, all of them durable.
    private static func copy(_ files: MemoryFileSystem) throws -> MemoryFileSystem {
        let copy = MemoryFileSystem()
        func copyFolder(_ path: String) throws {
            for name in try files.entryNames(ofDirectoryAt: path, maximumCount: 10_000) ?? [] {
                let below = (path == "/" ? "" : path) + "/" + name
                if let bytes = try? files.readFile(at: below, maximumBytes: 1 << 30) {  // a folder is no file
                    try copy.write(bytes, toNewFileAt: below)
                } else {
                    try copy.createDirectory(at: below)
                    try copyFolder(below)
                }
            }
            try copy.synchronizeDirectory(at: path)
        }
        try copyFolder("/")
        return copy
    }

    /// A copy of a device's database while nothing is open.
    func backup(_ index: Int) throws -> Data {
        closeAll()
        return try Data(contentsOf: URL(filePath: databasePath(index)))
    }

    func restore(_ index: Int, _ backup: Data) throws {
        closeAll()
        try backup.write(to: URL(filePath: databasePath(index)))
    }

    var container: Container {
        get throws {
            if let storage { return try Container.open(RemoteBackend(storage, clock: clock)) }
            return try Container.open(at: Self.containerPath, fileSystem: files)
        }
    }

    // MARK: Crashes

    /// The process is dead: whatever is open goes away without reaching the disks, and the power may go too.
    func crash(losing loss: FaultVFS.Loss) throws {
        if !faults.isCrashed { faults.arm(.crash, at: 1) }
        closeAll()
        faults.disarm()
        try faults.recover(losing: loss)
        try mortalStorage?.bury()
        storage?.recover()
        switch loss {
        case .nothing: files.crash(losing: .nothing)
        case .everything: files.crash(losing: .everything)
        case .random(let seed): files.crash(losing: .random(SeededRandom(seed: seed)))
        }
    }
}
