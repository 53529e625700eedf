import FerryContainer
import FerryCore
import FerrySeal
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Devices whose container is in an object storage in memory, with a clock that the test sets.
final class RemoteHome {
    static let place = "s3://bucket/music"

    let storage: MemoryStorage
    let files = MemoryFileSystem()
    let clock = MemoryHome.Clock()
    let keys = MemoryKeyStore()
    let folder: URL
    private(set) var replicas: [Replica] = []
    var isSealed = false
    var retention = RetentionSettings()

    init(_ storage: MemoryStorage = MemoryStorage()) throws {
        self.storage = storage
        folder = try ScratchFolder.make("ferry-remote")
        try files.createDirectory(at: "/shared")
        try files.synchronizeDirectory(at: "/")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    var environment: ReplicaEnvironment {
        let (storage, clock) = (storage, clock)
        return ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: files, keys: keys)
            .opening("s3") { _ in RemoteBackend(storage, clock: clock) }
    }

    func databasePath(_ index: Int) -> String { folder.appendingPathComponent("db\(index).sqlite").path }

    /// Makes the first device and the container, or joins another one.
    @discardableResult
    func addDevice(at place: String = RemoteHome.place) throws -> Replica {
        let index = replicas.count
        XCTAssertTrue(FileManager.default.createFile(atPath: databasePath(index), contents: nil))
        let store = try Store(path: databasePath(index), clock: clock)
        try store.write { try $0.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)") }
        var enrolment: Enrolment?
        if index > 0, isSealed {
            let code = try replicas[0].invite().code
            enrolment = try Enrolment.begin(containerPath: place, by: .code(code), environment: environment)
            _ = try replicas[0].sync()
        }
        let setup = ReplicaSetup(
            environment: environment, sealing: isSealed ? .sealed(recovery: nil) : .open, enrolment: enrolment)
        let made =
            try index == 0
            ? setup.create(store, containerPath: place, name: "device0").replica
            : setup.join(store, containerPath: place, name: "device\(index)").replica
        let replica = try Replica(made.store, environment: environment, retention: retention)
        replicas.append(replica)
        return replica
    }

    /// Begins anew with a device's database, as after a crash.
    func reopen(_ index: Int) throws {
        try replicas[index].store.close()
        replicas[index] = try Replica(
            Store(path: databasePath(index), clock: clock), environment: environment, retention: retention)
    }

    func write(_ index: Int, _ name: String) throws {
        try replicas[index].store.write { try $0.execute("INSERT INTO item(name) VALUES ('\(name)')") }
    }

    func names(_ index: Int) throws -> [String] {
        try replicas[index].store.read { connection in
            try connection.rows("SELECT name FROM item ORDER BY 1").map { $0[0].text }
        }
    }

    /// Syncs until nothing goes either way.
    func settle(file: StaticString = #filePath, line: UInt = #line) throws {
        for _ in 0..<20 {
            var hasNews = false
            for replica in replicas { hasNews = try replica.sync().hasNews || hasNews }
            if !hasNews { return }
        }
        XCTFail("the devices do not come to rest", file: file, line: line)
    }

    /// The number of requests of `body`.
    func requests(_ body: () throws -> Void) rethrows -> Int {
        let before = storage.count()
        try body()
        return storage.count() - before
    }

    /// Fails unless all devices show these rows, and every database is as its state says.
    func assertAgreement(_ expected: [String], file: StaticString = #filePath, line: UInt = #line) throws {
        try settle(file: file, line: line)
        for index in replicas.indices {
            XCTAssertEqual(try names(index), expected.sorted(), "device \(index)", file: file, line: line)
            XCTAssertTrue(try replicas[index].verify(deep: true).isSound, "device \(index)", file: file, line: line)
        }
    }
}
