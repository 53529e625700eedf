import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Nothing waits silently: what is waited for has a reason, an age and, where it is about one, a file.
final class WaitingTests: XCTestCase {
    /// Two devices of which the second one's clock is set by the test.
    private final class Household {
        let fleet: Fleet
        let clock = SetClock()
        let replica: Replica

        init() throws {
            fleet = try Fleet()
            try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one');")
            try fleet.join()
            let environment = ReplicaEnvironment(clock: clock, random: SystemRandom(), fileSystem: PosixFileSystem())
            replica = try Replica(path: fleet.databasePath(1), environment: environment)
            _ = try replica.sync()
        }

        var segments: URL {
            URL(fileURLWithPath: fleet.containerPath)
                .appendingPathComponent("devices/\(fleet.replicas[0].identity.device.hex)/segments")
        }

        /// The first device publishes a change.
        func publish() throws -> URL {
            let before = Set(try FileManager.default.contentsOfDirectory(atPath: segments.path))
            try fleet.shell(0, "UPDATE item SET name = name || '!'")
            _ = try fleet.replicas[0].sync()
            let after = try FileManager.default.contentsOfDirectory(atPath: segments.path)
            return segments.appendingPathComponent(try XCTUnwrap(after.first { !before.contains($0) }))
        }
    }

    private final class SetClock: WallClock {
        private let now = Locked(SystemClock().milliseconds())
        func milliseconds() -> Int64 { now.withLock { $0 } }
        func milliseconds(captured: Int64) -> Int64 { captured }
        func advance(hours: Int64) { now.withLock { $0 += hours * 3_600_000 } }
    }

    func testAReasonKeepsItsAgeUntilItIsGone() throws {
        let household = try Household()
        let file = try household.publish()
        let whole = try Data(contentsOf: file)
        try whole.prefix(whole.count - 1).write(to: file)
        let start = household.clock.milliseconds()
        household.clock.advance(hours: 1)
        let first = try household.replica.sync().waiting
        XCTAssertEqual(first.map(\.sinceMilliseconds), [start + 3_600_000])
        XCTAssertEqual(first.map(\.file), [file.path])
        household.clock.advance(hours: 48)
        XCTAssertEqual(try household.replica.sync().waiting, first)
        let peer = try XCTUnwrap(try household.replica.status().devices.first)
        XCTAssertEqual(peer.problemSinceMilliseconds, start + 3_600_000)
        XCTAssertEqual(peer.problemFile, file.path)
        XCTAssertEqual(peer.problemCode, "fileNotThereYet")

        try whole.write(to: file)
        XCTAssertEqual(try household.replica.sync().waiting, [])
        XCTAssertNil(try household.replica.status().devices.first?.problem)
        // The next reason is a new one.
        try Data().write(to: household.publish())
        household.clock.advance(hours: 1)
        XCTAssertEqual(
            try household.replica.sync().waiting.map(\.sinceMilliseconds), [household.clock.milliseconds()])
    }

    func testNoTableHasASentence() throws {
        let household = try Household()
        let file = try household.publish()
        try Data("no segment".utf8).write(to: file)
        let waiting = try household.replica.sync().waiting
        XCTAssertEqual(waiting.count, 1)
        let folder = household.fleet.containerPath
        try FileManager.default.moveItem(atPath: folder, toPath: folder + ".away")
        XCTAssertThrowsError(try household.replica.sync())
        let saved = try household.fleet.shell(
            1,
            """
            SELECT problem FROM ferry_device WHERE problem IS NOT NULL
            UNION ALL SELECT value FROM ferry_meta WHERE name = 'failure'
            """
        ).split(separator: "\n")
        XCTAssertEqual(saved.count, 2)
        XCTAssertTrue(saved.allSatisfy { $0.hasPrefix("{") && !$0.contains(". ") }, "\(saved)")
        // Who reads them gets sentences.
        let failure = try XCTUnwrap(household.replica.status().container.failure)
        XCTAssertTrue(failure.contains(folder) && failure.hasSuffix("."), failure)
    }

