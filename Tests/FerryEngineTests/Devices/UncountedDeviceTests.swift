import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// Devices of which others had not heard yet when they forgot deletions.
final class UncountedDeviceTests: XCTestCase {
    func testACopyThatHearsOfADeletionAfterItPublishedKeepsWhatItWrote() throws {
        let world = try World()
        let fleet = world.fleet
        let copy = try world.copy(1, world.folder())
        try world.deleteAndForget("DELETE FROM item WHERE id = 3;")
        // In its own folder there is no deletion.
        try fleet.shell(copy, "UPDATE item SET note = 'kept' WHERE id = 3;")
        XCTAssertEqual(try fleet.replicas[copy].sync().renewed?.reason, .copied)
        try world.meet()
        try world.assertAgreement("one|\nthree|kept\ntwo|\n")
    }

    func testADeviceThatJoinedByAnOlderFolderKeepsWhatItWrote() throws {
        let world = try World()
        let fleet = world.fleet
        try world.join(2, world.folder())
        try world.deleteAndForget("DELETE FROM item WHERE id = 3;")
        try fleet.shell(2, "UPDATE item SET note = 'kept' WHERE id = 3;")
        _ = try fleet.replicas[2].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|kept\ntwo|\n")
    }

    func testARowThatACopyRefersToIsKept() throws {
        let world = try World()
        let fleet = world.fleet
        let copy = try world.copy(1, world.folder())
        try world.deleteAndForget("DELETE FROM item WHERE id = 3;")
        try fleet.shell(copy, "INSERT INTO part(item, code) VALUES (3, 'a');")
        XCTAssertEqual(try fleet.replicas[copy].sync().renewed?.reason, .copied)
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\na|three\n")
    }

    func testARowThatADeviceWhichJoinedByAnOlderFolderRefersToIsKept() throws {
        let world = try World()
        try world.join(2, world.folder())
        try world.deleteAndForget("DELETE FROM item WHERE id = 3;")
        try world.fleet.shell(2, "INSERT INTO part(item, code) VALUES (3, 'a');")
        _ = try world.fleet.replicas[2].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\na|three\n")
        // It is no longer deleted, so it does not go with the last row that refers to it.
        try world.fleet.shell(0, "DELETE FROM part;")
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
    }

    func testAHiddenRowOfADeviceThatJoinedByAnOlderFolderKeepsWhatItRefersTo() throws {
        let world = try World()
        try world.join(2, world.folder())
        try world.deleteAndForget("DELETE FROM item WHERE id = 3; DELETE FROM box;")
        try world.fleet.shell(2, "INSERT INTO part(item, code, box) VALUES (3, 'a', 1);")
        _ = try world.fleet.replicas[2].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
    }

    func testWhatARowRefersToThatADeviceWroteToWhichJoinedByAnOlderFolderIsKept() throws {
        let world = try World()
        let fleet = world.fleet
        try fleet.shell(0, "INSERT INTO part(item, code) VALUES (3, 'a'), (2, 'b');")
        try fleet.settle()
        try world.join(2, world.folder())
        try world.deleteAndForget("DELETE FROM part; DELETE FROM item WHERE id > 1;")
        try fleet.shell(2, "UPDATE part SET code = 'c' WHERE code = 'a';")
        _ = try fleet.replicas[2].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|\nc|three\n")
    }

    func testARowThatIsReferredToIsKeptThoughADeviceThatIsHeardOfLaterHasForgottenIt() throws {
        let world = try World()
        let fleet = world.fleet
        let (first, second) = (try world.folder(), try world.folder())
        let other = try world.copy(1, second)
        try world.join(3, first)
        for _ in 0..<4 {
            try first.exchange()
            for index in [0, 1, 3] { _ = try fleet.replicas[index].sync() }
        }
        try fleet.shell(0, "DELETE FROM item WHERE id = 3;")
        try fleet.shell(3, "INSERT INTO part(item, code) VALUES (3, 'a');")
        for index in [0, 1, 0, 1] { _ = try fleet.replicas[index].sync() }
        _ = try fleet.replicas[3].sync()
        for _ in 0..<2 {
            try second.exchange(without: fleet.replicas[3].identity.device)
            _ = try fleet.replicas[other].sync()
            for index in [0, 1] { _ = try fleet.replicas[index].sync() }
        }
        try world.forget([other])
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\na|three\n")
    }

