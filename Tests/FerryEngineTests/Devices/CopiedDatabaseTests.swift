import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Databases that are restored from a backup or copied while the original goes on.
final class CopiedDatabaseTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER NOT NULL DEFAULT 0, tags TEXT);
        CREATE TABLE place(name TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID;
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three');
        INSERT INTO place VALUES ('here', 'first');
        """

    private struct Host: HostIdentity {
        var machine: String

        func machineID() -> String? { machine }
        func fileNumber(at path: String) -> UInt64? { SystemHost().fileNumber(at: path) }
    }

    private func twoDevices() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    /// A copy of a device's database, as `VACUUM INTO` or a backup program makes one.
    private func copy(_ fleet: Fleet, _ index: Int, to name: String) throws -> String {
        let path = fleet.folder.appendingPathComponent(name).path
        try fleet.shell(index, "VACUUM INTO '\(path)';")
        return path
    }

    /// Puts an older file in the place of a device's database.
    private func putBack(_ backup: String, _ fleet: Fleet, _ index: Int) throws {
        try fleet.replicas[index].store.close()
        for suffix in ["-wal", "-shm", "-journal", ""] {
            let path = fleet.databasePath(index) + suffix
            if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
        }
        try FileManager.default.moveItem(atPath: backup, toPath: fleet.databasePath(index))
        fleet.replicas[index] = try Replica(path: fleet.databasePath(index))
    }

    /// All devices show the same and have equal states, and each is sound.
    private func assertAgreement(
        _ fleet: Fleet, settling: Bool = true, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        if settling { try fleet.settle(file: file, line: line) }
        try fleet.assertEqual("SELECT name, amount, tags FROM item ORDER BY 1, 2; SELECT * FROM place ORDER BY 1;")
        let digests = try fleet.replicas[0].store.statePosition().digests
        for replica in fleet.replicas {
            XCTAssertEqual(try replica.store.statePosition().digests, digests, file: file, line: line)
            let report = try replica.verify(deep: true)
            XCTAssertTrue(report.isSound, "\(report)", file: file, line: line)
            XCTAssertEqual(try replica.sync().waiting, [], file: file, line: line)
        }
    }

    private func names(_ fleet: Fleet, _ index: Int = 0) throws -> [String] {
        try fleet.shell(index, "SELECT name FROM item ORDER BY name;").split(separator: "\n").map(String.init)
    }

    private func openCopy(_ fleet: Fleet, _ path: String) throws {
        let index = fleet.replicas.count
        try FileManager.default.moveItem(atPath: path, toPath: fleet.databasePath(index))
        fleet.replicas.append(try Replica(path: fleet.databasePath(index)))
    }

    // MARK: Restored

    func testADatabaseRestoredInItsPlaceBecomesANewDeviceAndLosesNothing() throws {
        let fleet = try twoDevices()
        let former = fleet.replicas[0].identity.device
        let backup = try copy(fleet, 0, to: "backup")
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('after'); UPDATE item SET amount = 5 WHERE id = 1;")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "DELETE FROM item WHERE id = 2;")
        _ = try fleet.replicas[0].sync()
        try putBack(backup, fleet, 0)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('restored'); UPDATE place SET note = 'new';")
        let report = try fleet.replicas[0].sync()
        XCTAssertEqual(report.renewed?.reason, .restored)
        XCTAssertEqual(report.renewed?.formerDevice, former.description)
        XCTAssertEqual(fleet.replicas[0].identity.device.description, report.renewed?.device)
        XCTAssertNil(try fleet.replicas[0].sync().renewed)
        try assertAgreement(fleet)
        XCTAssertEqual(try names(fleet), ["after", "one", "restored", "three"])
        XCTAssertEqual(try fleet.shell(1, "SELECT amount FROM item WHERE id = 1; SELECT note FROM place;"), "5\nnew\n")
        // Others are told who went on for whom, and what is left of the former device is in step.
        let peers = try fleet.replicas[1].status().devices
        XCTAssertEqual(
            peers.first { $0.id == former.description }?.successors, [fleet.replicas[0].identity.device.description])
        XCTAssertEqual(peers.first { $0.id != former.description }?.standing, .inStep)
    }

    func testARestoredDatabaseThatPackedWhileTheFolderWasAwayLosesNothing() throws {
        let fleet = try twoDevices()
        try fleet.replicas[0].setPolicies([PolicySetting(table: "item", column: "amount", .counter)])
        try fleet.settle()
        let backup = try copy(fleet, 0, to: "backup")
        try fleet.shell(
            0, "UPDATE item SET name = 'uno' WHERE id = 1; UPDATE item SET amount = amount + 5 WHERE id = 3;")
        _ = try fleet.replicas[0].sync()
        try putBack(backup, fleet, 0)
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(
            0,
            """
            UPDATE item SET name = 'deux' WHERE id = 2; INSERT INTO item(name) VALUES ('mine');
            INSERT INTO place VALUES ('there', 'x'); DELETE FROM place WHERE name = 'here';
            """)
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        XCTAssertEqual(try fleet.replicas[0].store.status().outboxChanges, 4)
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        let report = try fleet.replicas[0].sync()
        XCTAssertEqual(report.renewed?.reason, .cloned)
        // Its own four, and the two of the other branch, whose author is no more.
        XCTAssertEqual(report.renewed?.sentAgain, 6)
        try assertAgreement(fleet)
        XCTAssertEqual(try names(fleet, 1), ["deux", "mine", "three", "uno"])
        XCTAssertEqual(
            try fleet.shell(1, "SELECT name FROM place; SELECT amount FROM item WHERE id = 3;"), "there\n5\n")
    }

    // MARK: Copied

    func testACopyElsewhereBecomesANewDeviceAndRowsThatWaitedAreThereOnce() throws {
        for originalIsFirst in [true, false] {
            let fleet = try twoDevices()
            try fleet.replicas[0].setPolicies([
                PolicySetting(table: "item", column: "amount", .counter),
                PolicySetting(table: "item", column: "tags", .set),
            ])
            try fleet.settle()
            let away = fleet.folder.appendingPathComponent("away").path
            try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
            try fleet.shell(
                0,
                """
                INSERT INTO item(name, amount) VALUES ('waiting', 7); UPDATE item SET amount = amount + 10 WHERE id = 1;
                UPDATE item SET tags = '["red"]' WHERE id = 2; UPDATE item SET name = 'due' WHERE id = 2;
                """)
            XCTAssertThrowsError(try fleet.replicas[0].sync())
            let path = try copy(fleet, 0, to: "copy")
            try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
            try openCopy(fleet, path)
            try fleet.shell(
                0, "UPDATE item SET amount = amount + 1 WHERE id = 1; UPDATE item SET name = 'original' WHERE id = 2;")
            try fleet.shell(
                2, "UPDATE item SET amount = amount + 2 WHERE id = 1; INSERT INTO item(name) VALUES ('copy');")
            let order = originalIsFirst ? [0, 2] : [2, 0]
            var reports: [Int: SyncReport] = [:]
            for index in order { reports[index] = try fleet.replicas[index].sync() }
            XCTAssertNil(reports[0]?.renewed)
            XCTAssertEqual(reports[2]?.renewed?.reason, .copied)
            XCTAssertEqual(reports[2]?.renewed?.sentAgain == 0, originalIsFirst)
            try assertAgreement(fleet)
            XCTAssertEqual(try names(fleet), ["copy", "one", "original", "three", "waiting"])
            XCTAssertEqual(
                try fleet.shell(1, "SELECT amount FROM item WHERE id = 1; SELECT tags FROM item WHERE id = 2;"),
                "13\n[\"red\"]\n")
            XCTAssertEqual(Set(fleet.replicas.map(\.identity.device)).count, 3)
            // What was packed before the copy was made keeps its keys everywhere.
            try fleet.assertEqual("SELECT id, name FROM item WHERE name <> 'copy' ORDER BY id;")
        }
    }

    func testTheSameFileOnAnotherMachineIsANewDevice() throws {
        let fleet = try twoDevices()
        var environment = ReplicaEnvironment.live
        environment.host = Host(machine: "old")
        try fleet.replicas[1].store.note(StoreFingerprint(path: fleet.databasePath(1), on: environment.host))
        environment.host = Host(machine: "new")
        let former = fleet.replicas[1].identity.device
        fleet.replicas[1] = try Replica(path: fleet.databasePath(1), environment: environment)
        try fleet.shell(1, "UPDATE item SET name = 'uno' WHERE id = 1;")
        XCTAssertEqual(try fleet.replicas[1].sync().renewed?.reason, .copied)
        XCTAssertNotEqual(fleet.replicas[1].identity.device, former)
        XCTAssertNil(try fleet.replicas[1].sync().renewed)
        try assertAgreement(fleet)
    }

    func testACopyPacksNothingWhileTheFolderIsAwayAndIsADeviceOfItsOwnBeforeItRestores() throws {
        let fleet = try twoDevices()
        let path = try copy(fleet, 0, to: "copy")
        try openCopy(fleet, path)
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(2, "UPDATE item SET name = 'uno' WHERE id = 1;")
        XCTAssertThrowsError(try fleet.replicas[2].sync())
        // What waits is packed in a copy of the copy.
        XCTAssertTrue(try fleet.replicas[2].verify(deep: true).isSound)
        XCTAssertEqual(try fleet.replicas[2].store.status().outboxChanges, 0)
        XCTAssertEqual(try fleet.replicas[2].store.status().pendingNotes, 1)
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        XCTAssertTrue(try fleet.replicas[2].verify(deep: true).isSound)
        XCTAssertEqual(fleet.replicas[2].identity, try fleet.replicas[2].store.identity())
        // What a call without a report of its own did, the next report tells.
        XCTAssertEqual(try fleet.replicas[2].sync().renewed?.reason, .copied)
        try assertAgreement(fleet)
    }

    func testAMovedFileAndOneReplacedByItsOwnCopyStayTheSameDevice() throws {
        let fleet = try twoDevices()
        let device = fleet.replicas[0].identity.device
        try putBack(try copy(fleet, 0, to: "vacuumed"), fleet, 0)
        XCTAssertNil(try fleet.replicas[0].sync().renewed)
        try fleet.replicas[0].store.close()
        let elsewhere = fleet.folder.appendingPathComponent("elsewhere.sqlite").path
        try FileManager.default.moveItem(atPath: fleet.databasePath(0), toPath: elsewhere)
        let moved = try Replica(path: elsewhere)
        XCTAssertNil(try moved.sync().renewed)
        XCTAssertEqual(moved.identity.device, device)
    }

    // MARK: Both published

    func testTwoCopiesThatBothPublishedBeforeTheFolderWasSyncedBothBecomeNewDevices() throws {
        for (first, second) in [(1, 1), (2, 1), (1, 3)] {
            let fleet = try twoDevices()
            try fleet.replicas[0].setPolicies([PolicySetting(table: "item", column: "amount", .counter)])
            try fleet.shell(0, "UPDATE item SET amount = 100 WHERE id = 1;")
            try fleet.settle()
            try openCopy(fleet, try copy(fleet, 0, to: "copy"))
            // The same place on a machine whose disk was cloned: nothing but the container can tell.
            let other = try SecondFolder(fleet, "other")
            try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
            try fleet.replicas[2].store.note(fleet.replicas[2].fingerprint)
            fleet.replicas[2] = try Replica(path: fleet.databasePath(2))
            for number in 1...first {
                try fleet.shell(
                    0,
                    "INSERT INTO item(name) VALUES ('original \(number)'); UPDATE item SET amount = amount + 1 WHERE id = 2;"
                )
                XCTAssertNil(try fleet.replicas[0].sync().renewed)
            }
            // One device reads the original's branch before the folders meet.
            _ = try fleet.replicas[1].sync()
            for number in 1...second {
                try fleet.shell(2, "INSERT INTO item(name) VALUES ('copy \(number)'); DELETE FROM item WHERE id = 3;")
                XCTAssertNil(try fleet.replicas[2].sync().renewed)
            }
            for _ in 0..<8 {
                try other.exchange()
                for replica in fleet.replicas { _ = try replica.sync() }
            }
            try assertAgreement(fleet, settling: false)
            let expected =
                ["one", "two"] + (1...first).map { "original \($0)" } + (1...second).map { "copy \($0)" }
            XCTAssertEqual(Set(try names(fleet, 1)), Set(expected))
            XCTAssertEqual(try names(fleet, 1).count, expected.count)
            XCTAssertEqual(
                try fleet.shell(1, "SELECT amount FROM item WHERE id IN (1, 2) ORDER BY id;"), "100\n\(first)\n")
            for replica in fleet.replicas where replica !== fleet.replicas[1] {
                XCTAssertEqual(try replica.store.reading().formerDevices.count, 1)
            }
            let standings = try fleet.replicas[1].status().devices.filter { $0.successors == nil }.map(\.standing)
            XCTAssertEqual(standings, [.inStep, .inStep])
            XCTAssertTrue(try fleet.replicas[1].status().devices.allSatisfy { $0.behind == 0 && $0.problem == nil })
            // One that comes later reads one of the two branches, and all of what both said.
            try fleet.join()
            try assertAgreement(fleet, settling: false)
        }
    }

    // MARK: Crashes

    func testACrashBeforeOrAfterTheNewIDLosesNothing() throws {
        let fleet = try twoDevices()
        let backup = try copy(fleet, 0, to: "backup")
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('after');")
        _ = try fleet.replicas[0].sync()
        try putBack(backup, fleet, 0)
        let former = fleet.replicas[0].identity.device
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('mine');")
        XCTAssertThrowsError(try fleet.replicas[0].sync())
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        // In the middle: the transaction is undone as a whole.
        struct Killed: Error {}
        let store = fleet.replicas[0].store
        let before = try store.versionVector()
        XCTAssertThrowsError(
            try store.becomeNewDevice(
                SystemRandom().makeID(),
                published: PublishedLog(
                    position: LogPosition(sequence: 1, time: .unknown), checksum: nil, isForked: false),
                fingerprint: fleet.replicas[0].fingerprint, encode: { _, _, _ in throw Killed() }))
        XCTAssertEqual(try store.identity()?.device, former)
        XCTAssertEqual(try store.versionVector(), before)
        XCTAssertEqual(try store.status().outboxChanges, 1)
        // Right after it: nothing of the new device is in the container yet.
        let container = try fleet.replicas[0].openContainer()
        let renewal = try XCTUnwrap(fleet.replicas[0].recognise(container, isThorough: true))
        XCTAssertFalse(try container.devices().map(\.description).contains(renewal.device))
        fleet.replicas[0] = try Replica(path: fleet.databasePath(0))
        XCTAssertNil(try fleet.replicas[0].sync().renewed)
        try assertAgreement(fleet)
        XCTAssertEqual(try names(fleet, 1), ["after", "mine", "one", "three", "two"])
    }

    func testAnotherProcessThatHasTheDatabaseOpenGoesOnUnderTheNewID() throws {
        let fleet = try twoDevices()
        let backup = try copy(fleet, 0, to: "backup")
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('after');")
        _ = try fleet.replicas[0].sync()
        try putBack(backup, fleet, 0)
        let other = try Replica(path: fleet.databasePath(0))
        _ = try other.store.needsPass()
        XCTAssertNotNil(try fleet.replicas[0].sync().renewed)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('later');")
        XCTAssertEqual(try other.sync().published.changes, 1)
        XCTAssertEqual(other.identity, fleet.replicas[0].identity)
        try assertAgreement(fleet)
    }
}
