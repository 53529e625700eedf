import FerryContainer
import FerryCore
import Foundation
import XCTest

@testable import FerryEngine

/// What is wrong with the container is told, and changes no row.
final class ContainerFaultTests: XCTestCase {
    private let items =
        "CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one'), (2, 'two');"

    private func twoDevices() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(items)
        try fleet.join()
        return fleet
    }

    private func code(_ body: () throws -> Void) -> FerryError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? FerryError)?.code
        }
    }

    private func newestSegment(_ fleet: Fleet, of device: Int) throws -> URL {
        let folder = URL(fileURLWithPath: fleet.containerPath).appendingPathComponent(
            "devices/\(fleet.replicas[device].identity.device.hex)/segments")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".segment") }
        return folder.appendingPathComponent(try XCTUnwrap(names.max()))
    }

    func testAMissingFolderStopsTheSyncAndLocalChangesWait() throws {
        let fleet = try twoDevices()
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        XCTAssertEqual(code { _ = try fleet.replicas[0].sync() }, .containerMissing)
        XCTAssertEqual(try fleet.replicas[0].status().unpublished, 1)
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item"), "2\n")
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item WHERE id = 1"), "uno\n")
    }

    func testAnEmptyFolderIsNotTheContainer() throws {
        let fleet = try twoDevices()
        try FileManager.default.removeItem(atPath: fleet.containerPath)
        try FileManager.default.createDirectory(atPath: fleet.containerPath, withIntermediateDirectories: false)
        XCTAssertEqual(code { _ = try fleet.replicas[0].sync() }, .containerEmpty)
        XCTAssertEqual(try FileManager.default.contentsOfDirectory(atPath: fleet.containerPath), [])
        XCTAssertEqual(try fleet.shell(0, "SELECT count(*) FROM item"), "2\n")
    }

    func testAnotherContainersFolderIsRefused() throws {
        let fleet = try twoDevices()
        let other = try Fleet()
        try other.start(items)
        try FileManager.default.removeItem(atPath: fleet.containerPath)
        try FileManager.default.copyItem(atPath: other.containerPath, toPath: fleet.containerPath)
        XCTAssertEqual(code { _ = try fleet.replicas[0].sync() }, .containerMismatch)
    }

    func testACutOffSegmentStopsThatLogOnlyUntilItIsWhole() throws {
        let fleet = try twoDevices()
        try fleet.join()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        let segment = try newestSegment(fleet, of: 0)
        let whole = try Data(contentsOf: segment)
        try whole.prefix(whole.count / 2).write(to: segment)
        try fleet.shell(2, "UPDATE item SET name = 'due' WHERE id = 2")
        _ = try fleet.replicas[2].sync()
        let report = try fleet.replicas[1].sync()
        XCTAssertEqual(report.waiting.map(\.device), ["device0"])
        XCTAssertEqual(report.waiting.map(\.isDamage), [false])
        XCTAssertEqual(report.waiting.map(\.file), [segment.path])
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ndue\n")
        try whole.write(to: segment)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "uno\ndue\n")
    }

    func testFlippedBitsChangeNoRow() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        let segment = try newestSegment(fleet, of: 0)
        let whole = try Data(contentsOf: segment)
        for place in stride(from: 0, to: whole.count, by: 7) {
            var flipped = whole
            flipped[place] ^= 0x10
            try flipped.write(to: segment)
            XCTAssertEqual(try fleet.replicas[1].sync().waiting.count, 1, "byte \(place)")
        }
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ntwo\n")
    }

    func testASegmentThatIsLateIsWaitedFor() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        let segment = try newestSegment(fleet, of: 0)
        let away = fleet.folder.appendingPathComponent("late")
        try fleet.shell(0, "UPDATE item SET name = 'due' WHERE id = 2")
        _ = try fleet.replicas[0].sync()
        // As the folder is on the other device until its syncer has brought all of it.
        try FileManager.default.moveItem(at: segment, to: away)
        XCTAssertEqual(try fleet.replicas[1].sync().waiting.map(\.code), ["fileNotThereYet"])
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ntwo\n")
        try FileManager.default.moveItem(at: away, to: segment)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "uno\ndue\n")
    }

    func testAConflictedCopyThatIsAWholeSegmentIsUsed() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        _ = try fleet.replicas[0].sync()
        let segment = try newestSegment(fleet, of: 0)
        let copy = segment.path.replacingOccurrences(
            of: ".segment", with: ".sync-conflict-20260101-120000-ABCDEF7.segment")
        try FileManager.default.moveItem(atPath: segment.path, toPath: copy)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "uno\ntwo\n")
    }

    func testPublishingIsRepeatedAfterACrashWithoutEffect() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno' WHERE id = 1")
        let replica = fleet.replicas[0]
        // Packed and published, but not forgotten: what a crash before the last step leaves behind.
        _ = try replica.store.pass(replaying: [], encode: replica.segmentEncoding(for: replica.identity))
        let entry = try XCTUnwrap(replica.store.outboxEntry())
        let container = try replica.openContainer()
        try container.publish(
            entry.bytes, name: SegmentName(first: entry.first, last: entry.last, checksum: entry.checksum),
            of: replica.identity.device)
        XCTAssertEqual(try replica.sync().published.segments, 1)
        XCTAssertEqual(try container.segments(of: replica.identity.device).count, 2)
        XCTAssertEqual(try fleet.replicas[1].sync().replayed.changes, 1)
        XCTAssertEqual(try fleet.replicas[1].sync().replayed.changes, 0)
    }

    func testADatabaseInsideTheContainerIsRefused() throws {
        let fleet = try twoDevices()
        XCTAssertEqual(
            code {
                _ = try Replica.join(
                    databasePath: fleet.containerPath + "/live.sqlite", containerPath: fleet.containerPath)
            }, .invalidArgument)
        XCTAssertFalse(FileManager.default.fileExists(atPath: fleet.containerPath + "/live.sqlite"))
    }
}
