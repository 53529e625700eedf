import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Folders go back in time, lose files and gain strange ones; nothing of that is a deletion.
final class FolderFaultTests: XCTestCase {
    private func twoDevices() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start("CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT); INSERT INTO item VALUES (1, 'one');")
        try fleet.join()
        try fleet.settle()
        return fleet
    }

    private func directory(_ fleet: Fleet, of device: Int) -> String {
        fleet.containerPath + "/devices/\(fleet.replicas[device].identity.device.hex)"
    }

    func testALogIsReadWithoutItsHead() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        _ = try fleet.replicas[0].sync()
        try FileManager.default.removeItem(atPath: directory(fleet, of: 0) + "/head")
        XCTAssertEqual(try fleet.replicas[1].sync().replayed.changes, 1)
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "uno\n")
        // The next sync writes it again.
        _ = try fleet.replicas[0].sync()
        XCTAssertTrue(FileManager.default.fileExists(atPath: directory(fleet, of: 0) + "/head"))
    }

    func testADevicesDirectoryThatVanishesIsNoDeletion() throws {
        let fleet = try twoDevices()
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: directory(fleet, of: 0), toPath: away)
        let report = try fleet.replicas[1].sync()
        XCTAssertEqual(report.replayed.changes, 0)
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "one\n")
        XCTAssertEqual(try fleet.replicas[1].status().devices.map(\.name), ["device0"])
        try FileManager.default.moveItem(atPath: away, toPath: directory(fleet, of: 0))
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "uno\n")
    }

    func testAFolderThatWentBackIsToldAndNothingIsReplayedTwice() throws {
        let fleet = try twoDevices()
        let backup = fleet.folder.appendingPathComponent("backup").path
        try FileManager.default.copyItem(atPath: directory(fleet, of: 0), toPath: backup)
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        try fleet.settle()
        try FileManager.default.removeItem(atPath: directory(fleet, of: 0))
        try FileManager.default.moveItem(atPath: backup, toPath: directory(fleet, of: 0))
        XCTAssertEqual(try fleet.replicas[1].sync().replayed.changes, 0)
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "uno\n")
        let peer = try XCTUnwrap(try fleet.replicas[1].status().devices.first)
        XCTAssertEqual(peer.problemCode, "olderState")
        XCTAssertTrue(
            try fleet.replicas[1].examine().findings.contains { $0.subject == "device0" && $0.severity == .warning })
    }

    func testOtherProgramsFilesAreLeftAlone() throws {
        let fleet = try twoDevices()
        let strangers = [
            ".DS_Store", "desktop.ini", ".syncthing.head.tmp", "~syncthing~head.tmp", ".nfs000000000000001",
            ".dat.nosync1234", "head (conflicted copy 2026-01-01)", "head.sync-conflict-20260101-120000-ABCDEF7",
            "Thumbs.db", "~$lock",
        ]
        let places = ["", "/devices", "/devices/\(fleet.replicas[0].identity.device.hex)"]
        for place in places + [places[2] + "/segments"] {
            for name in strangers {
                try Data("x".utf8).write(to: URL(filePath: fleet.containerPath + place + "/" + name))
            }
        }
        try FileManager.default.createDirectory(
            atPath: fleet.containerPath + "/devices/not-a-device", withIntermediateDirectories: false)
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item"), "uno\n")
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [])
        for place in places + [places[2] + "/segments"] {
            for name in strangers {
                XCTAssertTrue(FileManager.default.fileExists(atPath: fleet.containerPath + place + "/" + name), name)
            }
        }
    }

    func testASegmentThatComesTwiceHasNoEffect() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        try fleet.settle()
        let segments = directory(fleet, of: 0) + "/segments"
        for name in try FileManager.default.contentsOfDirectory(atPath: segments) {
            for mark in [" (1)", ".sync-conflict-20260101-120000-ABCDEF7", "-LAPTOP", " (conflicted copy 2026-01-01)"] {
                let copy = name.replacing(".segment", with: mark + ".segment")
                try FileManager.default.copyItem(atPath: segments + "/" + name, toPath: segments + "/" + copy)
            }
        }
        let report = try fleet.replicas[1].sync()
        XCTAssertEqual(report.replayed.changes, 0)
        XCTAssertEqual(report.waiting, [])
    }

    func testWhatLiesInPlaceOfFilesStopsThatDeviceOnly() throws {
        let fleet = try twoDevices()
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "UPDATE item SET name = 'uno'")
        _ = try fleet.replicas[0].sync()
        let segments = directory(fleet, of: 0) + "/segments"
        let newest = try XCTUnwrap(try FileManager.default.contentsOfDirectory(atPath: segments).max())
        let file = segments + "/" + newest
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: file, toPath: away)
        let damages: [() throws -> Void] = [
            { try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: away) },
            { XCTAssertEqual(mkfifo(file, 0o600), 0) },
            { try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false) },
        ]
        for (number, damage) in damages.enumerated() {
            try damage()
            try fleet.shell(2, "INSERT INTO item VALUES (\(10 + number), 'other')")
            _ = try fleet.replicas[2].sync()
            let waiting = try fleet.replicas[1].sync().waiting
            XCTAssertEqual(waiting.map(\.device), ["device0"])
            XCTAssertEqual(waiting.map(\.file), [file])
            XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item WHERE id >= 10"), "\(number + 1)\n")
            XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item WHERE id = 1"), "one\n")
            try FileManager.default.removeItem(atPath: file)
        }
        try FileManager.default.moveItem(atPath: away, toPath: file)
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item WHERE id = 1"), "uno\n")
    }

    /// The first device's segments, the oldest first.
    private func segments(_ fleet: Fleet) throws -> [String] {
        let folder = directory(fleet, of: 0) + "/segments"
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().map { folder + "/" + $0 }
    }

    func testOwnFilesThatVanishAreStoodForByASnapshotAndNobodyLosesAnything() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'two')")
        _ = try fleet.replicas[0].sync()
        try fleet.shell(0, "INSERT INTO item VALUES (3, 'three')")
        _ = try fleet.replicas[0].sync()
        // The second device has not read the last two, and now the middle one is gone.
        try FileManager.default.removeItem(atPath: try segments(fleet)[1])
        XCTAssertEqual(try fleet.replicas[1].sync().waiting.map(\.code), ["fileNotThereYet"])
        XCTAssertTrue(try XCTUnwrap(try fleet.replicas[0].sync().compaction).mended)
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [])
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ntwo\nthree\n")
        XCTAssertNil(try fleet.replicas[0].sync().compaction)
        // A third one joins from the snapshot.
        try fleet.join()
        try fleet.shell(2, "UPDATE item SET name = 'due' WHERE id = 2")
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
    }

    func testAWholeDirectoryThatVanishesIsWrittenAgain() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'two')")
        _ = try fleet.replicas[0].sync()
        try FileManager.default.removeItem(atPath: directory(fleet, of: 0))
        try fleet.settle()
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ntwo\n")
        try fleet.shell(0, "INSERT INTO item VALUES (3, 'three')")
        try fleet.settle()
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [])
    }

    func testASnapshotThatVanishesIsWrittenAgainWhereTheLogBeginsLater() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'two')")
        _ = try fleet.replicas[0].sync()
        try FileManager.default.removeItem(atPath: try segments(fleet)[0])
        _ = try fleet.replicas[0].sync()
        let snapshots = directory(fleet, of: 0) + "/snapshots"
        XCTAssertFalse(try FileManager.default.contentsOfDirectory(atPath: snapshots).isEmpty)
        try FileManager.default.removeItem(atPath: snapshots)
        _ = try fleet.replicas[0].sync()
        XCTAssertFalse(try FileManager.default.contentsOfDirectory(atPath: snapshots).isEmpty)
        try fleet.join()
        try fleet.settle()
        try fleet.assertEqual("SELECT * FROM item ORDER BY id")
    }

    func testADamagedFileOfOnesOwnIsMendedByTheDoctor() throws {
        let fleet = try twoDevices()
        try fleet.shell(0, "INSERT INTO item VALUES (2, 'two')")
        _ = try fleet.replicas[0].sync()
        let file = URL(filePath: try XCTUnwrap(try segments(fleet).last))
        var bytes = try Data(contentsOf: file)
        bytes[120] ^= 1
        try bytes.write(to: file)
        XCTAssertEqual(try fleet.replicas[1].sync().waiting.map(\.code), ["damagedFile"])
        let found = try fleet.replicas[0].examine()
        XCTAssertFalse(found.isHealthy)
        XCTAssertTrue(found.findings.contains { $0.file == file.path && $0.canBeRepaired })
        let report = try fleet.replicas[0].examine(isRepairing: true)
        XCTAssertTrue(report.isHealthy, "\(report.findings)")
        XCTAssertTrue(report.findings.contains { $0.isRepaired })
        XCTAssertEqual(try fleet.replicas[1].sync().waiting, [])
        XCTAssertEqual(try fleet.shell(1, "SELECT name FROM item ORDER BY id"), "one\ntwo\n")
    }
}
