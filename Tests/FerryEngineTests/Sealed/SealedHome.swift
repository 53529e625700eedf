import FerryContainer
import FerryCore
import FerryLog
import FerryMembers
import FerrySeal
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Computers, each with a key store of its own, and a sealed container in a file system in memory that they share.
final class SealedHome {
    /// A computer with one database.
    struct Computer {
        var keys: any KeyStore
        var host: Host
        var replica: Replica?
    }

    struct Host: HostIdentity {
        var machine: String
        /// The file whose number the only database has: a cloned disk keeps the numbers of its files.
        var original: String?
        func machineID() -> String? { machine }
        func fileNumber(at path: String) -> UInt64? { SystemHost().fileNumber(at: original ?? path) }
    }

    static let place = "/shared/c"

    /// The storage with the container; `nil`: the container is a folder.
    let storage: MemoryStorage?
    /// The same storage, for processes that die with their databases.
    private let mortalStorage: MortalStorage?
    /// Where the container is.
    var place: String { storage == nil ? Self.place : "s3://bucket/c" }

    let files = MemoryFileSystem()
    let clock = MemoryHome.Clock()
    /// The disks of the key stores, where these die with the process.
    let keyFiles = MemoryFileSystem()
    /// What happens below the databases; `nil`: nothing.
    let faults: FaultVFS?
    let folder: URL
    var computers: [Computer] = []
    /// A code that a flow has made.
    var code: SecretCode?
    /// The recovery code, which a person wrote down.
    private(set) var recovery: SecretCode?
    /// The random numbers of all computers.
    var random: any RandomSource = SystemRandom()
    var largeValues = LargeValueSettings()

    /// - Parameters:
    ///   - storage: the container's storage, where the container is no folder.
    ///   - isMortal: true: a fault of the folder or storage, of a key store or of a database ends all of them (`crash`).
    init(_ storage: MemoryStorage? = nil, isMortal: Bool = false) throws {
        let folder = try ScratchFolder.make("ferry-sealed")
        let faults = try isMortal ? FaultVFS(folder: folder.path) : nil
        (self.folder, self.faults, self.storage) = (folder, faults, storage)
        mortalStorage = storage.flatMap { storage in faults.map { MortalStorage(storage, $0, folder: folder.path) } }
        try keyFiles.createDirectory(at: "/keys")
        try keyFiles.synchronizeDirectory(at: "/")
        try files.createDirectory(at: "/shared")
        try files.synchronizeDirectory(at: "/")
    }

    deinit {
        // The guard of the disk goes next, and wants everything closed.
        if faults != nil { for computer in computers { try? computer.replica?.store.close() } }
        try? FileManager.default.removeItem(at: folder)  // a temporary folder
    }

    // MARK: Computers

    /// Adds a computer without a database.
    @discardableResult
    func addComputer() -> Int {
        let number = computers.count
        let keys: any KeyStore =
            faults.map {
                FileKeyStore(
                    directory: "/keys/\(number)",
                    fileSystem: MortalPlace(files: keyFiles, other: files, faults: $0, storage: storage),
                    random: random)
            } ?? MemoryKeyStore()
        computers.append(Computer(keys: keys, host: Host(machine: "machine \(number)")))
        return computers.count - 1
    }

    func environment(_ index: Int) -> ReplicaEnvironment {
        var environment = ReplicaEnvironment(
            clock: clock, random: random,
            fileSystem: faults.map { MortalPlace(files: files, other: keyFiles, faults: $0, storage: storage) }
                ?? files,
            host: computers[index].host, keys: computers[index].keys)
        environment.largeValues = largeValues
        let reached: (any ObjectStorage)? = mortalStorage ?? storage
        guard let reached else { return environment }
        let clock = clock
        return environment.opening("s3") { _ in RemoteBackend(reached, clock: clock) }
    }

    /// Waits until all databases are durable on their disk, and begins anew with them.
    func takeAsDurable() throws {
        let open = computers.indices.filter { computers[$0].replica != nil }
        for index in open { try computers[index].replica?.store.close() }
        faults?.takeAsSynchronized()
        for index in open {
            let store = try Store(path: databasePath(index), clock: clock, random: random)
            computers[index].replica = try Replica(store, environment: environment(index))
        }
    }

    /// The processes are dead: whatever is open goes away without reaching the disks, and the power may go too. Begins anew with the
    /// databases that are there.
    func crash(losing loss: FaultVFS.Loss) throws {
        if let faults, !faults.isCrashed { faults.arm(.crash, at: 1) }
        let open = computers.indices.filter { computers[$0].replica != nil }
        for index in open {
            // A dead process closes nothing well.
            try? computers[index].replica?.store.close()
            computers[index].replica = nil
        }
        faults?.disarm()
        try faults?.recover(losing: loss)
        try mortalStorage?.bury()
        storage?.recover()
        for files in [files, keyFiles] {
            switch loss {
            case .nothing: files.crash(losing: .nothing)
            case .everything: files.crash(losing: .everything)
            case .random(let seed): files.crash(losing: .random(SeededRandom(seed: seed)))
            }
        }
        for index in open where FileManager.default.fileExists(atPath: databasePath(index)) {
            let store = try Store(path: databasePath(index), clock: clock, random: random)
            if try store.identity() == nil {
                try store.close()
            } else {
                computers[index].replica = try Replica(store, environment: environment(index))
            }
        }
    }

