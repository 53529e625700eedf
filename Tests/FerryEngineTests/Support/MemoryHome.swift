import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Devices whose container is in a file system in memory that can be crashed, with a clock that the test sets.
final class MemoryHome {
    let files = MemoryFileSystem()
    let clock = Clock()
    let folder: URL
    private(set) var replicas: [Replica] = []
    var retention = RetentionSettings()
    var largeValues = LargeValueSettings()
    /// What makes the tables of each database.
    var schema = ["CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT)"]

    final class Clock: WallClock {
        private let now = Locked<Int64>(1_700_000_000_000)
        func milliseconds() -> Int64 { now.withLock { $0 } }
        func milliseconds(captured: Int64) -> Int64 { milliseconds() }
        func set(_ milliseconds: Int64) { now.withLock { $0 = milliseconds } }
        func advance(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }
        func advance(days: Int64) { advance(hours: 24 * days) }
    }

    init(retention: RetentionSettings = RetentionSettings()) throws {
        self.retention = retention
        folder = try ScratchFolder.make("ferry-home")
        try files.createDirectory(at: "/shared")
        try files.synchronizeDirectory(at: "/")
    }

    deinit { try? FileManager.default.removeItem(at: folder) }  // a temporary folder

    var environment: ReplicaEnvironment {
        var environment = ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: files)
        environment.largeValues = largeValues
        return environment
    }

    func databasePath(_ index: Int) -> String { folder.appendingPathComponent("db\(index).sqlite").path }

    func makeStore(_ index: Int) throws -> Store {
        XCTAssertTrue(FileManager.default.createFile(atPath: databasePath(index), contents: nil))
        let store = try Store(path: databasePath(index), clock: clock)
        try store.write { connection in
            for statement in schema { try connection.execute(statement) }
        }
        return store
    }

    /// Makes the first device and the container, or joins another one.
    func addDevice() throws {
        let index = replicas.count
        let store = try makeStore(index)
        let made =
            try index == 0
            ? ReplicaSetup(environment: environment).create(store, containerPath: "/shared/c", name: "device0").replica
            : ReplicaSetup(environment: environment).join(store, containerPath: "/shared/c", name: "device\(index)")
                .replica
        replicas.append(try Replica(made.store, environment: environment, retention: retention))
    }

    /// Joins a database that has rows of its own.
    func join(_ store: Store, _ options: JoinOptions) throws {
        let setup = ReplicaSetup(environment: environment)
        let made = try setup.join(
            store, containerPath: "/shared/c", name: "device\(replicas.count)", options: options)
        replicas.append(try Replica(made.replica.store, environment: environment, retention: retention))
    }

    /// Begins anew with a device's database, as after a crash.
    func reopen(_ index: Int) throws {
        try replicas[index].store.close()
        replicas[index] = try Replica(
            Store(path: databasePath(index), clock: clock), environment: environment, retention: retention)
    }

    func write(_ index: Int, _ sql: String) throws { try replicas[index].store.write { try $0.execute(sql) } }

    /// Packs a change without publishing it.
    func pack(_ index: Int, _ name: String) throws {
        try write(index, "INSERT INTO item(name) VALUES ('\(name)')")
        let replica = replicas[index]
        _ = try replica.store.pass(replaying: [], encode: replica.segmentEncoding(for: replica.identity))
    }

    /// Publishes what waits, and does nothing else of a sync.
    func publish(_ index: Int) throws {
        var report = SyncReport()
        try replicas[index].publisher(container).publish(&report, nil, total: nil)
    }

    /// Publishes each of so many changes in a segment of its own.
    func flush(_ index: Int, _ count: Int) throws {
        for number in 0..<count {
            try pack(index, "flush \(number)")
            try publish(index)
        }
    }

    var container: Container {
        get throws { try Container.open(at: "/shared/c", fileSystem: files) }
    }

    func rows(_ index: Int) throws -> [[FieldValue]] {
        try replicas[index].store.read { try $0.rows("SELECT name, count(*) FROM item GROUP BY 1 ORDER BY 1") }
    }

    /// The names of a device's segments in the container.
    func segments(_ index: Int) throws -> [SegmentName] {
        try container.segments(of: replicas[index].identity.device)
    }

    /// Rolls up a device's log, and leaves the small files where they are.
    func rollUp(_ index: Int, _ first: UInt64, _ last: UInt64) throws -> [SegmentName] {
        let device = replicas[index].identity.device
        let container = try self.container
        let parts = try segments(index).filter { first <= $0.first && $0.last <= last }
        var changesets: [Changeset] = []
        var headers: [SegmentHeader] = []
        for part in parts {
            let bytes = try XCTUnwrap(try container.readSegment(part, of: device))
            let (header, content) = try SegmentDecoder.decode(bytes, container: container.id, device: device)
            headers.append(header)
            changesets += content
        }
        let segment = try SegmentEncoder.encode(
            changesets, container: container.id, previous: headers[0].previous, tail: headers.last?.chainEnd)
        try container.publish(
            segment.bytes, name: SegmentName(first: first, last: last, checksum: segment.checksum), of: device)
        return parts
    }

    /// Fails where a device's files and its list of them disagree, or the log cannot be read from its beginning.
    func checkLog(_ index: Int, _ context: String = "", file: StaticString = #filePath, line: UInt = #line) throws {
        let replica = replicas[index]
        let device = replica.identity.device
        let listed = try replica.store.ownSegments()
        XCTAssertEqual(
            try segments(index).map(\.fileName).sorted(), listed.map(\.fileName).sorted(), context, file: file,
            line: line)
        let start = max(try replica.store.reading().logStart, 1)
        let end = try replica.store.versionVector()[device].sequence
        var positions = VersionVector()
        positions.advance(device, to: LogPosition(sequence: start - 1, time: .zero))
        let batch = try LogReader(container: container, device: DeviceID(high: 0, low: 0))
            .read(after: positions, isThorough: true)
        XCTAssertNil(batch.problems[device], context, file: file, line: line)
        XCTAssertEqual(
            batch.changesets.filter { $0.device == device }.map(\.sequence), Array(start...end), context, file: file,
            line: line)
        let head = try XCTUnwrap(try container.readHead(of: device), context, file: file, line: line)
        XCTAssertEqual(head.position.sequence, end, context, file: file, line: line)
        XCTAssertEqual(head.logStart, try replica.store.reading().logStart, context, file: file, line: line)
        XCTAssertTrue(
            try segments(index).contains(try XCTUnwrap(head.lastSegment)), context, file: file, line: line)
    }
}