    func testARowThatRowsOfOthersHoldBackGoesWithTheLastOfThemThoughADeviceJoins() throws {
        let world = try World()
        let fleet = world.fleet
        try fleet.shell(0, "DELETE FROM item WHERE id = 3;")
        try fleet.shell(1, "INSERT INTO part(item, code) VALUES (3, 'a');")
        try fleet.settle()
        try world.assertAgreement("one|\nthree|\ntwo|\na|three\n")
        try fleet.join()
        try fleet.settle()
        try fleet.shell(2, "INSERT INTO item(name) VALUES ('four');")
        try fleet.settle()
        try fleet.shell(2, "DELETE FROM part;")
        try fleet.settle()
        try world.assertAgreement("four|\none|\ntwo|\n")
    }

    /// A device joins by a folder in which another one's files have not arrived, and deletes what `sql` says. The one that both
    /// know hears of it.
    private func forgetWithoutTheSecond(_ sql: String, _ world: World) throws {
        let fleet = world.fleet
        let folder = try world.folder()
        try folder.lose(fleet.replicas[1].identity.device)
        try world.join(2, folder)
        try fleet.shell(2, sql)
        for _ in 0..<3 {
            _ = try fleet.replicas[2].sync()
            try folder.exchange(without: fleet.replicas[1].identity.device)
            _ = try fleet.replicas[0].sync()
        }
        try world.forget([2])
    }

    func testARowOfADeviceThatWasMissingWhereAnotherOneJoinedKeepsWhatItRefersTo() throws {
        let world = try World()
        try forgetWithoutTheSecond("DELETE FROM item WHERE id = 3;", world)
        try world.fleet.shell(1, "INSERT INTO part(item, code) VALUES (3, 'a');")
        _ = try world.fleet.replicas[1].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\na|three\n")
        // Nothing is missing any more.
        let container = try world.fleet.replicas[2].openContainer()
        for replica in world.fleet.replicas {
            XCTAssertEqual(try container.readHead(of: replica.identity.device)?.missing, [])
        }
    }

    func testWhatRefersToRowsThatReferToOthersKeepsAllOfThem() throws {
        let world = try World()
        try forgetWithoutTheSecond("DELETE FROM leaf; DELETE FROM branch; DELETE FROM tree;", world)
        try world.fleet.shell(1, "INSERT INTO leaf(branch) VALUES (1), (2);")
        _ = try world.fleet.replicas[1].sync()
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
        for index in 0..<3 {
            XCTAssertEqual(
                try world.fleet.shell(
                    index, "SELECT count(*) FROM leaf; SELECT id FROM branch; SELECT count(*) FROM tree;"),
                "2\n1\n2\n1\n", "device \(index)")
        }
    }

    /// A device that was missing does something to a row that is deleted and forgotten elsewhere, and is gone: the others agree
    /// without it.
    private func assertAgreementWithoutTheAuthor(
        _ deed: String, _ expected: String, line: UInt = #line
    ) throws {
        let world = try World()
        let fleet = world.fleet
        try forgetWithoutTheSecond("DELETE FROM item WHERE id = 3;", world)
        try fleet.shell(1, deed)
        _ = try fleet.replicas[1].sync()
        let gone = fleet.replicas.remove(at: 1)
        try world.meet()
        fleet.replicas.insert(gone, at: 1)
        try world.assertRows(expected, [0, 2], line: line)
        try world.meet()
        try world.assertAgreement(expected, line: line)
    }

