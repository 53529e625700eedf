import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Deletions on one branch of a log that has two, and devices that have read the other one. A position in such a log does
/// not say what was read.
final class ForkedDeletionTests: XCTestCase {
    private let rows = """
        SELECT name, note FROM item ORDER BY 1; SELECT code, name FROM part JOIN item ON item = item.id ORDER BY 1;
        """

    // MARK: While the ID is in use

    func testADeletionIsRememberedWhereADeviceIsFurtherOnTheOtherBranch() throws {
        let fleet = try ForkedFleet(clone: "INSERT INTO item(name) VALUES ('copy');", times: 3)
        try check(fleet, "", "copy|\ncopy|\ncopy|\none|\noriginal|\ntwo|\n", remembering: [1, 1])
    }

    func testADeletionIsRememberedWhereADeviceIsAsFarOnTheOtherBranch() throws {
        let fleet = try ForkedFleet(clone: "INSERT INTO item(name) VALUES ('copy');", times: 2)
        try check(fleet, "", "copy|\ncopy|\none|\noriginal|\ntwo|\n", remembering: [1, 1])
    }

    func testADeletionIsRememberedWhereTheOtherBranchIsShorter() throws {
        let fleet = try ForkedFleet(clone: "INSERT INTO item(name) VALUES ('copy');", times: 1)
        try check(fleet, "", "copy|\none|\noriginal|\ntwo|\n", remembering: [1, 1])
    }

    func testARowThatIsWrittenToOnTheOtherBranchIsThereOnAllDevices() throws {
        let fleet = try ForkedFleet(clone: "INSERT INTO item(name) VALUES ('copy');", times: 3)
        try check(
            fleet, "UPDATE item SET note = 'kept' WHERE id = 3;",
            "copy|\ncopy|\ncopy|\none|\noriginal|\nthree|kept\ntwo|\n", remembering: [1, 1])
    }

    func testARowThatIsReferredToOnTheOtherBranchIsThereOnAllDevices() throws {
        let fleet = try ForkedFleet(clone: "INSERT INTO item(name) VALUES ('copy');", times: 3)
        try check(
            fleet, "INSERT INTO part(item, code) VALUES (3, 'a');",
            "copy|\ncopy|\ncopy|\none|\noriginal|\nthree|\ntwo|\na|three\n", remembering: [1, 1])
    }

    /// The devices that follow the original tidy up once the head of one that follows the clone is there.
    /// - Parameters:
    ///   - change: what that one does next, without knowing of the deletion.
    ///   - remembered: how many deletions the original's side remembers then.
    private func check(
        _ forked: ForkedFleet, _ change: String, _ expected: String, remembering remembered: [Int],
        line: UInt = #line
    ) throws {
        let fleet = forked.fleet
        // The clone's files come later than the head that speaks of them.
        try forked.other.exchange(without: forked.former)
        try forked.sync([1, 0, 1, 0], line: line)
        for index in [0, 1] { _ = try fleet.replicas[index].compact() }
        XCTAssertEqual(
            try [0, 1].map { try fleet.replicas[$0].store.tombstoneCount() }, remembered, "deletions", line: line)
        try fleet.shell(3, change)
        try forked.meet()
        try forked.assertAgreement(rows, expected, line: line)
        // What all branches have is no matter of doubt.
        for (index, other) in [(1, 3), (3, 1)] {
            let acknowledged = try fleet.replicas[other].store.versionVector()[forked.former]
            let logs = try fleet.replicas[index].sharedLogs()
            let shared = try logs.shared(forked.former, acknowledged)
            XCTAssertEqual(shared.sequence, forked.common.sequence, "device \(index)", line: line)
            XCTAssertGreaterThanOrEqual(shared.time, forked.common.time, "device \(index)", line: line)
            XCTAssertLessThan(shared.time, forked.deletion, "device \(index)", line: line)
            XCTAssertEqual(try logs.shared(forked.former, forked.common), forked.common, "device \(index)", line: line)
        }
    }

    // MARK: After that

