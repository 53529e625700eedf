import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A database and its shared folder that one backup sets back together, while another device has read later changes.
final class SetBackTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(name TEXT PRIMARY KEY, amount INTEGER NOT NULL DEFAULT 0, note TEXT);
        INSERT INTO item(name) VALUES ('old'), ('gone'), ('counted');
        """

    /// Devices that are in step, with the name of the first one's backup: the database and the folder.
    private func backedUp(devices: Int = 2, policies: [PolicySetting] = []) throws -> Fleet {
        let fleet = try Fleet.two(schema)
        for _ in 2..<devices { try fleet.join() }
        if !policies.isEmpty { try fleet.replicas[0].setPolicies(policies) }
        try fleet.settle()
        try fleet.shell(0, "VACUUM INTO '\(path(fleet, "backup"))';")
        try FileManager.default.copyItem(atPath: fleet.containerPath, toPath: path(fleet, "folder"))
        return fleet
    }

    private func path(_ fleet: Fleet, _ name: String) -> String { fleet.folder.appendingPathComponent(name).path }

    /// - Parameter keepingFile: true: the backup is written into the file, and nothing tells of it.
    private func setBack(_ fleet: Fleet, keepingFile: Bool = false) throws {
        let files = FileManager.default
        try fleet.replicas[0].store.close()
        let database = fleet.databasePath(0)
        for suffix in ["-wal", "-shm"] where files.fileExists(atPath: database + suffix) {
            try files.removeItem(atPath: database + suffix)
        }
        let backup = try Data(contentsOf: URL(fileURLWithPath: path(fleet, "backup")))
        if keepingFile {
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: database))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: backup)
            try file.close()
        } else {
            try backup.write(to: URL(fileURLWithPath: database), options: .atomic)
        }
        try files.removeItem(atPath: fleet.containerPath)
        try files.moveItem(atPath: path(fleet, "folder"), toPath: fleet.containerPath)
        fleet.replicas[0] = try Replica(path: database)
    }

    private func assertAgreement(
        _ fleet: Fleet, _ names: [String], file: StaticString = #filePath, line: UInt = #line
    ) throws {
        // A head that tells of lost changes is no news by itself, and files may be late.
        for _ in 0..<2 {
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        try fleet.settle(file: file, line: line)
        try fleet.assertEqual("SELECT * FROM item ORDER BY 1;")
        XCTAssertEqual(
            try fleet.shell(0, "SELECT name FROM item ORDER BY 1;").split(separator: "\n").map(String.init), names,
            file: file, line: line)
        for replica in fleet.replicas {
            XCTAssertTrue(try replica.verify(deep: true).isSound, file: file, line: line)
            XCTAssertEqual(try replica.sync().waiting, [], file: file, line: line)
            XCTAssertEqual(
                try replica.status().devices.filter { $0.standing == .differs }.map(\.id), [], file: file, line: line)
        }
    }

    func testTheNextChangeTakesAUsedNumberAndNothingIsLost() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent'); DELETE FROM item WHERE name = 'gone';")
        try fleet.settle()
        try setBack(fleet)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('new'); UPDATE item SET note = 'after' WHERE name = 'old';")
        try assertAgreement(fleet, ["counted", "new", "old", "sent"])
        XCTAssertEqual(try fleet.shell(1, "SELECT note FROM item WHERE name = 'old';"), "after\n")
        XCTAssertFalse(try fleet.replicas[0].store.reading().formerDevices.isEmpty)
    }

    func testTheDatabaseWroteNothingSince() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        try fleet.settle()
        try setBack(fleet)
        try assertAgreement(fleet, ["counted", "gone", "old", "sent"])
    }

    /// The database alone is set back first, and goes on under a new ID. Then the folder is set back, to less than the database had sent, and
    /// more than the backup knew.
    func testTheDatabaseAndLaterTheFolder() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        try fleet.settle()
        let files = FileManager.default
        try files.removeItem(atPath: path(fleet, "folder"))
        try files.copyItem(atPath: fleet.containerPath, toPath: path(fleet, "folder"))
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('unread');")
        _ = try fleet.replicas[0].sync()
        try fleet.replicas[0].store.close()
        for suffix in ["-wal", "-shm"] where files.fileExists(atPath: fleet.databasePath(0) + suffix) {
            try files.removeItem(atPath: fleet.databasePath(0) + suffix)
        }
        try Data(contentsOf: URL(fileURLWithPath: path(fleet, "backup")))
            .write(to: URL(fileURLWithPath: fleet.databasePath(0)), options: .atomic)
        var retention = RetentionSettings()
        retention.undeliveredMilliseconds = 0
        fleet.replicas = try (0..<2).map { try Replica(path: fleet.databasePath($0), retention: retention) }
        XCTAssertNotNil(try fleet.replicas[0].sync().renewed)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('new');")
        _ = try fleet.replicas[0].sync()
        try files.removeItem(atPath: fleet.containerPath)
        try files.moveItem(atPath: path(fleet, "folder"), toPath: fleet.containerPath)
        for _ in 0..<6 { for replica in fleet.replicas { _ = try replica.sync() } }
        try assertAgreement(fleet, ["counted", "gone", "new", "old", "sent", "unread"])
    }

    func testTheReaderComesFirst() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        try fleet.settle()
        try setBack(fleet)
        try fleet.shell(1, "INSERT INTO item(name) VALUES ('there');")
        _ = try fleet.replicas[1].sync()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('new');")
        try assertAgreement(fleet, ["counted", "gone", "new", "old", "sent", "there"])
    }

    func testTheDatabaseIsFarFurtherWhenTheReaderComes() throws {
        let fleet = try backedUp(devices: 3)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        // The third device has not read the lost changes.
        _ = try fleet.replicas[0].sync()
        _ = try fleet.replicas[1].sync()
        try setBack(fleet)
        for number in 0..<5 {
            try fleet.shell(0, "INSERT INTO item(name) VALUES ('new\(number)');")
            _ = try fleet.replicas[0].sync()
            _ = try fleet.replicas[2].sync()
        }
        try assertAgreement(fleet, ["counted", "gone", "new0", "new1", "new2", "new3", "new4", "old", "sent"])
    }

    func testSumsOfACounterAreWrittenPlainly() throws {
        let fleet = try backedUp(policies: [PolicySetting(table: "item", column: "amount", .counter)])
        try fleet.shell(0, "UPDATE item SET amount = amount + 5 WHERE name = 'counted';")
        try fleet.settle()
        try setBack(fleet)
        try fleet.shell(0, "UPDATE item SET amount = amount + 7 WHERE name = 'counted';")
        try assertAgreement(fleet, ["counted", "gone", "old"])
        // Two sums have one name: one of the values shows, and the other one is a conflict.
        let amount = try fleet.shell(0, "SELECT amount FROM item WHERE name = 'counted';")
        XCTAssertTrue(["5\n", "7\n", "12\n"].contains(amount), amount)
    }

    func testFilesOfACopyThatAreLateAreWaitedFor() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        try fleet.settle()
        try setBack(fleet, keepingFile: true)
        let former = fleet.replicas[0].identity.device
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('new');")
        for _ in 0..<3 {
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        XCTAssertEqual(fleet.replicas[0].identity.device, former)
        XCTAssertNotNil(try fleet.replicas[0].store.reading().undelivered.lacked[former])
        try fleet.replicas[0].store.close()
        var retention = RetentionSettings()
        retention.undeliveredMilliseconds = 0
        fleet.replicas[0] = try Replica(path: fleet.databasePath(0), retention: retention)
        try assertAgreement(fleet, ["counted", "gone", "new", "old", "sent"])
        XCTAssertEqual(try fleet.replicas[0].store.reading().undelivered.lacked[former], nil)
    }

    func testALaterDeviceJoinsAndTheNewIDStays() throws {
        let fleet = try backedUp()
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('sent');")
        try fleet.settle()
        try setBack(fleet)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('new');")
        try fleet.settle()
        try fleet.join()
        try assertAgreement(fleet, ["counted", "gone", "new", "old", "sent"])
        let device = fleet.replicas[0].identity.device
        for _ in 0..<3 { _ = try fleet.replicas[0].sync() }
        XCTAssertEqual(fleet.replicas[0].identity.device, device)
    }
}