    func testARowKeepsWhatItRefersToThoughItsAuthorIsGone() throws {
        try assertAgreementWithoutTheAuthor(
            "INSERT INTO part(item, code) VALUES (3, 'a');", "one|\nthree|\ntwo|\na|three\n")
    }

    func testAnUpdateOfADeviceThatWasMissingBringsTheRowBackThoughItsAuthorIsGone() throws {
        try assertAgreementWithoutTheAuthor(
            "UPDATE item SET note = 'kept' WHERE id = 3;", "one|\nthree|kept\ntwo|\n")
    }

    func testADeviceThatIsHeardOfLaterMayHaveForgottenToo() throws {
        let world = try World()
        let fleet = world.fleet
        let (first, second) = (try world.folder(), try world.folder())
        // Neither of two copies has heard of the other.
        let other = try world.copy(1, second)
        let copy = try world.copy(0, first)
        _ = try fleet.replicas[copy].sync()
        for _ in 0..<4 {
            try first.exchange()
            for index in [0, 1, copy] { _ = try fleet.replicas[index].sync() }
        }
        try fleet.shell(0, "DELETE FROM item WHERE id = 3;")
        try fleet.shell(copy, "UPDATE item SET note = 'kept' WHERE id = 3;")
        for index in [0, 1, 0, 1] { _ = try fleet.replicas[index].sync() }
        _ = try fleet.replicas[copy].sync()
        for _ in 0..<2 {
            try second.exchange(without: fleet.replicas[copy].identity.device)
            _ = try fleet.replicas[other].sync()
            for index in [0, 1] { _ = try fleet.replicas[index].sync() }
        }
        try world.forget([other])
        try world.meet()
        try world.assertAgreement("one|\nthree|kept\ntwo|\n")
    }

    // MARK: Rows that were inserted twice

    func testARowUnderAKeyThatADeviceWhichJoinedByAnOlderFolderInsertedTooStaysDeleted() throws {
        let world = try World()
        let fleet = world.fleet
        try world.join(2, world.folder())
        for index in [0, 2] {
            try fleet.shell(index, "INSERT INTO tag VALUES ('a', \(index));")
            _ = try fleet.replicas[index].sync()
        }
        try world.deleteAndForget("DELETE FROM tag;")
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
        for index in 0..<3 { XCTAssertEqual(try fleet.shell(index, "SELECT count(*) FROM tag;"), "0\n") }
        // It can come again.
        try fleet.shell(0, "INSERT INTO tag VALUES ('a', 9);")
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
        for index in 0..<3 { XCTAssertEqual(try fleet.shell(index, "SELECT colour FROM tag;"), "9\n") }
    }

    func testARowUnderAKeyThatWasInsertedOnceMoreAfterTheDeletionStays() throws {
        let world = try World()
        let fleet = world.fleet
        try world.join(2, world.folder())
        for index in [0, 2] {
            try fleet.shell(index, "INSERT INTO tag VALUES ('a', \(index));")
            _ = try fleet.replicas[index].sync()
        }
        try world.deleteAndForget("DELETE FROM tag;")
        try fleet.shell(1, "INSERT INTO tag VALUES ('a', 5);")
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
        for index in 0..<3 { XCTAssertEqual(try fleet.shell(index, "SELECT colour FROM tag;"), "5\n") }
    }

    /// A copy has the row in its outbox, and sends it under another ID; the original's deletion is in its log.
    func testARowThatACopySendsAgainBeforeItHearsOfTheDeletionStaysDeleted() throws {
        let world = try World()
        let fleet = world.fleet
        let original = fleet.replicas[0]
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('four');")
        _ = try original.store.pass(replaying: [], encode: original.segmentEncoding(for: original.identity))
        let copy = try world.copy(0, world.folder())
        for index in [0, 1] { _ = try fleet.replicas[index].sync() }
        try world.deleteAndForget("DELETE FROM item WHERE name = 'four';")
        let renewal = try XCTUnwrap(fleet.replicas[copy].sync().renewed)
        XCTAssertEqual(renewal.sentAgain, 1)
        try world.meet()
        try world.assertAgreement("one|\nthree|\ntwo|\n")
    }

