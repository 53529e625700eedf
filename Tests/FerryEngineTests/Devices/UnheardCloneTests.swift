import FerryCore
import FerryStore
import Foundation
import XCTest

@testable import FerryEngine

/// A clone with its original's ID that nobody on the original's side has heard of, before they forgot a deletion and removed
/// the files behind the place where the branches part. Nobody can tell then what was forgotten: all that either side has is
/// kept, and reaches all devices.
final class UnheardCloneTests: XCTestCase {
    private let schema = """
        CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT);
        CREATE TABLE part(id INTEGER PRIMARY KEY, item INTEGER REFERENCES item(id) ON DELETE RESTRICT, code TEXT);
        INSERT INTO item(id, name) VALUES (1, 'one'), (2, 'two'), (3, 'three'), (4, 'four');
        """
    private let rows = """
        SELECT name, note FROM item ORDER BY 1; SELECT code, name FROM part JOIN item ON item = item.id ORDER BY 1;
        """
    private let deletion = "DELETE FROM item WHERE id = 3;"

    /// Enough of one side's changes that those before them are removed.
    private func insertions(_ word: String, _ count: Int) -> [String] {
        (1...count).map { "INSERT INTO item(name) VALUES ('\(word) \($0)');" }
    }

    /// All that either side inserted, by name, with what is in the row that one side deleted.
    private func all(copies: Int, originals: Int, three note: String = "") -> String {
        func names(_ word: String, _ count: Int) -> String { (1..<count + 1).map { "\(word) \($0)|\n" }.joined() }
        return names("copy", copies) + "four|\none|\n" + names("original", originals) + "three|\(note)\ntwo|\n"
    }

    /// Lets the folders come together, and everybody sync, until all is known to all.
    private func meet(_ fleet: Fleet, _ other: SecondFolder) throws {
        for _ in 0..<8 {
            try other.exchange()
            for replica in fleet.replicas { _ = try replica.sync() }
        }
    }