    func databasePath(_ index: Int) -> String { folder.appendingPathComponent("db\(index).sqlite").path }

    func replica(_ index: Int, file: StaticString = #filePath, line: UInt = #line) throws -> Replica {
        try XCTUnwrap(computers[index].replica, file: file, line: line)
    }

    /// Makes an empty database with a table.
    func makeStore(_ index: Int) throws -> Store {
        XCTAssertTrue(FileManager.default.createFile(atPath: databasePath(index), contents: nil))
        let store = try Store(path: databasePath(index), clock: clock, random: random)
        try store.write { connection in
            try connection.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)")
        }
        return store
    }

    /// Founds a container on the first computer.
    func found(recovery hasRecovery: Bool = true, sealing: ContainerSealing? = nil) throws {
        let index = addComputer()
        let setup = ReplicaSetup(
            environment: environment(index),
            sealing: sealing ?? .sealed(recovery: hasRecovery ? { self.recovery = $0 } : nil))
        let made = try setup.create(makeStore(index), containerPath: place, name: "device\(index)")
        computers[index].replica = made.replica
    }

    func seal(_ index: Int, anew: Bool = false) throws -> SealReport {
        try replica(index).seal(recovery: { self.recovery = $0 }, anew: anew)
    }

    /// Joins with an enrolment that was answered.
    func join(_ index: Int, _ enrolment: Enrolment?) throws {
        let setup = ReplicaSetup(environment: environment(index), enrolment: enrolment)
        let made = try setup.join(makeStore(index), containerPath: place, name: "device\(index)")
        computers[index].replica = made.replica
    }

    /// Adds a computer and lets it in by a code of another one's.
    @discardableResult
    func invite(by host: Int) throws -> Int {
        let code = try replica(host).invite().code
        let index = addComputer()
        let enrolment = try begin(index, .code(code))
        _ = try replica(host).sync()
        try join(index, enrolment)
        _ = try replica(host).sync()
        return index
    }

    func begin(_ index: Int, _ way: Enrolment.Way) throws -> Enrolment {
        try Enrolment.begin(containerPath: place, by: way, environment: environment(index))
    }

    /// Begins anew with a database, as after a crash.
    func reopen(_ index: Int) throws {
        try replica(index).store.close()
        computers[index].replica = try Replica(
            Store(path: databasePath(index), clock: clock, random: random), environment: environment(index))
    }

    // MARK: What happens

    func write(_ index: Int, _ name: String) throws {
        try replica(index).store.write { try $0.execute("INSERT INTO item(name) VALUES ('\(name)')") }
    }

    func names(_ index: Int) throws -> [String] {
        try replica(index).store.read { connection in
            try connection.rows("SELECT name FROM item ORDER BY 1").map { $0[0].text }
        }
    }

    /// Syncs until nothing is new.
    func settle(_ indices: [Int]? = nil, file: StaticString = #filePath, line: UInt = #line) throws {
        let all = try (indices ?? computers.indices.filter { computers[$0].replica != nil }).map { try replica($0) }
        func writes() -> Int { storage.map { $0.count(.put) + $0.count(.delete) } ?? files.stepCount }
        for _ in 0..<20 {
            let before = writes()
            for replica in all { _ = try replica.sync() }
            if writes() == before { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    /// Fails unless these devices show these rows and know the same members.
    func assertAgreement(
        _ indices: [Int], _ expected: [String], members count: Int, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        try settle(indices, file: file, line: line)
        var digests: Set<[UInt8]> = []
        for index in indices {
            XCTAssertEqual(try names(index), expected.sorted(), "device \(index)", file: file, line: line)
            let roster = try roster(index)
            XCTAssertEqual(roster.members.count, count, "device \(index)", file: file, line: line)
            digests.insert(roster.digest)
        }
        XCTAssertEqual(digests.count, 1, "devices know other members", file: file, line: line)
    }

    /// The number of directories of devices that no record names, as the first computer with a database sees it.
    func strangers() throws -> Int {
        let roster = try roster(XCTUnwrap(computers.firstIndex { $0.replica != nil }, "nobody has a database"))
        return try container.directories().filter { roster.isUnknown($0) }.count
    }

    func roster(_ index: Int) throws -> Roster { try XCTUnwrap(try replica(index).membership()).roster }

    func device(_ index: Int) throws -> DeviceID { try replica(index).identity.device }

    /// The container without a seal.
    var container: Container {
        get throws {
            if let storage { return try Container.open(RemoteBackend(storage, clock: clock)) }
            return try Container.open(at: Self.place, expecting: nil, fileSystem: files, random: SystemRandom())
        }
    }

    /// The code of the failure of a call.
    func failure(of body: () throws -> Void) -> FerryError.Code? {
        do {
            try body()
            return nil
        } catch let error as FerryError {
            return error.code
        } catch {
            return FerryError.Code(rawValue: "\(error)")
        }
    }

    /// Every file of the folder, by its path.
    func allFiles() throws -> [String: [UInt8]] {
        if let storage { return storage.contents }
        var found: [String: [UInt8]] = [:]
        func walk(_ path: String) throws {
            guard let names = try? files.entryNames(ofDirectoryAt: path, maximumCount: 100_000) else { return }
            for name in names {
                let inner = path + "/" + name
                if let bytes = try? files.readFile(at: inner, maximumBytes: 1 << 28) { found[inner] = bytes }
                try walk(inner)
            }
        }
        try walk("/shared")
        return found
    }
}