    func testAWaitThatLastsWritesNothing() throws {
        let household = try Household()
        try Data().write(to: household.publish())
        _ = try household.replica.sync()
        let version = try household.fleet.replicas[1].store.dataVersion()
        for _ in 0..<3 { _ = try household.replica.sync() }
        XCTAssertEqual(try household.fleet.replicas[1].store.dataVersion(), version)
    }

    func testAFileWhosePlaceWasMadeBeforeItsContentCameIsWaitedFor() throws {
        let household = try Household()
        let file = try household.publish()
        let whole = try Data(contentsOf: file)
        try (whole.prefix(60) + Data(repeating: 0, count: whole.count - 60)).write(to: file)
        XCTAssertEqual(try household.replica.sync().waiting.map(\.code), ["fileNotThereYet"])
        try whole.write(to: file)
        XCTAssertEqual(try household.replica.sync().waiting, [])
    }

    func testAPlaceholderIsNamedAsOne() throws {
        let household = try Household()
        let file = try household.publish()
        let placeholder = file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent).icloud")
        let whole = try Data(contentsOf: file)
        try FileManager.default.removeItem(at: file)
        try Data("bplist".utf8).write(to: placeholder)
        let waiting = try household.replica.sync().waiting
        XCTAssertEqual(waiting.map(\.code), ["fileNotThereYet"])
        XCTAssertEqual(waiting.map(\.file), [placeholder.path])
        XCTAssertTrue(waiting.first?.reason.contains("placeholder") ?? false)
        XCTAssertTrue(FileManager.default.fileExists(atPath: placeholder.path))
        try whole.write(to: file)
        XCTAssertEqual(try household.replica.sync().waiting, [])
    }

    func testAFolderThatIsAwayHasAnAge() throws {
        let household = try Household()
        let away = household.fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: household.fleet.containerPath, toPath: away)
        let since = household.clock.milliseconds()
        XCTAssertThrowsError(try household.replica.sync())
        household.clock.advance(hours: 5)
        XCTAssertThrowsError(try household.replica.sync())
        let place = try household.replica.status().container
        XCTAssertFalse(place.reachable)
        XCTAssertEqual(place.failingSinceMilliseconds, since)
        try FileManager.default.moveItem(atPath: away, toPath: household.fleet.containerPath)
        _ = try household.replica.sync()
        XCTAssertNil(try household.replica.status().container.failingSinceMilliseconds)
    }

    func testAFolderThatCannotBeWrittenKeepsTheBacklogAndSaysSo() throws {
        try XCTSkipIf(getuid() == 0, "permissions do not bind the superuser; the twin with a memory file system runs")
        let household = try Household()
        let own = household.fleet.containerPath + "/devices/\(household.replica.identity.device.hex)/segments"
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: own)
        defer { XCTAssertNoThrow(try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: own)) }
        try household.fleet.shell(1, "UPDATE item SET name = 'mine'")
        XCTAssertThrowsError(try household.replica.sync()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .inputOutput)
        }
        XCTAssertEqual(try household.replica.status().unpublished, 1)
    }

    func testAFullOrReadOnlyFolderKeepsTheBacklogAndSaysSo() throws {
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(at: "/shared")
        let fleet = try Fleet()
        try fleet.shell(0, "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one');")
        let environment = ReplicaEnvironment(clock: SystemClock(), random: SystemRandom(), fileSystem: fileSystem)
        let store = try Store(path: fleet.databasePath(0))
        let replica = try ReplicaSetup(environment: environment).create(
            store, containerPath: "/shared/container", name: "a"
        ).replica
        fileSystem.setRefusesWrites(true)
        try fleet.shell(0, "UPDATE item SET name = 'written while the disk is full'")
        XCTAssertThrowsError(try replica.sync()) { XCTAssertEqual(($0 as? FerryError)?.code, .inputOutput) }
        let status = try replica.status()
        XCTAssertEqual(status.unpublished, 1)
        XCTAssertNotNil(status.container.failure)
        XCTAssertNotNil(status.container.failingSinceMilliseconds)
        fileSystem.setRefusesWrites(false)
        XCTAssertEqual(try replica.sync().published.changes, 1)
        XCTAssertNil(try replica.status().container.failure)
    }
}