    /// 0 and 1 follow the original, 2 is its clone, and 3 follows that one in a folder of their own, which nobody of the
    /// first two has seen. Both sides tidy up after each change.
    /// - Parameter tidying: 0 or 2, where only that side does.
    private func fork(
        original: [String], clone: [String], reader: String, hasClonesFiles: Bool, tidying: Int? = nil
    ) throws -> (Fleet, SecondFolder) {
        let fleet = try Fleet()
        try fleet.start(schema)
        try fleet.join()
        try fleet.settle()
        let other = try SecondFolder(fleet, "other")
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(2))';")
        try fleet.shell(2, "UPDATE ferry_meta SET value = '\(other.path)' WHERE name = 'containerPath';")
        var retention = RetentionSettings()
        retention.snapshotMinimumBytes = 1
        retention.firstSnapshotChangesPerRow = 0
        retention.tombstoneMilliseconds = 0
        retention.replacedMilliseconds = 0
        fleet.replicas = try (0..<3).map { index in
            let isTidying = tidying.map { $0 == (index == 2 ? 2 : 0) } ?? true
            return try Replica(
                path: fleet.databasePath(index), retention: isTidying ? retention : RetentionSettings())
        }
        try fleet.replicas[2].store.note(fleet.replicas[2].fingerprint)
        let (third, _) = try Replica.join(
            databasePath: fleet.databasePath(3), containerPath: other.path, name: "device3")
        fleet.replicas.append(try XCTUnwrap(third))
        // Of the original's reader nobody hears there any more.
        if !hasClonesFiles { try fleet.replicas[2].retire(fleet.replicas[1].identity.device.description) }
        for (changes, writer, reader) in [(original, 0, 1), (clone, 2, 3)] {
            for change in changes {
                try fleet.shell(writer, change)
                for index in [writer, reader, writer] { XCTAssertNil(try fleet.replicas[index].sync().renewed) }
                if let tidying, tidying != writer { continue }
                for index in [writer, reader, writer] { _ = try fleet.replicas[index].compact() }
            }
        }
        try fleet.shell(3, reader)
        for index in [3, 2, 3] { XCTAssertNil(try fleet.replicas[index].sync().renewed) }
        XCTAssertEqual(fleet.replicas[0].identity.device, fleet.replicas[2].identity.device)
        return (fleet, other)
    }

    private func check(
        original: [String], clone: [String], reader: String = "", forgotten: Int, hasClonesFiles: Bool = false,
        _ expected: String,
        line: UInt = #line, before meeting: (Fleet, SecondFolder) throws -> Void = { _, _ in }
    ) throws {
        let (fleet, other) = try fork(original: original, clone: clone, reader: reader, hasClonesFiles: hasClonesFiles)
        let former = fleet.replicas[forgotten].identity.device
        XCTAssertEqual(try fleet.replicas[forgotten].store.tombstoneCount(), 0, "it is forgotten", line: line)
        for index in [0, 2] where index == 0 || !hasClonesFiles {
            let start = try fleet.replicas[index].store.reading().logStart
            XCTAssertGreaterThan(start, 2, "its files are removed", line: line)
        }
        try meeting(fleet, other)
        try meet(fleet, other)
        // What those write who have taken in branches can be read.
        for index in 0..<3 { _ = try fleet.replicas[index].compact() }
        let files = try FileManager.default.subpathsOfDirectory(atPath: fleet.containerPath)
        let container = try fleet.replicas[0].openContainer()
        XCTAssertEqual(
            try SnapshotCatalog(container).entries().count, files.filter { $0.hasSuffix(".snapshot") }.count, line: line
        )
        let digests = try fleet.replicas[0].store.statePosition().digests
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertNotEqual(replica.identity.device, former, "device \(index)", line: line)
            XCTAssertEqual(try fleet.shell(index, rows), expected, "device \(index)", line: line)
            XCTAssertEqual(try replica.store.statePosition().digests, digests, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
            let report = try replica.sync()
            XCTAssertEqual(report.waiting, [], "device \(index)", line: line)
            XCTAssertFalse(report.hasNews, "device \(index)", line: line)
        }
    }

    /// The files of the clone's branch are all there, because somebody is waited for.
    func testARowWhoseDeletionTheOriginalsSideForgotIsBack() throws {
        try check(
            original: [deletion] + insertions("original", 6), clone: insertions("copy", 3), forgotten: 0,
            hasClonesFiles: true, all(copies: 3, originals: 6))
    }

    func testWhatIsInSnapshotsAloneReachesAllDevices() throws {
        try check(
            original: [deletion] + insertions("original", 6), clone: insertions("copy", 3), forgotten: 0,
            all(copies: 3, originals: 6))
    }

    func testWhatIsInSnapshotsAloneReachesAllDevicesWhereTheCloneForgot() throws {
        try check(
            original: insertions("original", 3), clone: [deletion] + insertions("copy", 6), forgotten: 2,
            all(copies: 6, originals: 3))
    }

    func testWhatIsInSnapshotsAloneReachesAllDevicesWhereTheOtherBranchIsLonger() throws {
        try check(
            original: [deletion] + insertions("original", 4), clone: insertions("copy", 7), forgotten: 0,
            all(copies: 7, originals: 4))
    }

    func testWhatTheCloneWroteToARowIsThere() throws {
        try check(
            original: [deletion] + insertions("original", 6),
            clone: ["UPDATE item SET note = 'kept' WHERE id = 3;"] + insertions("copy", 2), forgotten: 0,
            all(copies: 2, originals: 6, three: "kept"))
    }

    func testWhatAReaderOfTheCloneWroteToARowIsThere() throws {
        try check(
            original: [deletion] + insertions("original", 6), clone: insertions("copy", 2),
            reader: "UPDATE item SET note = 'kept' WHERE id = 3;", forgotten: 0,
            all(copies: 2, originals: 6, three: "kept"))
    }

    func testARowThatTheOtherBranchRefersToIsThere() throws {
        try check(
            original: [deletion] + insertions("original", 6),
            clone: ["INSERT INTO part(item, code) VALUES (3, 'a');"] + insertions("copy", 2), forgotten: 0,
            all(copies: 2, originals: 6) + "a|three\n")
    }

    // MARK: A branch whose beginning is gone

    /// The clone hears by the original's head that somebody publishes under its ID, and takes another one, before it sees a
    /// file of the other branch. Of that the first one, with the deletion, is removed by then.
    private func checkAHeadThatComesFirst(
        originals: Int, _ clone: [String], reader: String = "", _ expected: String, line: UInt = #line,
        before meeting: (Fleet, SecondFolder) throws -> Void = { _, _ in }
    ) throws {
        try check(
            original: [deletion] + insertions("original", originals), clone: clone, reader: reader, forgotten: 0,
            hasClonesFiles: true, expected, line: line
        ) { fleet, other in
            let head = "/devices/\(fleet.replicas[0].identity.device.hex)/head"
            try FileManager.default.removeItem(atPath: other.path + head)
            try FileManager.default.copyItem(atPath: fleet.containerPath + head, toPath: other.path + head)
            XCTAssertEqual(try fleet.replicas[2].sync().renewed?.reason, .restored, line: line)
            try meeting(fleet, other)
        }
    }

    /// What the container has of snapshots in place of all others: one that was written after deletions were forgotten.
    private func forgetSnapshots(_ fleet: Fleet, _ other: SecondFolder) throws {
        let (replica, path) = (fleet.replicas[0], fleet.containerPath)
        for file in try FileManager.default.subpathsOfDirectory(atPath: path) where file.hasSuffix(".snapshot") {
            try FileManager.default.removeItem(atPath: path + "/" + file)
        }
        _ = try SnapshotWriter(
            container: replica.openContainer(), store: replica.store, identity: replica.identity
        ).write()
    }

    func testADeletionThatASnapshotTellsOfReachesTheCloneWhereItHeardOfTheOtherBranchByItsHead() throws {
        for count in 1...2 {
            try checkAHeadThatComesFirst(
                originals: count, insertions("copy", 1),
                all(copies: 1, originals: count).replacing("three|\n", with: ""))
        }
    }

    func testARowWhoseDeletionNobodyKnowsAnyMoreIsBackWhereTheCloneHeardOfTheOtherBranchByItsHead() throws {
        for count in 1...2 {
            try checkAHeadThatComesFirst(
                originals: count, insertions("copy", 1), all(copies: 1, originals: count), before: forgetSnapshots)
        }
    }

    func testWhatTheCloneWroteToARowIsThereWhereItHeardOfTheOtherBranchByItsHead() throws {
        let kept = all(copies: 0, originals: 1, three: "kept")
        let change = "UPDATE item SET note = 'kept' WHERE id = 3;"
        try checkAHeadThatComesFirst(originals: 1, [change], kept)
        try checkAHeadThatComesFirst(originals: 1, [change], kept, before: forgetSnapshots)
        try checkAHeadThatComesFirst(
            originals: 1, insertions("copy", 1), reader: change, all(copies: 1, originals: 1, three: "kept"),
            before: forgetSnapshots)
    }

    func testAHeadThatSpeaksOfAnotherSegmentTellsThatTheLogHasTwoBranches() throws {
        let (fleet, other) = try fork(
            original: insertions("original", 3), clone: insertions("copy", 2), reader: "", hasClonesFiles: true,
            tidying: 2)
        let former = fleet.replicas[0].identity.device
        let head = "/devices/\(former.hex)/head"
        try FileManager.default.removeItem(atPath: fleet.containerPath + head)
        try FileManager.default.copyItem(atPath: other.path + head, toPath: fleet.containerPath + head)
        XCTAssertEqual(try fleet.replicas[0].sync().renewed?.reason, .cloned)
        XCTAssertEqual(try fleet.replicas[0].store.reading().forkedLogs, [former])
        try meet(fleet, other)
        try assertAgreement(fleet, former, all(copies: 2, originals: 3))
    }

    // MARK: A segment that never comes

    /// Of the original's branch the last file is there alone, and the clone's is the shorter one.
    private func forkWithAGap() throws -> (Fleet, SecondFolder, former: DeviceID) {
        let (fleet, other) = try fork(
            original: insertions("original", 6), clone: insertions("copy", 3), reader: "", hasClonesFiles: true)
        return (fleet, other, fleet.replicas[0].identity.device)
    }

    private func assertAgreement(
        _ fleet: Fleet, _ former: DeviceID, _ names: String? = nil, line: UInt = #line
    ) throws {
        let names = names ?? all(copies: 3, originals: 6)
        let digests = try fleet.replicas[0].store.statePosition().digests
        for (index, replica) in fleet.replicas.enumerated() {
            XCTAssertEqual(try fleet.shell(index, rows), names, "device \(index)", line: line)
            XCTAssertEqual(try replica.sync().waiting, [], "device \(index)", line: line)
            let problems = try replica.status().devices.compactMap(\.problem)
            XCTAssertEqual(problems, [], "device \(index)", line: line)
            let findings = try replica.examine().findings.filter { $0.severity != .note }
            XCTAssertEqual(findings.map(\.problem), [], "device \(index)", line: line)
            XCTAssertEqual(try replica.store.statePosition().digests, digests, "device \(index)", line: line)
            XCTAssertTrue(try replica.verify(deep: true).isSound, "device \(index)", line: line)
        }
    }

    private func assertNamed(_ fleet: Fleet, _ index: Int, line: UInt = #line) throws {
        let waiting = try XCTUnwrap(fleet.replicas[index].sync().waiting.first, line: line)
        XCTAssertEqual(waiting.code, "fileNotThereYet", line: line)
        XCTAssertTrue(waiting.reason.contains("retire the former one"), waiting.reason, line: line)
        let told = try fleet.replicas[index].status().devices.compactMap(\.problemCode)
        XCTAssertEqual(told, ["fileNotThereYet"], line: line)
        let findings = try fleet.replicas[index].examine().findings.filter {
            $0.problem.contains("not in the container")
        }
        XCTAssertEqual(findings.count, 1, line: line)
    }

    func testASegmentThatNeverComesIsNotNamedOnceItsAuthorHasSentItAgain() throws {
        let (fleet, other, former) = try forkWithAGap()
        try meet(fleet, other)
        let container = try fleet.replicas[3].openContainer()
        let position = try fleet.replicas[3].store.versionVector()[former].sequence
        let files = try container.segments(of: former, after: position)
        XCTAssertGreaterThan(try XCTUnwrap(files.first).first, position + 1, "there is a gap")
        try assertAgreement(fleet, former)
        // Who comes later is told of it no more than the others.
        try fleet.join()
        try meet(fleet, other)
        try assertAgreement(fleet, former)
    }

    func testASegmentOfTheCloneThatNeverComesIsNotNamedOnceItHasSentItAgain() throws {
        let (fleet, other) = try fork(
            original: insertions("original", 3), clone: insertions("copy", 6), reader: "", hasClonesFiles: false,
            tidying: 2)
        let former = fleet.replicas[0].identity.device
        // Of the two heads the original's is kept, which does not say that files were removed.
        try FileManager.default.setAttributes(
            [.modificationDate: Date.distantFuture], ofItemAtPath: fleet.containerPath + "/devices/\(former.hex)/head")
        try meet(fleet, other)
        let container = try fleet.replicas[1].openContainer()
        let position = try fleet.replicas[1].store.versionVector()[former].sequence
        XCTAssertFalse(try container.segments(of: former, after: position).isEmpty, "there is more")
        XCTAssertFalse(try container.segments(of: former).contains { $0.first <= position + 1 && position < $0.last })
        try assertAgreement(fleet, former, all(copies: 6, originals: 3))
    }

    func testASegmentIsNamedUntilWhatItsAuthorSentAgainHasBeenRead() throws {
        let (fleet, other, former) = try forkWithAGap()
        try other.exchange()
        XCTAssertNotNil(try fleet.replicas[0].sync().renewed)
        let successor = fleet.replicas[0].identity.device
        XCTAssertNotEqual(successor, former)
        for _ in 0..<4 {
            try other.exchange(without: successor)
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        try assertNamed(fleet, 3)
        // A head says that there is more, and the files are still to come.
        let directory = "/devices/" + successor.hex
        try FileManager.default.createDirectory(
            atPath: other.path + directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(
            atPath: fleet.containerPath + directory + "/head", toPath: other.path + directory + "/head")
        let told = try fleet.replicas[3].sync().waiting.map(\.code)
        XCTAssertEqual(told, ["fileNotThereYet", "fileNotThereYet"])
        try meet(fleet, other)
        try assertAgreement(fleet, former)
    }

    /// A third copy has published under the ID, and the last of its files came alone.
    /// - Returns: the folder that it uses, and its database, the last of the fleet.
    private func addThirdBranch(_ fleet: Fleet, _ other: SecondFolder) throws -> SecondFolder {
        let third = try SecondFolder(fleet, "third")
        let index = fleet.replicas.count
        try fleet.shell(0, "VACUUM INTO '\(fleet.databasePath(index))';")
        try fleet.shell(index, "UPDATE ferry_meta SET value = '\(third.path)' WHERE name = 'containerPath';")
        let replica = try Replica(path: fleet.databasePath(index))
        try replica.store.note(replica.fingerprint)
        for number in 1...3 {
            try fleet.shell(index, "INSERT INTO item(name) VALUES ('third \(number)');")
            XCTAssertNil(try replica.sync().renewed)
        }
        try meet(fleet, other)
        fleet.replicas.append(replica)
        return third
    }

    private func bringLastFile(of former: DeviceID, from third: SecondFolder, to places: [String]) throws {
        let directory = "/devices/\(former.hex)/segments/"
        let file = try XCTUnwrap(FileManager.default.contentsOfDirectory(atPath: third.path + directory).max())
        for place in places {
            try FileManager.default.copyItem(atPath: third.path + directory + file, toPath: place + directory + file)
        }
    }

    func testASegmentIsNamedWhereAFileBehindItIsOfACopyThatHasSentNothingAgain() throws {
        let (fleet, other, former) = try forkWithAGap()
        let third = try addThirdBranch(fleet, other)
        for index in 0..<4 { XCTAssertEqual(try fleet.replicas[index].sync().waiting, [], "device \(index)") }
        try bringLastFile(of: former, from: third, to: [fleet.containerPath, other.path])
        for index in [0, 2, 3] { try assertNamed(fleet, index) }
        for _ in 0..<8 {
            try third.exchange()
            try other.exchange()
            for replica in fleet.replicas { _ = try replica.sync() }
        }
        XCTAssertNotEqual(fleet.replicas[4].identity.device, former)
        try assertAgreement(
            fleet, former,
            all(copies: 3, originals: 6).replacing(
                "three|", with: (1...3).map { "third \($0)|\n" }.joined() + "three|"))
    }

    func testASegmentThatNeverComesIsNamedUntilItsDeviceIsRetiredWhereItsAuthorIsGone() throws {
        let (fleet, other, former) = try forkWithAGap()
        let third = try addThirdBranch(fleet, other)
        fleet.replicas.removeLast()
        try bringLastFile(of: former, from: third, to: [fleet.containerPath, other.path])
        try meet(fleet, other)
        try assertNamed(fleet, 3)
        try fleet.replicas[3].retire(former.description)
        try meet(fleet, other)
        try assertAgreement(fleet, former)
    }
}