    /// An original inserts a row, which its reader deletes and forgets, before they hear of a clone with the original's ID.
    private func checkAClone(
        forgotten: [Int], isCloneFirst: Bool, line: UInt = #line
    ) throws {
        let world = try World()
        let fleet = world.fleet
        let folder = try world.folder()
        let clone = try world.clone(0, folder)
        try fleet.shell(clone, "INSERT INTO item(name) VALUES ('copy');")
        XCTAssertNil(try fleet.replicas[clone].sync().renewed, line: line)
        try fleet.shell(0, "INSERT INTO item(name) VALUES ('four');")
        for index in [0, 1] { _ = try fleet.replicas[index].sync() }
        try fleet.shell(1, "DELETE FROM item WHERE name = 'four';")
        for index in [1, 0, 1, 0] { _ = try fleet.replicas[index].sync() }
        try world.forget(forgotten, line)
        let remembered = try fleet.replicas[0].store.tombstoneCount()
        XCTAssertEqual(remembered, forgotten.contains(0) ? 0 : 1, line: line)
        if isCloneFirst {
            try folder.exchange()
            XCTAssertEqual(try fleet.replicas[clone].sync().renewed?.reason, .cloned, line: line)
        }
        try world.meet()
        XCTAssertEqual(Set(fleet.replicas.map(\.identity.device)).count, 3, line: line)
        try world.assertAgreement("copy|\none|\nthree|\ntwo|\n", line: line)
    }

    func testARowOfALogWithTwoBranchesStaysDeletedWhereTheOriginalRemembersTheDeletion() throws {
        try checkAClone(forgotten: [1], isCloneFirst: false)
        try checkAClone(forgotten: [1], isCloneFirst: true)
    }

    /// The original takes in both branches, after it forgot another device's deletion of a row on its own. Nobody else says what the
    /// clone had said.
    func testARowOfALogWithTwoBranchesStaysDeletedWhereTheCloneIsGone() throws {
        for isRetired in [false, true] {
            let world = try World()
            let fleet = world.fleet
            try fleet.join()
            try fleet.settle()
            let folder = try world.folder()
            let clone = try world.clone(0, folder)
            try fleet.shell(clone, "INSERT INTO item(name) VALUES ('copy');")
            XCTAssertNil(try fleet.replicas[clone].sync().renewed)
            fleet.replicas.removeLast()
            try fleet.shell(0, "INSERT INTO item(name) VALUES ('four');")
            for index in 0..<3 { _ = try fleet.replicas[index].sync() }
            try fleet.shell(1, "DELETE FROM item WHERE name = 'four'; UPDATE item SET note = 'new' WHERE id = 3;")
            for index in [1, 0, 2, 1, 0, 2] { _ = try fleet.replicas[index].sync() }
            try world.forget([0, 1])
            XCTAssertEqual(try fleet.replicas[2].store.tombstoneCount(), 1)
            let former = fleet.replicas[0].identity.device
            try world.meet()
            // The others take in both branches, too, as far as they have read one.
            if isRetired { try fleet.replicas[1].retire(former.description) }
            try world.meet()
            XCTAssertNotEqual(fleet.replicas[0].identity.device, former)
            try world.assertAgreement("copy|\none|\nthree|new\ntwo|\n")
        }
    }

    func testARowOfALogWithTwoBranchesStaysDeletedWhereTheOriginalForgotTheDeletion() throws {
        try checkAClone(forgotten: [0, 1], isCloneFirst: false)
        try checkAClone(forgotten: [0, 1], isCloneFirst: true)
    }
}

