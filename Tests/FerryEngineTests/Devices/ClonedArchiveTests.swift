import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A file of a clone: two databases have one ID, and neither knows of the other. No position in the file names the branch, so nothing goes
/// because the file lacks the row.
final class ClonedArchiveTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        CREATE TABLE place(name TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID;
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two');
        """

    /// The clone's folder, which exchanges its files late.
    private var other: SecondFolder?

    /// 0 is the original, 1 another device, 2 the clone of 0 with a folder of its own.
    private func clones() throws -> Fleet {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        let other = try SecondFolder(fleet, "other")
        try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        fleet.replicas.append(try Replica(path: fleet.databasePath(2)))
        self.other = other
        try fleet.replicas[2].store.note(fleet.replicas[2].fingerprint)
        return fleet
    }

    private func insert(_ name: String, _ fleet: Fleet, _ index: Int) throws {
        try fleet.shell(
            index, "INSERT INTO item(name) VALUES ('\(name)'); INSERT INTO place VALUES ('\(name)', '\(index)');")
    }

    private func exported(_ fleet: Fleet, _ index: Int, _ name: String = "file") throws -> String {
        let path = fleet.folder.appendingPathComponent("\(name).ferry").path
        _ = try fleet.replicas[index].exportSnapshot(to: path)
        return path
    }

    private func assertAllKnow(_ names: [String], _ fleet: Fleet, line: UInt = #line) throws {
        for _ in 0..<8 {
            try other?.exchange()
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try self.names(fleet, index), names, "device \(index)", line: line)
            XCTAssertEqual(
                try fleet.shell(index, "SELECT count(*) FROM place;"), "\(names.count - 2)\n", "device \(index)",
                line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
            XCTAssertEqual(try replica.sync().waiting, [], "device \(index)", line: line)
        }
        XCTAssertEqual(Set(fleet.replicas.map(\.identity.device)).count, fleet.replicas.count, line: line)
    }

    private func names(_ fleet: Fleet, _ index: Int) throws -> [String] {
        try fleet.shell(index, "SELECT name FROM item ORDER BY 1;").split(separator: "\n").map(String.init)
    }

    func testTheFileOfACloneThatIsAheadIsTakenInUnderANewID() throws {
        let fleet = try clones()
        let former = fleet.replicas[0].identity.device
        try insert("clone", fleet, 2)
        try insert("mine", fleet, 0)
        let file = try exported(fleet, 2)
        XCTAssertGreaterThan(try fleet.replicas[0].importSnapshot(from: file).changesets, 0)
        XCTAssertEqual(try names(fleet, 0), ["clone", "mine", "one", "two"])
        XCTAssertEqual(try fleet.replicas[0].sync().renewed?.formerDevice, former.description)
        try assertAllKnow(["clone", "mine", "one", "two"], fleet)
    }

    func testRowsStayThatACloneAsFarAheadDoesNotHave() throws {
        let fleet = try clones()
        try insert("mine", fleet, 0)
        _ = try fleet.replicas[0].sync()
        try insert("clone", fleet, 2)
        let file = try exported(fleet, 2)
        _ = try fleet.replicas[0].importSnapshot(from: file)
        XCTAssertEqual(try names(fleet, 0), ["clone", "mine", "one", "two"])
        try assertAllKnow(["clone", "mine", "one", "two"], fleet)
    }

    func testRowsStayThatAreInTheFolderAndThatACloneDoesNotHave() throws {
        let fleet = try clones()
        for name in ["mine", "later"] {
            try insert(name, fleet, 0)
            _ = try fleet.replicas[0].sync()
        }
        try insert("clone", fleet, 2)
        let file = try exported(fleet, 2)
        _ = try fleet.replicas[0].importSnapshot(from: file)
        XCTAssertEqual(try names(fleet, 0), ["clone", "later", "mine", "one", "two"])
        try assertAllKnow(["clone", "later", "mine", "one", "two"], fleet)
    }

    func testRowsOfTheOriginalStayOnAThirdDeviceThatTakesTheFileOfAClone() throws {
        let fleet = try clones()
        for name in ["mine", "later"] {
            try insert(name, fleet, 0)
            _ = try fleet.replicas[0].sync()
        }
        _ = try fleet.replicas[1].sync()
        for name in ["clone", "clone again"] {
            try insert(name, fleet, 2)
            _ = try exported(fleet, 2, name)
        }
        _ = try fleet.replicas[1].importSnapshot(from: fleet.folder.appendingPathComponent("clone again.ferry").path)
        XCTAssertEqual(try names(fleet, 1), ["clone", "clone again", "later", "mine", "one", "two"])
        try assertAllKnow(["clone", "clone again", "later", "mine", "one", "two"], fleet)
    }

    func testNothingChangesWhileTheFolderIsAway() throws {
        let fleet = try clones()
        try insert("clone", fleet, 2)
        try insert("mine", fleet, 0)
        let file = try exported(fleet, 2)
        let away = fleet.folder.appendingPathComponent("away").path
        try FileManager.default.moveItem(atPath: fleet.containerPath, toPath: away)
        XCTAssertThrowsError(try fleet.replicas[0].importSnapshot(from: file)) { error in
            XCTAssertEqual((error as? FerryError)?.code, .olderState)
            XCTAssertTrue("\(error)".contains("or has a copy"), "\(error)")
        }
        XCTAssertEqual(try names(fleet, 0), ["mine", "one", "two"])
        try FileManager.default.moveItem(atPath: away, toPath: fleet.containerPath)
        _ = try fleet.replicas[0].importSnapshot(from: file)
        try assertAllKnow(["clone", "mine", "one", "two"], fleet)
    }

    func testAnOwnFileGivesNoNewID() throws {
        let fleet = try clones()
        fleet.replicas.removeLast()
        let former = fleet.replicas[0].identity.device
        try insert("before", fleet, 0)
        var files = [try exported(fleet, 0, "first")]
        try insert("waiting", fleet, 0)
        files.append(try exported(fleet, 0, "second"))
        try insert("after", fleet, 0)
        for file in files { XCTAssertEqual(try fleet.replicas[0].importSnapshot(from: file).changesets, 0) }
        _ = try fleet.replicas[0].sync()
        try insert("later", fleet, 0)
        for file in files { XCTAssertEqual(try fleet.replicas[0].importSnapshot(from: file).changesets, 0) }
        XCTAssertEqual(fleet.replicas[0].identity.device, former)
        XCTAssertEqual(try names(fleet, 0), ["after", "before", "later", "one", "two", "waiting"])
    }
}
