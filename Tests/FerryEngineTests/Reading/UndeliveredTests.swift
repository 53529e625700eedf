import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Devices that are lost before their files arrive, while another device has what they say: by a snapshot in a file, or as a copy of
/// their database.
final class UndeliveredTests: XCTestCase {
    private static let rows = "SELECT name, note FROM item ORDER BY 1; SELECT code FROM part ORDER BY 1;"
    private static let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id), code TEXT);
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three');
        """

    /// 0 and 1 share a folder; 2 has another one, which nobody carries anything out of from now on.
    private struct World {
        let fleet: Fleet
        let other: SecondFolder
        var lost: Replica

        init() throws {
            fleet = try Fleet()
            try fleet.start(UndeliveredTests.schema)
            try fleet.join()
            try fleet.settle()
            other = try SecondFolder(fleet, "other")
            let (third, _) = try Replica.join(
                databasePath: fleet.databasePath(8), containerPath: other.path, name: "device2")
            lost = try XCTUnwrap(third)
            for _ in 0..<3 {
                try other.exchange()
                for replica in fleet.replicas + [lost] { _ = try replica.sync() }
            }
        }

        /// The third device has inserted a row, and a device has it by a snapshot in a file alone.
        static func afterGivingARow(to index: Int) throws -> World {
            let world = try World()
            try world.write("INSERT INTO item(name) VALUES ('four');")
            try world.give(to: index)
            return world
        }

        /// What the third device does alone.
        func write(_ sql: String) throws {
            try fleet.shell(8, sql)
            _ = try lost.sync()
        }

        /// Gives what the third device has to another one, as a file.
        func give(to index: Int) throws {
            let file = fleet.folder.appendingPathComponent("file.ferry").path
            _ = try lost.exportSnapshot(to: file)
            _ = try fleet.replicas[index].importSnapshot(from: file)
        }

        /// The third device's last file in a folder.
        func lastFile(in folder: String) throws -> String {
            let container = try Container.open(at: folder, fileSystem: PosixFileSystem())
            let device = lost.identity.device
            return container.path(of: try XCTUnwrap(container.segmentFiles(of: device).last), device)
        }

        /// Waits for files no longer than this.
        func setPatience(_ milliseconds: Int64) throws {
            var retention = RetentionSettings()
            retention.undeliveredMilliseconds = milliseconds
            fleet.replicas = try fleet.replicas.indices.map {
                try Replica(path: fleet.databasePath($0), retention: retention)
            }
        }

        func sync(_ rounds: Int = 4) throws {
            for _ in 0..<rounds { for replica in fleet.replicas { _ = try replica.sync() } }
        }

        /// Syncs once the time to wait for files is over.
        func syncWithoutPatience() throws {
            try setPatience(0)
            try sync()
        }

        func snapshots() throws -> Int {
            let container = try Container.open(at: fleet.containerPath, fileSystem: PosixFileSystem())
            return try container.devices().reduce(0) { try $0 + container.snapshots(of: $1).count }
        }

        /// All show the same, prove it, and wait for nothing.
        func assertAgreement(_ expected: String, file: StaticString = #filePath, line: UInt = #line) throws {
            try fleet.assertEqual(UndeliveredTests.rows, file: file, line: line)
            XCTAssertEqual(try fleet.shell(0, UndeliveredTests.rows), expected, file: file, line: line)
            let living = Set(fleet.replicas.map { $0.identity.device.description })
            for replica in fleet.replicas {
                XCTAssertEqual(try replica.sync().waiting, [], file: file, line: line)
                XCTAssertTrue(try replica.verify(deep: true).isSound, file: file, line: line)
                for peer in try replica.status().devices where living.contains(peer.id) {
                    XCTAssertEqual(peer.standing, .inStep, file: file, line: line)
                }
                XCTAssertTrue(try replica.store.reading().undelivered.isEmpty, file: file, line: line)
            }
        }
    }

    func testWhatALostDeviceGaveToOneAsAFileReachesAll() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four'); UPDATE item SET note = 'new' WHERE id = 1;")
        try world.write("DELETE FROM item WHERE id = 2; INSERT INTO part(item, code) VALUES (3, 'a');")
        try world.give(to: 1)
        try world.syncWithoutPatience()
        try world.assertAgreement("four|\none|new\nthree|\na\n")
    }

    /// The lost device's file is damaged, and nobody is left to write the file again.
    func testADamagedFileOfALostDeviceIsReplacedByASnapshot() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four');")
        try world.other.exchange()
        _ = try world.fleet.replicas[1].sync()
        let path = try world.lastFile(in: world.fleet.containerPath)
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: URL(fileURLWithPath: path))
        XCTAssertEqual(try world.fleet.replicas[0].sync().waiting.map(\.code), ["damagedFile"])
        try world.syncWithoutPatience()
        try world.assertAgreement("four|\none|\nthree|\ntwo|\n")
        XCTAssertEqual(try world.snapshots(), 1)
    }

    /// A device goes, and its last file never arrives. Once somebody has retired the device, nothing is expected any more.
    func testAFileOfARetiredDeviceThatNobodyHasIsNoLongerAwaited() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four');")
        try FileManager.default.removeItem(atPath: world.lastFile(in: world.other.path))
        try world.other.exchange()
        let former = try world.fleet.replicas[0].sync().waiting
        XCTAssertEqual(former.map(\.code), ["fileNotThereYet"])
        try world.fleet.replicas[0].retire(world.lost.identity.device.description)
        try world.sync()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
    }

    func testTheSnapshotThatStandsForLostFilesIsPublishedOnce() throws {
        let world = try World.afterGivingARow(to: 1)
        try world.syncWithoutPatience()
        XCTAssertEqual(try world.snapshots(), 1)
        for index in [0, 1, 0] {
            try world.fleet.shell(index, "UPDATE item SET note = 'again' WHERE id = 3;")
            try world.sync()
        }
        XCTAssertEqual(try world.snapshots(), 1)
        // What the lost device had not given is known of by nobody.
        try world.assertAgreement("four|\none|\nthree|again\ntwo|\n")
    }

    func testWhatALostDeviceHadReachesAllByACopyOfItsDatabase() throws {
        var world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four'); UPDATE item SET note = 'new' WHERE id = 1;")
        try world.fleet.shell(8, "VACUUM INTO '\(world.fleet.databasePath(9))';")
        try world.fleet.shell(
            9, "UPDATE ferry_meta SET value = '\(world.fleet.containerPath)' WHERE name = 'containerPath';")
        try world.lost.store.close()
        world.lost = try Replica(path: world.fleet.databasePath(9))
        XCTAssertEqual(try world.lost.sync().renewed?.reason, .copied)
        try world.lost.store.close()
        // The copy is the third device now.
        try FileManager.default.moveItem(
            atPath: world.fleet.databasePath(9), toPath: world.fleet.databasePath(2))
        world.fleet.replicas.append(try Replica(path: world.fleet.databasePath(2)))
        try world.syncWithoutPatience()
        try world.assertAgreement("four|\none|new\nthree|\ntwo|\n")
        XCTAssertEqual(try world.snapshots(), 1)
    }

    func testADeviceThatJoinsLaterHasItToo() throws {
        let world = try World.afterGivingARow(to: 1)
        try world.syncWithoutPatience()
        try world.fleet.join()
        try world.syncWithoutPatience()
        try world.assertAgreement("four|\none|\nthree|\ntwo|\n")
    }

    func testWhereOnlyOneDeviceIsLeftThatHasItADeviceThatJoinsGetsIt() throws {
        let world = try World.afterGivingARow(to: 0)
        try world.fleet.replicas[1].store.close()
        world.fleet.replicas.removeLast()
        try FileManager.default.removeItem(atPath: world.fleet.databasePath(1))
        try world.syncWithoutPatience()
        try world.fleet.join()
        try world.syncWithoutPatience()
        try world.assertAgreement("four|\none|\nthree|\ntwo|\n")
    }

    func testFilesThatAreMerelyLateAreWaitedFor() throws {
        let world = try World.afterGivingARow(to: 1)
        try world.sync()
        XCTAssertEqual(try world.snapshots(), 0, "the files may be on their way")
        XCTAssertNotEqual(try world.fleet.replicas[1].store.reading().undelivered.kept, [:])
        XCTAssertNotEqual(try world.fleet.replicas[0].store.reading().undelivered.lacked, [:])
        try world.write("UPDATE item SET note = 'later' WHERE name = 'four';")
        try world.other.exchange()
        try world.sync()
        try world.assertAgreement("four|later\none|\nthree|\ntwo|\n")
        XCTAssertEqual(try world.snapshots(), 0)
    }

    func testFilesThatComeAfterTheSnapshotThatStandsForThemDoubleAndUndoNothing() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four'); UPDATE item SET note = 'first' WHERE id = 1;")
        try world.give(to: 1)
        try world.syncWithoutPatience()
        try world.fleet.shell(0, "UPDATE item SET note = 'second' WHERE id = 1; DELETE FROM item WHERE name = 'four';")
        try world.sync()
        try world.write("UPDATE item SET note = 'late' WHERE id = 3;")
        for _ in 0..<3 {
            try world.other.exchange()
            try world.sync()
            _ = try world.lost.sync()
        }
        try world.assertAgreement("one|second\nthree|late\ntwo|\n")
        XCTAssertEqual(try world.fleet.shell(8, Self.rows), "one|second\nthree|late\ntwo|\n")
    }

    func testADeletionThatIsForgottenWhereItCameFromReachesThoseWhoLackIt() throws {
        let world = try World()
        try world.write("DELETE FROM item WHERE id = 2; UPDATE item SET note = 'new' WHERE id = 1;")
        try world.give(to: 1)
        // The one who knows of it forgets it, as if nobody else had the row.
        let vector = try world.fleet.replicas[1].store.reading().vector
        XCTAssertEqual(try world.fleet.replicas[1].store.collectTombstones(stable: vector), 1)
        try world.syncWithoutPatience()
        try world.assertAgreement("one|new\nthree|\n")
    }

    func testALogWhoseMiddleIsLostIsReadOnBehindTheSnapshot() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four');")
        try world.write("INSERT INTO item(name) VALUES ('five');")
        try world.give(to: 1)
        try world.write("INSERT INTO item(name) VALUES ('six');")
        // The last file comes, and those before it never do.
        let device = world.lost.identity.device
        let names = try Container.open(at: world.other.path, fileSystem: PosixFileSystem()).segments(of: device)
        for name in names.dropLast().suffix(2) {
            let path = "\(world.other.path)/devices/\(device.hex)/segments/\(name.fileName)"
            try FileManager.default.removeItem(atPath: path)
        }
        try world.other.exchange()
        try world.syncWithoutPatience()
        try world.assertAgreement("five|\nfour|\none|\nsix|\nthree|\ntwo|\n")
    }

    func testWhatNobodyHasIsWaitedForAndNothingIsPublished() throws {
        let world = try World()
        try world.write("INSERT INTO item(name) VALUES ('four');")
        try world.write("INSERT INTO item(name) VALUES ('five');")
        let device = world.lost.identity.device
        let names = try Container.open(at: world.other.path, fileSystem: PosixFileSystem()).segments(of: device)
        let path = "\(world.other.path)/devices/\(device.hex)/segments/\(names[names.count - 2].fileName)"
        try FileManager.default.removeItem(atPath: path)
        try world.other.exchange()
        try world.syncWithoutPatience()
        XCTAssertEqual(try world.snapshots(), 0)
        for replica in world.fleet.replicas {
            XCTAssertEqual(try replica.sync().waiting.map(\.code), ["fileNotThereYet"])
        }
    }

    func testARetiredDevicesFilesAreNotWaitedFor() throws {
        let world = try World.afterGivingARow(to: 1)
        try world.fleet.replicas[0].retire(world.lost.identity.device.description)
        try world.sync()
        try world.assertAgreement("four|\none|\nthree|\ntwo|\n")
    }
}
