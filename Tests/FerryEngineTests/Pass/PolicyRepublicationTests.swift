import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Columns under a policy in rows that a device without writes of its own publishes again, or that a database brings along.
final class PolicyRepublicationTests: XCTestCase {
    private static let things = """
        CREATE TABLE t(id TEXT PRIMARY KEY, n INT NOT NULL DEFAULT 0, s TEXT DEFAULT '[]', f TEXT, m INT);
        INSERT INTO t VALUES ('x', 5, '["s0"]', 'f0', 3);
        """

    private func fleet(_ devices: Int) throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(Self.things)
        try fleet.replicas[0].setPolicies([
            PolicySetting(table: "t", column: "n", .counter), PolicySetting(table: "t", column: "s", .set),
            PolicySetting(table: "t", column: "f", .firstWriterWins), PolicySetting(table: "t", column: "m", .max),
        ])
        _ = try fleet.replicas[0].sync()
        for _ in 1..<devices { try fleet.join() }
        try fleet.settle()
        return fleet
    }

    /// Fails unless all devices come to rest with these rows, and none differs. A device that left, or was replaced, is listed without
    /// being in step.
    private func assertAll(
        _ fleet: Fleet, show query: String, _ expected: String, file: StaticString = #filePath, line: UInt = #line
    ) throws {
        try fleet.settle(file: file, line: line)
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try fleet.shell(index, query), expected, "device \(index)", file: file, line: line)
            XCTAssertEqual(try replica.verify(deep: true).differences, [], file: file, line: line)
            let status = try replica.status()
            XCTAssertEqual(status.tablesApart, [], file: file, line: line)
            XCTAssertFalse(status.devices.contains { $0.standing == .differs }, file: file, line: line)
        }
        try fleet.assertSound(file: file, line: line)
    }

    private func sync(_ fleet: Fleet, _ devices: Int...) throws {
        for device in devices { _ = try fleet.replicas[device].sync() }
    }

    func testARowRepublishedForANewcomerKeepsWhatOthersWriteMeanwhile() throws {
        let fleet = try fleet(3)
        try fleet.shell(0, "DELETE FROM t")
        try fleet.join()
        try fleet.shell(1, #"UPDATE t SET n = n + 10, s = json_insert(s, '$[#]', 'b'), m = 7"#)
        try sync(fleet, 0, 1, 3, 1)
        try fleet.shell(2, #"UPDATE t SET n = n + 100, s = json_insert(s, '$[#]', 'c'), f = 'fc', m = 6"#)
        try fleet.assertSettled("SELECT * FROM t", "x|115|[\"s0\",\"b\",\"c\"]|fc|7\n")
        // The row is an ordinary row from then on.
        for device in 0...3 { try fleet.shell(device, "UPDATE t SET n = n + 1") }
        try fleet.assertSettled("SELECT n FROM t", "119\n")
    }

    func testARowThatADatabaseBringsAlongAndCountsIsRevivedWithEveryAddition() throws {
        for isSeeded in [false, true] {
            let fleet = try fleet(isSeeded ? 1 : 2)
            try fleet.shell(0, "DELETE FROM t")
            if isSeeded {
                try fleet.join(Self.things)
            } else {
                _ = try fleet.replicas[1].leave()
                fleet.replicas.removeLast()
                try fleet.join()
            }
            try fleet.shell(1, "UPDATE t SET n = n + 10")
            try sync(fleet, 1)
            try fleet.shell(1, "UPDATE t SET n = n + 10")
            try sync(fleet, 0)
            try assertAll(fleet, show: "SELECT n FROM t", "25\n")
        }
    }

    func testADeviceFromABackupCountsOnWithARowItHadDeleted() throws {
        let fleet = try fleet(3)
        let copy = fleet.folder.appendingPathComponent("copy").path
        try fleet.shell(2, ".backup \(copy)")
        try fleet.shell(2, "DELETE FROM t")
        try sync(fleet, 2)
        fleet.replicas.removeLast()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: fleet.databasePath(2) + suffix)  // a file may not be there
        }
        try FileManager.default.moveItem(atPath: copy, toPath: fleet.databasePath(2))
        fleet.replicas.append(try Replica(path: fleet.databasePath(2)))
        try fleet.shell(1, "UPDATE t SET n = n + 10")
        try sync(fleet, 1, 2)
        XCTAssertEqual(try fleet.shell(2, "SELECT n FROM t"), "15\n")
        try fleet.shell(2, "UPDATE t SET n = n + 100")
        try sync(fleet, 0)
        try assertAll(fleet, show: "SELECT n FROM t", "115\n")
    }

    func testTheFirstWriteIsNotTheValueThatADatabaseBroughtAlong() throws {
        for isLate in [false, true] {
            let fleet = try fleet(3)
            _ = try fleet.replicas[2].leave()
            fleet.replicas.removeLast()
            try fleet.shell(0, "UPDATE t SET f = 'new'")
            try sync(fleet, 0)
            if !isLate { try sync(fleet, 1) }
            try fleet.join()
            try assertAll(fleet, show: "SELECT f FROM t", "new\n")
            // A later writer who saw the value still replaces it.
            try fleet.shell(2, "UPDATE t SET f = 'newer'")
            try assertAll(fleet, show: "SELECT f FROM t", "newer\n")
        }
    }
}
