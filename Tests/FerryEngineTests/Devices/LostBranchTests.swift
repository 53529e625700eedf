import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A copy writes under its original's ID, and the folder loses what the copy sent. The copy gets an ID of its own before anything of the
/// original arrives, so nothing shows that the log has two branches. The original never hears of the other branch, and writes on.
final class LostBranchTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(name TEXT PRIMARY KEY, note TEXT);
        INSERT INTO item(name) VALUES ('old'), ('gone');
        """

    /// 0 and 1 share the container. 2 is a copy of 0 with a folder of its own, and 3 has joined there, if wanted.
    private func branched(hasReader: Bool) throws -> (Fleet, SecondFolder) {
        let fleet = try Fleet.two(schema)
        try fleet.settle()
        let other = try SecondFolder(fleet, "other")
        let early = fleet.folder.appendingPathComponent("early").path
        let files = FileManager.default
        try files.copyItem(atPath: fleet.containerPath, toPath: early)
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        fleet.replicas.append(try Replica(path: fleet.databasePath(2)))
        try fleet.replicas[2].store.note(fleet.replicas[2].fingerprint)
        try fleet.shell(2, "INSERT INTO item(name) VALUES ('copy'); DELETE FROM item WHERE name = 'gone';")
        XCTAssertNil(try fleet.replicas[2].sync().renewed)
        XCTAssertEqual(fleet.replicas[2].identity.device, fleet.replicas[0].identity.device)
        if hasReader {
            let (reader, _) = try Replica.join(
                databasePath: fleet.databasePath(3), containerPath: other.path, name: "device3")
            fleet.replicas.append(try XCTUnwrap(reader))
        }
        // The folder is put back as it was.
        try files.removeItem(atPath: other.path)
        try files.moveItem(atPath: early, toPath: other.path)
        let present = fleet.replicas[2].fingerprint
        let elsewhere = StoreFingerprint(machine: present.machine, path: "elsewhere", file: "another")
        try fleet.replicas[2].store.note(elsewhere)
        XCTAssertEqual(try fleet.replicas[2].sync().renewed?.reason, .copied)
        return (fleet, other)
    }

    private func check(hasReader: Bool, originals: [String], _ names: [String], line: UInt = #line) throws {
        let (fleet, other) = try branched(hasReader: hasReader)
        let original = fleet.replicas[0].identity.device
        for change in originals {
            try fleet.shell(0, change)
            _ = try fleet.replicas[0].sync()
        }
        for _ in 0..<8 {
            try other.exchange()
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        XCTAssertEqual(fleet.replicas[0].identity.device, original, "nothing told the original", line: line)
        let expected = names.map { "\($0)\n" }.joined()
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(
                try fleet.shell(index, "SELECT name FROM item ORDER BY 1;"), expected, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
            let report = try replica.sync()
            XCTAssertEqual(report.waiting, [], "device \(index)", line: line)
            XCTAssertFalse(report.hasNews, "device \(index)", line: line)
            XCTAssertEqual(
                try replica.status().devices.filter { $0.standing == .differs }.map(\.id), [], "device \(index)",
                line: line)
        }
    }

    func testTheOriginalWritesUnderTheNumberThatTheCopyUsed() throws {
        try check(
            hasReader: false, originals: ["INSERT INTO item(name) VALUES ('original');"], ["copy", "old", "original"])
    }

    func testTheOriginalWritesOn() throws {
        try check(
            hasReader: false,
            originals: ["INSERT INTO item(name) VALUES ('original');", "INSERT INTO item(name) VALUES ('later');"],
            ["copy", "later", "old", "original"])
    }

    func testAReaderOfTheLostBranchFollowsTheOriginal() throws {
        try check(
            hasReader: true,
            originals: ["INSERT INTO item(name) VALUES ('original');", "INSERT INTO item(name) VALUES ('later');"],
            ["copy", "later", "old", "original"])
    }
}