    /// Both copies have other IDs before they hear of each other, and are known by then to all devices.
    func testWhatIsSaidAgainIsNotForgottenBeforeAllHaveHeardOfIt() throws {
        let forked = try ForkedFleet(clone: "DELETE FROM item WHERE id = 2;", times: 1)
        let fleet = forked.fleet
        for index in [0, 2] { try forked.move(index) }
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('later');")
        for _ in 0..<4 {
            try forked.other.exchange(without: forked.former)
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        XCTAssertEqual(try fleet.shell(1, "SELECT count(*) FROM item WHERE id = 2;"), "1\n", "not known there yet")
        // The clone's files come, and its deletion is sent again. One device hears of that, another one is away.
        try fleet.join()
        for index in [4, 0, 1, 2, 3, 4] { _ = try fleet.replicas[index].sync() }
        try fleet.shell(1, "UPDATE item SET note = 'kept' WHERE id = 2;")
        try forked.other.exchange()
        for index in [0, 4, 0, 4] { _ = try fleet.replicas[index].sync() }
        XCTAssertEqual(try fleet.shell(4, "SELECT count(*) FROM item WHERE id = 2;"), "0\n")
        _ = try fleet.replicas[4].compact()
        let author = fleet.replicas[0].identity.device
        for index in [0, 4] {
            let late = try XCTUnwrap(fleet.replicas[index].store.reading().lateChanges[author], "device \(index)")
            XCTAssertGreaterThan(late, try fleet.replicas[1].store.versionVector()[author].sequence)
            XCTAssertLessThanOrEqual(late, try fleet.replicas[4].store.versionVector()[author].sequence)
        }
        try forked.meet()
        try forked.assertAgreement(rows, "later|\none|\noriginal|\ntwo|kept\n")
    }
}

/// A log with two branches: 0 and 1 follow the original, 2 is its clone, and 3 follows that one in a folder of their own.
private final class ForkedFleet {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE RESTRICT, code TEXT);
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three');
        """
    let fleet: Fleet
    let other: SecondFolder
    /// The ID that both copies have, and the last position of its log before they part.
    let former: DeviceID
    let common: LogPosition
    /// The time of what follows on the original's branch.
    private(set) var deletion = HybridTime.zero

    /// - Parameters:
    ///   - sql: what the clone does, and publishes each time. The original deletes a row and then inserts one.
    init(clone sql: String, times count: Int) throws {
        fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        // 2 comes last, and has the place of its file already.
        fleet.replicas.append(fleet.replicas[0])
        try fleet.join()
        fleet.replicas.remove(at: 2)
        try fleet.settle()
        other = try SecondFolder(fleet, "other")
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        for index in [2, 3] {
            try fleet.shell(index, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        }
        former = fleet.replicas[0].identity.device
        common = try fleet.replicas[0].store.versionVector()[former]
        // What can be removed is.
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 1
        retention.firstSnapshotChangesPerRow = 0
        fleet.replicas = try (0..<4).map { try Replica(path: fleet.databasePath($0), retention: retention) }
        try fleet.replicas[2].store.note(fleet.replicas[2].fingerprint)
        var times: [HybridTime] = []
        for change in ["DELETE FROM item WHERE id = 3;", "INSERT INTO item(name) VALUES ('original');"] {
            try fleet.shell(0, change)
            for index in [0, 1, 0] { _ = try fleet.replicas[index].sync() }
            times.append(try fleet.replicas[0].store.versionVector()[former].time)
        }
        deletion = times[0]
        for _ in 0..<count {
            try fleet.shell(2, sql)
            try sync([2])
        }
        try sync([3, 2])
        XCTAssertEqual(fleet.replicas[2].identity.device, former)
    }

    func sync(_ indices: [Int], line: UInt = #line) throws {
        for index in indices { XCTAssertNil(try fleet.replicas[index].sync().renewed, "device \(index)", line: line) }
    }

    /// Moves a database to another file system, so that it gets another ID.
    func move(_ index: Int) throws {
        let path = fleet.folder.appendingPathComponent("moved\(index).sqlite").path
        try fleet.shell(index, "VACUUM INTO '\(path)';")
        try fleet.replicas[index].store.close()
        try FileManager.default.removeItem(atPath: fleet.databasePath(index))
        try FileManager.default.createSymbolicLink(atPath: fleet.databasePath(index), withDestinationPath: path)
        fleet.replicas[index] = try Replica(path: path)
        XCTAssertEqual(try fleet.replicas[index].sync().renewed?.reason, .copied)
    }

    func meet() throws {
        for _ in 0..<6 {
            try other.exchange()
            for replica in fleet.replicas { _ = try replica.sync() }
        }
    }

    func assertAgreement(_ query: String, _ expected: String, line: UInt = #line) throws {
        let digests = try fleet.replicas[0].store.statePosition().digests
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try fleet.shell(index, query), expected, "device \(index)", line: line)
            XCTAssertEqual(try replica.store.statePosition().digests, digests, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
        }
    }
}

extension Replica {
    fileprivate func sharedLogs() throws -> SharedLogs {
        SharedLogs(
            try openContainer(), own: identity.device, try store.reading(),
            segments: try store.ownSegments() + store.removedSegments(), forks: [:])
    }
}
