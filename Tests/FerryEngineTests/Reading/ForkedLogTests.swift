import FerryContainer
import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Logs with two branches, whose authors both have other IDs by now, or are gone.
final class ForkedLogTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, amount INTEGER NOT NULL DEFAULT 0);
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three');
        """

    /// Two machines with one database and one ID, each of which has published, and read by another device each: 0 and 1 in
    /// the container, 2 and 3 in a second folder.
    private func fork() throws -> (fleet: Fleet, other: SecondFolder) {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.replicas[0].setPolicies([PolicySetting(table: "item", column: "amount", .counter)])
        try fleet.settle()
        let other = try SecondFolder(fleet, "other")
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        let clone = try Replica(path: fleet.databasePath(2))
        try clone.store.note(clone.fingerprint)
        fleet.replicas.append(clone)
        let (third, _) = try Replica.join(
            databasePath: fleet.databasePath(3), containerPath: other.path, name: "device3")
        fleet.replicas.append(try XCTUnwrap(third))
        for (index, word) in [(0, "original"), (2, "copy")] {
            for number in 1...(index + 1) {
                try fleet.shell(
                    index,
                    "INSERT INTO item(name) VALUES ('\(word) \(number)'); UPDATE item SET amount = amount + 1 WHERE id = 1;"
                )
                XCTAssertNil(try fleet.replicas[index].sync().renewed)
            }
            try fleet.shell(index, "UPDATE item SET name = '\(word)' WHERE id = 2;")
            if index == 2 { try fleet.shell(index, "DELETE FROM item WHERE id = 3;") }
            XCTAssertNil(try fleet.replicas[index].sync().renewed)
            _ = try fleet.replicas[index + 1].sync()
        }
        XCTAssertEqual(fleet.replicas[0].identity.device, fleet.replicas[2].identity.device)
        return (fleet, other)
    }

    private func meet(_ fleet: Fleet, _ other: SecondFolder, without gone: Set<Int> = []) throws {
        for _ in 0..<6 {
            try other.exchange()
            for (index, replica) in fleet.replicas.enumerated() where !gone.contains(index) { _ = try replica.sync() }
        }
    }

    private func assertAgreement(_ fleet: Fleet, _ indices: [Int], line: UInt = #line) throws {
        let first = fleet.replicas[indices[0]]
        let digests = try first.store.statePosition().digests
        let query = "SELECT name, amount FROM item ORDER BY 1;"
        let present = Set(indices.map { fleet.replicas[$0].identity.device.description })
        for index in indices {
            let replica = fleet.replicas[index]
            XCTAssertEqual(
                try fleet.shell(index, query), try fleet.shell(indices[0], query), "device \(index)", line: line)
            XCTAssertEqual(try replica.store.statePosition().digests, digests, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
            let report = try replica.sync()
            XCTAssertEqual(report.waiting, [], "device \(index)", line: line)
            XCTAssertEqual(report.published.changes, 0, "device \(index)", line: line)
            for peer in try replica.status().devices where present.contains(peer.id) {
                XCTAssertEqual(peer.standing, .inStep, "device \(index)", line: line)
            }
        }
        let names = Set(try fleet.shell(indices[0], "SELECT name FROM item;").split(separator: "\n").map(String.init))
        XCTAssertTrue(
            names.isSuperset(of: ["one", "original 1", "copy 1", "copy 2", "copy 3"]), "\(names)", line: line)
        XCTAssertFalse(names.contains("three"), line: line)
        XCTAssertEqual(names.intersection(["original", "copy"]), ["copy"], "the later name", line: line)
    }

    func testBranchesOfCopiesThatWereCopiedAgainBeforeTheyMetComeToAll() throws {
        let (fleet, other) = try fork()
        let former = fleet.replicas[0].identity.device
        for index in [0, 2] {
            let path = fleet.folder.appendingPathComponent("moved\(index).sqlite").path
            try fleet.shell(index, "VACUUM INTO '\(path)';")
            try fleet.replicas[index].store.close()
            try FileManager.default.removeItem(atPath: fleet.databasePath(index))
            try FileManager.default.createSymbolicLink(atPath: fleet.databasePath(index), withDestinationPath: path)
            fleet.replicas[index] = try Replica(path: path)
            let renewed = try fleet.replicas[index].sync().renewed
            XCTAssertEqual(renewed?.reason, .copied)
            XCTAssertEqual(renewed?.formerDevice, former.description)
        }
        try meet(fleet, other)
        try assertAgreement(fleet, [0, 1, 2, 3])
        // What was taken in is not looked at again.
        for replica in fleet.replicas { XCTAssertFalse(try replica.mergeBranches(replica.openContainer())) }
        // One that comes later reads all of it too.
        try fleet.join()
        try meet(fleet, other)
        try assertAgreement(fleet, [0, 1, 2, 3, 4])
    }

    func testBranchesOfDevicesThatAreGoneAreTakenInOnceTheDeviceIsRetired() throws {
        let (fleet, other) = try fork()
        let former = fleet.replicas[0].identity.device
        try meet(fleet, other, without: [0, 2])
        for index in [1, 3] {
            let peers = try fleet.replicas[index].status().devices
            let other = fleet.replicas[4 - index].identity.device.description
            XCTAssertNotEqual(peers.first { $0.id == other }?.standing, .inStep)
        }
        let told = try fleet.replicas.flatMap { try $0.status().devices }.filter { $0.id == former.description }
        XCTAssertTrue(told.contains { $0.problemCode == "deviceForked" && $0.problem?.contains("retire it") ?? false })
        try fleet.replicas[1].retire(former.description)
        try meet(fleet, other, without: [0, 2])
        try assertAgreement(fleet, [1, 3])
        XCTAssertTrue(try fleet.replicas[3].status().devices.allSatisfy { $0.problem == nil })
    }

    /// A clone whose folder has nothing of its log yet begins it anew with a snapshot, so no number is in the container twice.
    /// - Parameter gone: the devices that are never heard of again.
    private func checkACloneThatBeganItsLogAnew(gone: Set<Int>, line: UInt = #line) throws {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
        let other = try SecondFolder(fleet, "other")
        try FileManager.default.removeItem(atPath: other.path + "/devices")
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        let clone = try Replica(path: fleet.databasePath(2))
        try clone.store.note(clone.fingerprint)
        fleet.replicas.append(clone)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('original 1'); DELETE FROM item WHERE id = 3;")
        XCTAssertNil(try fleet.replicas[0].sync().renewed, line: line)
        _ = try fleet.replicas[1].sync()
        for number in 1...3 {
            try fleet.shell(2, "INSERT INTO item(name) VALUES ('copy \(number)');")
            // The folder was made anew meanwhile.
            if number == 3 { try FileManager.default.removeItem(atPath: other.path + "/devices") }
            XCTAssertNil(try clone.sync(isThorough: number == 3).renewed, line: line)
        }
        XCTAssertGreaterThan(try clone.store.reading().logStart, 2, "it began its log anew", line: line)

        try meet(fleet, other, without: gone)
        let living = [0, 1, 2].filter { !gone.contains($0) }
        let names = "copy 1\ncopy 2\ncopy 3\none\noriginal 1\ntwo\n"
        for index in living {
            XCTAssertEqual(
                try fleet.shell(index, "SELECT name FROM item ORDER BY 1;"), names, "device \(index)", line: line)
            XCTAssertTrue(try fleet.replicas[index].verify(deep: true).isSound, "device \(index)", line: line)
            XCTAssertEqual(try fleet.replicas[index].sync().waiting, [], "device \(index)", line: line)
        }
        let digests = try living.map { try fleet.replicas[$0].store.statePosition().digests }
        XCTAssertEqual(Set(digests).count, 1, line: line)
        XCTAssertNotEqual(
            fleet.replicas[0].identity.device, fleet.replicas[2].identity.device, "they are told apart", line: line)
    }

    func testACloneThatBeganItsLogAnewIsToldFromItsOriginal() throws {
        try checkACloneThatBeganItsLogAnew(gone: [])
    }

    func testWhatTheOriginalSentIsTakenInByACloneThatBeganItsLogAnew() throws {
        try checkACloneThatBeganItsLogAnew(gone: [0])
    }

    func testWhatACloneSentThatBeganItsLogAnewIsTakenInByTheOriginal() throws {
        try checkACloneThatBeganItsLogAnew(gone: [2])
    }
}