/// Two devices in step, and copies and others that use folders of their own.
private final class World {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        CREATE TABLE box(id INTEGER PRIMARY KEY);
        CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE RESTRICT, code TEXT,
            box INTEGER REFERENCES box(id) ON DELETE CASCADE);
        CREATE TABLE tree(id INTEGER PRIMARY KEY);
        CREATE TABLE branch(id INTEGER PRIMARY KEY, tree INTEGER REFERENCES tree(id));
        CREATE TABLE leaf(id INTEGER PRIMARY KEY, branch INTEGER REFERENCES branch(id));
        CREATE TABLE tag(name TEXT PRIMARY KEY NOT NULL, colour INTEGER);
        INSERT INTO box VALUES (1);
        INSERT INTO tree VALUES (1);
        INSERT INTO branch VALUES (1, 1), (2, 1);
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three');
        """
    private let rows = """
        SELECT name, note FROM item ORDER BY 1; SELECT code, name FROM part JOIN item ON item = item.id ORDER BY 1;
        """

    let fleet: Fleet
    private var folders: [SecondFolder] = []

    init() throws {
        fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
    }

    /// A folder that nobody else writes to, as the container is now.
    func folder() throws -> SecondFolder {
        let folder = try SecondFolder(fleet, "folder\(folders.count)")
        folders.append(folder)
        return folder
    }

    /// A copy of a device's database that uses a folder of its own.
    func copy(_ index: Int, _ folder: SecondFolder) throws -> Int {
        let copy = fleet.replicas.count
        try fleet.shell(index, "VACUUM INTO '\(fleet.databasePath(copy))';")
        try fleet.shell(copy, "UPDATE ferry_meta SET value = '\(folder.path)' WHERE name = 'containerPath';")
        fleet.replicas.append(try Replica(path: fleet.databasePath(copy)))
        return copy
    }

    /// A clone of a virtual machine, which cannot be told from its original by where it lies.
    func clone(_ index: Int, _ folder: SecondFolder) throws -> Int {
        let clone = try copy(index, folder)
        try fleet.replicas[clone].store.note(fleet.replicas[clone].fingerprint)
        return clone
    }

    /// Another device joins by a folder of its own.
    func join(_ index: Int, _ folder: SecondFolder) throws {
        let (joined, _) = try Replica.join(
            databasePath: fleet.databasePath(index), containerPath: folder.path, name: "device\(index)")
        fleet.replicas.append(try XCTUnwrap(joined))
    }

    /// The first two devices delete a row and forget that.
    func deleteAndForget(_ sql: String, _ line: UInt = #line) throws {
        try fleet.shell(0, sql)
        for index in [0, 1, 0, 1, 0] { _ = try fleet.replicas[index].sync() }
        try forget([0, 1], line)
    }

    func forget(_ indices: [Int], _ line: UInt = #line) throws {
        for index in indices {
            let replica = fleet.replicas[index]
            let look = try ContainerView(replica.openContainer(), except: replica.identity.device)
            let (activity, reading) = try replica.recordActivity(look)
            let stable = try XCTUnwrap(
                activity.stableVector(reading.vector, logStart: reading.logStart), line: line)
            _ = try replica.store.collectTombstones(stable: stable)
            XCTAssertEqual(try replica.store.tombstoneCount(), 0, "device \(index)", line: line)
        }
    }

    /// The folders meet until nothing is new.
    func meet() throws {
        for _ in 0..<6 {
            for folder in folders { try folder.exchange() }
            for replica in fleet.replicas { _ = try replica.sync() }
        }
    }

    func assertRows(_ expected: String, _ indices: [Int], line: UInt = #line) throws {
        for index in indices { XCTAssertEqual(try fleet.shell(index, rows), expected, "device \(index)", line: line) }
    }

    func assertAgreement(_ expected: String, line: UInt = #line) throws {
        let digests = try fleet.replicas[0].store.statePosition().digests
        try assertRows(expected, Array(fleet.replicas.indices), line: line)
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try replica.store.statePosition().digests, digests, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
            let standings = try replica.status().devices.filter { $0.successors == nil }.map(\.standing)
            XCTAssertEqual(Set(standings), [.inStep], "device \(index)", line: line)
        }
    }
}
