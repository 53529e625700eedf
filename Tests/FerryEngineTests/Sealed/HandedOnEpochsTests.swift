import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// Which epochs a newcomer gets: those under which there are files, and no older ones. Members open every epoch since they came.
final class HandedOnEpochsTests: XCTestCase {
    /// Two members, which roll up and collect early.
    private func twoMembers() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.write(1, "second")
        var retention = RetentionSettings()
        retention.rollUpFanout = 4
        retention.snapshotMinimumBytes = 500
        retention.replacedMilliseconds = 1000
        retention.firstSnapshotChangesPerRow = 0.1
        for index in [0, 1] {
            home.computers[index].replica = try Replica(
                home.replica(index).store, environment: home.environment(index), retention: retention)
        }
        try home.settle()
        return home
    }

    /// The numbers of the epochs that a device can open.
    private func numbers(_ home: SealedHome, _ index: Int) throws -> [UInt32] {
        let membership = try XCTUnwrap(try home.replica(index).membership())
        return membership.keyring.all.map { membership.graph.number(of: $0.id) }.sorted()
    }

    /// The number of the oldest epoch that a device's head tells.
    private func oldest(_ home: SealedHome, _ index: Int) throws -> UInt32? {
        try home.replica(index).openContainer().readHead(of: home.device(index))?.sealed?.oldestEpoch
    }

    /// Lets the devices live until nothing is sealed under an epoch below a number.
    private func outlive(_ home: SealedHome, _ number: UInt32, _ rows: inout [String]) throws {
        for round in 0..<400 {
            if try oldest(home, 0) == number, try oldest(home, 1) == number { return }
            rows.append("life \(number) \(round)")
            try home.write(round % 2, rows[rows.count - 1])
            home.clock.advance(hours: 6)
            for index in [0, 1] { _ = try home.replica(index).sync() }
            if round % 20 == 19 { for index in [0, 1] { _ = try home.replica(index).compact() } }
        }
        XCTFail(
            "files under an old key stay: \(String(describing: try oldest(home, 0))), \(String(describing: try oldest(home, 1)))"
        )
    }

    func testANewcomerGetsNoKeyOfWhatWasGone() throws {
        let home = try twoMembers()
        let archive = home.folder.appendingPathComponent("old.ferry").path
        _ = try home.replica(0).exportSnapshot(to: archive)
        _ = try home.replica(0).rotateKeys()
        var rows = ["first", "second"]
        try outlive(home, 2, &rows)
        let newcomer = try home.invite(by: 1)
        try home.assertAgreement([0, 1, newcomer], rows, members: 3)
        XCTAssertEqual(try numbers(home, newcomer), [2])
        XCTAssertEqual(try numbers(home, 0), [1, 2])
        // A file from before is read by whoever was there, and by the recovery code.
        XCTAssertEqual(home.failure { _ = try home.replica(newcomer).importSnapshot(from: archive) }, .keyMissing)
        XCTAssertNoThrow(try home.replica(1).importSnapshot(from: archive))
        let recovered = home.addComputer()
        try home.join(recovered, home.begin(recovered, .recovery(XCTUnwrap(home.recovery))))
        XCTAssertFalse(try numbers(home, recovered).contains(1))
        try home.assertAgreement([0, 1, newcomer, recovered], rows, members: 4)
    }

    func testANewcomerGetsEachKeyUnderWhichThereAreFiles() throws {
        let home = try twoMembers()
        var rows = ["first", "second"]
        for round in 0..<3 {
            _ = try home.replica(round % 2).rotateKeys()
            rows.append("round \(round)")
            try home.write((round + 1) % 2, rows[rows.count - 1])
            try home.settle()
        }
        let newcomer = try home.invite(by: 0)
        XCTAssertEqual(try numbers(home, newcomer), [1, 2, 3, 4])
        try home.assertAgreement([0, 1, newcomer], rows, members: 3)
    }

    func testADeviceThatComesBackAfterMonthsReadsEverything() throws {
        let home = try twoMembers()
        let third = try home.invite(by: 0)
        try home.write(third, "sent before it was away")
        _ = try home.replica(third).sync()
        try home.write(third, "waits")
        var rows = ["first", "second", "sent before it was away"]
        for number in 2..<5 as Range<UInt32> {
            _ = try home.replica(0).rotateKeys()
            let guest = try home.invite(by: 1)
            _ = try home.replica(0).remove("device\(guest)")
            try outlive(home, UInt32(try XCTUnwrap(home.roster(0).epoch?.number)), &rows)
            XCTAssertGreaterThan(try XCTUnwrap(home.roster(0).epoch?.number), number)
        }
        // The files of the absent device are sealed under the first epoch still: who comes now needs that one.
        let newcomer = try home.invite(by: 1)
        XCTAssertTrue(try numbers(home, newcomer).contains(1))
        rows.append("waits")
        try home.assertAgreement([0, 1, third, newcomer], rows, members: 4)
        let all = try XCTUnwrap(home.roster(0).epoch?.number)
        XCTAssertEqual(try numbers(home, third), Array(1...all))
    }

    func testADeviceOfAnotherSideOfAPartitionGetsEarlierKeysToo() throws {
        let home = try twoMembers()
        let before = try home.allFiles()
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "under the second key")
        _ = try home.replica(0).sync()
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "under the third key")
        _ = try home.replica(0).sync()
        // The other side sees none of that, and lets a third device in.
        let news = try home.allFiles().filter { before[$0.key] != $0.value }
        for path in news.keys { try home.files.removeFile(at: path) }
        for (path, bytes) in before where news[path] != nil { try home.files.write(bytes, toNewFileAt: path) }
        let third = try home.invite(by: 1)
        try home.write(third, "by the third")
        _ = try home.replica(third).sync()
        XCTAssertEqual(try numbers(home, third), [1])
        for (path, bytes) in news {
            _ = try home.files.removeFile(at: path)
            try home.files.write(bytes, toNewFileAt: path)
        }
        try home.assertAgreement(
            [0, 1, third], ["first", "second", "under the second key", "under the third key", "by the third"],
            members: 3)
        XCTAssertEqual(try numbers(home, third), [1, 2, 3])
    }

    func testACopyGetsWhatItNeeds() throws {
        let home = try twoMembers()
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "later")
        try home.settle()
        let copy = home.addComputer()
        home.computers[copy].keys = home.computers[1].keys
        home.computers[copy].host = home.computers[1].host
        try home.replica(1).store.copy(to: home.databasePath(copy))
        home.computers[copy].replica = try Replica(
            Store(path: home.databasePath(copy), clock: home.clock), environment: home.environment(copy))
        try home.assertAgreement([0, 1, copy], ["first", "second", "later"], members: 3)
        XCTAssertEqual(try numbers(home, copy), [1, 2])
    }

    func testASnapshotThatNewcomersCannotOpenCoversNothing() throws {
        let home = try twoMembers()
        let third = try home.invite(by: 0)
        try home.write(third, "by one that goes")
        _ = try home.replica(third).sync()
        _ = try home.replica(0).remove("device\(third)")
        var rows = ["first", "second", "by one that goes"]
        _ = try home.replica(1).rotateKeys()
        try home.settle([0, 1])
        try outlive(home, UInt32(try XCTUnwrap(home.roster(0).epoch?.number)), &rows)
        let newcomer = try home.invite(by: 1)
        try home.assertAgreement([0, 1, newcomer], rows, members: 3)
    }
}
