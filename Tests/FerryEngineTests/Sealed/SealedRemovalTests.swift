import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// Devices leave a sealed container, are removed from it, and come back as others.
final class SealedRemovalTests: XCTestCase {
    /// A copy that has not been used since, of a device that got new keys.
    func testACopyOfADeviceThatGotNewKeysIsLetInAgainAndLacksNothing() throws {
        let home = try SealedHome()
        try home.found()
        let original = try home.invite(by: 0)
        try home.write(original, "before")
        try home.settle()
        let copy = home.addComputer()
        let file = try XCTUnwrap(home.computers[original].keys.load(home.device(original)))
        try home.computers[copy].keys.save(file)
        try home.replica(original).store.copy(to: home.databasePath(copy))
        home.computers[copy].host = home.computers[original].host
        try home.write(original, "after")
        _ = try home.replica(original).renewKeys()
        _ = try home.replica(original).sync()
        _ = try home.replica(0).sync()
        home.computers[copy].replica = try Replica(
            Store(path: home.databasePath(copy), clock: home.clock), environment: home.environment(copy))
        XCTAssertEqual(home.failure { _ = try home.replica(copy).sync() }, .notMember)
        let enrolment = try home.begin(copy, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(copy).enrol(enrolment)
        try home.assertAgreement([0, original, copy], ["after", "before"], members: 3)
    }

    private func threeDevices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.invite(by: 1)
        try home.settle()
        return home
    }

    /// A clone of a device that left has its key, and could let devices in for good.
    func testADeviceThatLeftIsRemovedToo() throws {
        let home = try threeDevices()
        try home.write(2, "before")
        _ = try home.replica(2).sync()
        let copy = home.addComputer()
        let file = try XCTUnwrap(home.computers[2].keys.load(home.device(2)))
        try home.computers[copy].keys.save(file)
        try home.replica(2).store.copy(to: home.databasePath(copy))
        home.computers[copy].host = home.computers[2].host
        home.computers[copy].replica = try Replica(
            Store(path: home.databasePath(copy), clock: home.clock), environment: home.environment(copy))
        let departed = try home.device(2)
        XCTAssertEqual(try home.replica(2).leave().isTold, true)
        _ = try home.replica(0).sync()
        XCTAssertNotNil(try home.replica(0).membershipOfPass()?.roster.left[departed])
        let report = try home.replica(0).remove(departed.description)
        XCTAssertEqual(report.removed.map(\.id), [departed.description])
        XCTAssertEqual(report.staying.count, 2)
        XCTAssertEqual(home.failure { _ = try home.replica(copy).sync() }, .notMember)
        // Nobody removes a device twice, and nobody can remove a stranger.
        XCTAssertEqual(home.failure { _ = try home.replica(0).remove(departed.description) }, .nothingFound)
        try home.assertAgreement([0, 1], ["first", "before"], members: 2)
        let newcomer = try home.invite(by: 1)
        try home.assertAgreement([0, 1, newcomer], ["first", "before"], members: 3)
    }

    func testARemovedDeviceReadsAndWritesNothingMoreAndItsWritesAreKept() throws {
        let home = try threeDevices()
        try home.write(2, "before")
        _ = try home.replica(2).sync()
        let written = try home.replica(2).store.versionVector()[home.device(2)].sequence
        let report = try home.replica(0).remove("device2")
        XCTAssertEqual(report.removed.map(\.name), ["device2"])
        XCTAssertEqual(report.staying.count, 2)
        try home.write(0, "after")
        _ = try home.replica(0).sync()
        try home.write(2, "too late")
        XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember)
        XCTAssertFalse(try home.names(2).contains("after"))
        try home.assertAgreement([0, 1], ["first", "before", "after"], members: 2)
        let end = try XCTUnwrap(home.roster(1).removed[home.device(2)]?.end)
        XCTAssertEqual(end.sequence, written)
    }

    func testWhatARemovedDeviceWroteComesByASnapshot() throws {
        let home = try threeDevices()
        // The second device does not hear of what the third one wrote before the removal.
        try home.write(2, "before")
        _ = try home.replica(2).sync()
        _ = try home.replica(0).remove("device2")
        try home.assertAgreement([0, 1], ["first", "before"], members: 2)
    }

    func testARemovedDeviceIsLetInAgainAndSendsItsChangesAgain() throws {
        let home = try threeDevices()
        try home.write(2, "before")
        _ = try home.replica(2).sync()
        _ = try home.replica(0).remove("device2")
        let former = try home.device(2)
        try home.write(2, "while it was out")
        XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember)
        let enrolment = try home.begin(2, .code(home.replica(1).invite().code))
        XCTAssertEqual(home.failure { _ = try home.replica(2).enrol(enrolment) }, .enrolmentPending)
        _ = try home.replica(1).sync()
        let renewal = try home.replica(2).enrol(enrolment)
        XCTAssertEqual(renewal.formerDevice, former.description)
        XCTAssertNotEqual(try home.device(2), former)
        try home.assertAgreement([0, 1, 2], ["first", "before", "while it was out"], members: 3)
    }

    /// The device was lost, so somebody removed it. Its database comes back from a backup that is older than its last sync, and the
    /// app writes: under numbers that the device had used for other changes.
    func testARemovedDeviceFromABackupSendsItsChangesAndGetsThoseItHadSent() throws {
        for (sent, renews) in [(1, false), (3, false), (0, false), (1, true), (3, true)] {
            let home = try threeDevices()
            let backup = home.databasePath(2) + "-backup"
            try home.replica(2).store.copy(to: backup)
            for number in 0..<sent {
                try home.write(2, "sent \(number)")
                _ = try home.replica(2).sync()
            }
            try home.settle()
            let former = try XCTUnwrap(home.computers[2].keys.load(home.device(2)))
            if renews {
                _ = try home.replica(2).renewKeys()
                try home.settle()
            } else {
                _ = try home.replica(0).remove("device2")
            }
            try home.replica(2).store.close()
            for suffix in ["", "-wal", "-shm"] {
                let path = home.databasePath(2) + suffix
                if FileManager.default.fileExists(atPath: path) { try FileManager.default.removeItem(atPath: path) }
            }
            try FileManager.default.moveItem(atPath: backup, toPath: home.databasePath(2))
            if renews { try home.computers[2].keys.save(former) }
            home.computers[2].replica = try Replica(
                Store(path: home.databasePath(2), clock: home.clock), environment: home.environment(2))
            for number in 0..<2 {
                try home.write(2, "new \(number)")
                XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember)
            }
            let enrolment = try home.begin(2, .code(home.replica(0).invite().code))
            _ = try home.replica(0).sync()
            _ = try home.replica(2).enrol(enrolment)
            let rows = (0..<sent).map { "sent \($0)" } + ["first", "new 0", "new 1"]
            try home.assertAgreement([0, 1, 2], rows, members: renews ? 4 : 3)
        }
    }

    func testAYoungerDeviceDoesNotRemoveAnOlderOne() throws {
        let home = try threeDevices()
        XCTAssertEqual(home.failure { _ = try home.replica(1).remove("device0") }, .removalRefused)
        XCTAssertEqual(home.failure { _ = try home.replica(1).remove("device1") }, .invalidArgument)
        XCTAssertEqual(home.failure { _ = try home.replica(1).remove("toaster") }, .nothingFound)
        let wrong = SecretCode(minted: .recovery, random: SystemRandom())
        XCTAssertEqual(home.failure { _ = try home.replica(1).remove("device0", recovery: wrong) }, .codeRefused)
        try home.assertAgreement([0, 1, 2], ["first"], members: 3)
        let report = try home.replica(1).remove("device0", recovery: home.recovery)
        XCTAssertEqual(report.admittedByThem.map(\.name), ["device1"])
        XCTAssertEqual(home.failure { _ = try home.replica(0).sync() }, .notMember)
        try home.assertAgreement([1, 2], ["first"], members: 2)
    }

    func testADeviceThatLeavesIsReadToItsEnd() throws {
        let home = try threeDevices()
        try home.write(2, "last words")
        _ = try home.replica(2).sync()
        let device = try home.device(2)
        let report = try home.replica(2).leave()
        XCTAssertEqual(report.isTold, true)
        XCTAssertNil(try home.computers[2].keys.load(device))
        home.computers[2].replica = nil
        try home.assertAgreement([0, 1], ["first", "last words"], members: 2)
        XCTAssertNotNil(try home.roster(0).left[device])
        XCTAssertEqual(try lastSeen(home, device), [home.clock.milliseconds(), home.clock.milliseconds()])
        XCTAssertGreaterThan(try XCTUnwrap(home.roster(0).epoch?.number), 1)
    }

    func testLeavingWhileTheFolderCannotBeWrittenForgetsTheKeys() throws {
        let home = try threeDevices()
        let device = try home.device(2)
        home.files.setRefusesWrites(true)
        XCTAssertEqual(try home.replica(2).leave().isTold, false)
        XCTAssertNil(try home.computers[2].keys.load(device))
        home.files.setRefusesWrites(false)
        home.computers[2].replica = nil
        try home.assertAgreement([0, 1], ["first"], members: 3)
        _ = try home.replica(0).remove("device2")
        try home.assertAgreement([0, 1], ["first"], members: 2)
    }

    // MARK: Copies

    /// Copies a database to another computer, or to another place on the same one.
    private func copy(_ home: SealedHome, _ index: Int, sharingKeys: Bool) throws -> Int {
        let copy = home.addComputer()
        if sharingKeys {
            home.computers[copy].keys = home.computers[index].keys
            home.computers[copy].host = home.computers[index].host
        }
        try home.replica(index).store.copy(to: home.databasePath(copy))
        home.computers[copy].replica = try Replica(
            Store(path: home.databasePath(copy), clock: home.clock), environment: home.environment(copy))
        return copy
    }

    func testACopyOnTheSameComputerGoesOnByItself() throws {
        let home = try threeDevices()
        let copy = try copy(home, 1, sharingKeys: true)
        try home.write(copy, "by the copy")
        XCTAssertEqual(try home.replica(copy).sync().renewed?.reason, .copied)
        try home.write(1, "by the original")
        let told = try XCTUnwrap(home.replica(0).sync().copies)
        XCTAssertEqual(told.map(\.id), [try home.device(copy).description])
        XCTAssertEqual(told.map(\.of), ["device1"])
        XCTAssertNil(try home.replica(0).sync().copies, "a copy is told once")
        XCTAssertNil(try home.replica(copy).sync().copies, "the copy itself is told as renewed")
        try home.assertAgreement([0, 1, 2, copy], ["first", "by the copy", "by the original"], members: 4)
        let member = try XCTUnwrap(home.roster(0).members[home.device(copy)])
        XCTAssertEqual(member.way, .copy)
        XCTAssertEqual(member.admittedBy, try home.device(1))
        // Both go at once.
        let report = try home.replica(0).remove(String(home.device(1).hex.prefix(12)))
        XCTAssertEqual(
            Set(report.removed.map(\.id)), [try home.device(1).description, try home.device(copy).description])
        XCTAssertEqual(home.failure { _ = try home.replica(copy).sync() }, .notMember)
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .notMember)
    }

    func testARestoredBackupGoesOnByItself() throws {
        let home = try threeDevices()
        let backup = home.folder.appendingPathComponent("backup.sqlite").path
        try home.replica(1).store.copy(to: backup)
        try home.write(1, "after the backup")
        _ = try home.replica(1).sync()
        try home.replica(1).store.close()
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: home.databasePath(1) + suffix)  // not all are there
        }
        try FileManager.default.moveItem(atPath: backup, toPath: home.databasePath(1))
        home.computers[1].replica = try Replica(
            Store(path: home.databasePath(1), clock: home.clock), environment: home.environment(1))
        XCTAssertEqual(try home.replica(1).sync().renewed?.reason, .restored)
        try home.assertAgreement([0, 1, 2], ["first", "after the backup"], members: 4)
    }

    func testADatabaseWithoutItsKeyWaitsAndIsEnrolled() throws {
        let home = try threeDevices()
        let copy = try copy(home, 1, sharingKeys: false)
        try home.write(copy, "without a key")
        XCTAssertEqual(home.failure { _ = try home.replica(copy).sync() }, .keyMissing)
        XCTAssertEqual(try home.names(copy), ["first", "without a key"])
        let enrolment = try home.begin(copy, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(copy).enrol(enrolment)
        try home.write(1, "by the original")
        try home.assertAgreement(
            [0, 1, 2, copy], ["first", "without a key", "by the original"], members: 4)
    }

    /// Two computers have one ID, until one of them leaves. The other one is out as well, and comes back.
    func testWhatAComputerWritesAfterItsCloneLeftIsSentWhenItComesBack() throws {
        let home = try threeDevices()
        let clone = try addClone(of: 1, home)
        // The record of the clone is late at the other computer.
        let before = try home.allFiles()
        XCTAssertEqual(try home.replica(clone).leave().isTold, true)
        let told = try home.allFiles().filter { before[$0.key] == nil }
        for path in told.keys { _ = try home.files.removeFile(at: path) }
        try home.write(1, "after the clone left")
        _ = try home.replica(1).sync()
        for (path, bytes) in told { try home.files.write(bytes, toNewFileAt: path) }
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .notMember)
        let enrolment = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(1).enrol(enrolment)
        try home.assertAgreement([0, 1, 2], ["first", "after the clone left"], members: 3)
    }

    /// Two computers wrote under one ID, and the one that left is the one that others cannot read on. Nobody comes back to send either
    /// branch again.
    func testBothBranchesOfADeviceThatLeftAreMerged() throws {
        let home = try threeDevices()
        let device = try home.device(1)
        let clone = try addClone(of: 1, home)
        let before = try home.allFiles()
        try home.write(1, "by the original")
        _ = try home.replica(1).sync()
        try home.settle([0])
        let published = try home.allFiles().filter { before[$0.key] != $0.value && $0.key.contains(device.hex) }
        for path in published.keys { _ = try home.files.removeFile(at: path) }
        for (path, bytes) in before where published[path] != nil { try home.files.write(bytes, toNewFileAt: path) }
        for name in ["by the clone", "by the clone again"] {
            try home.write(clone, name)
            _ = try home.replica(clone).sync()
        }
        XCTAssertEqual(try home.device(clone), device)
        XCTAssertEqual(try home.replica(clone).leave().isTold, true)
        let present = try home.allFiles()
        for (path, bytes) in published where present[path] == nil { try home.files.write(bytes, toNewFileAt: path) }
        for index in [1, clone] { home.computers[index].replica = nil }
        try home.assertAgreement(
            [0, 2], ["first", "by the original", "by the clone", "by the clone again"], members: 2)
        XCTAssertEqual(try home.replica(0).sync().waiting, [])
    }

    /// Adds a computer with a copy of another's database, keys and disk.
    private func addClone(of original: Int, _ home: SealedHome) throws -> Int {
        let device = try home.device(original)
        let clone = home.addComputer()
        home.computers[clone].host = home.computers[original].host
        home.computers[clone].host.original = home.databasePath(original)
        try home.computers[clone].keys.save(XCTUnwrap(home.computers[original].keys.load(device)))
        try home.replica(original).store.copy(to: home.databasePath(clone))
        home.computers[clone].replica = try Replica(
            Store(path: home.databasePath(clone), clock: home.clock), environment: home.environment(clone))
        XCTAssertEqual(try home.device(clone), device)
        return clone
    }

    // MARK: What is told

    /// When a device was last heard of, by the list of devices and by the status.
    private func lastSeen(_ home: SealedHome, _ device: DeviceID) throws -> [Int64?] {
        let id = device.description
        return try [
            home.replica(0).devices().devices.first { $0.id == id }?.lastSeenMilliseconds,
            home.replica(0).status().devices.first { $0.id == id }?.lastSeenMilliseconds,
        ]
    }

    func testADeviceThatIsOutWasHeardOfWhenItWas() throws {
        let home = try threeDevices()
        let seen = home.clock.milliseconds()
        home.clock.advance(hours: 1)
        _ = try home.replica(0).remove("device2")
        _ = try home.replica(0).sync()
        XCTAssertEqual(try lastSeen(home, home.device(2)), [seen, seen])
    }

    func testTheDoctorOfADeviceThatIsOutSaysThatAlone() throws {
        let home = try threeDevices()
        try home.write(2, "waits")
        _ = try home.replica(0).remove("device2")
        try home.write(1, "under a new key")
        try home.settle([0, 1])
        for hasSynced in [false, true] {
            if hasSynced { XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember) }
            for isRepairing in [false, true] {
                let findings = try home.replica(2).examine(isRepairing: isRepairing).findings
                XCTAssertEqual(findings.map(\.subject), ["database"], "\(findings)")
                XCTAssertEqual(findings.map(\.severity), [.fault])
                XCTAssertTrue(findings[0].problem.contains("was removed by device0"), findings[0].problem)
                XCTAssertTrue(findings[0].advice.contains("ferry enrol"), findings[0].advice)
                XCTAssertTrue(findings[0].advice.contains("ferry leave"), findings[0].advice)
            }
        }
        XCTAssertEqual(try home.names(2), ["first", "waits"])
    }

    func testAMissingKeyIsToldWithThePlaceWhereItWasLookedFor() throws {
        let home = try threeDevices()
        let elsewhere = FileKeyStore(directory: home.folder.appendingPathComponent("elsewhere").path)
        home.computers[1].keys = elsewhere
        try home.reopen(1)
        XCTAssertThrowsError(try home.replica(1).sync()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .keyMissing)
            XCTAssertTrue("\(error)".contains(elsewhere.directory), "\(error)")
        }
        let findings = try home.replica(1).examine().findings
        XCTAssertTrue(findings.contains { $0.problem.contains(elsewhere.directory) }, "\(findings)")
    }

    func testOnlyDevicesThatTookPartAreCountedWhenAMembershipIsFoundedAnew() throws {
        let home = try threeDevices()
        for index in 0...1 {
            _ = try home.replica(index).renewKeys()
            try home.settle()
        }
        _ = try home.replica(0).remove("device2", recovery: home.recovery)
        try home.settle([0, 1])
        let report = try home.seal(0, anew: true)
        XCTAssertGreaterThan(report.accepted.count, 2)
        XCTAssertEqual(report.others, 1)
    }

    // MARK: Keys

    func testADeviceGetsNewKeysAndTheFormerOnesAreRemoved() throws {
        let home = try threeDevices()
        let former = try home.device(1)
        let renewal = try home.replica(1).renewKeys()
        XCTAssertEqual(renewal.reason, .keys)
        XCTAssertNil(try home.computers[1].keys.load(former))
        XCTAssertNotNil(try home.roster(1).removed[former])
        try home.write(1, "with new keys")
        try home.assertAgreement([0, 1, 2], ["first", "with new keys"], members: 3)
    }

    /// The process dies once the new keys are in use: the keys in danger must not stay a member.
    func testAnInterruptedRenewalOfKeysGoesOn() throws {
        let home = try threeDevices()
        let former = try home.device(1)
        _ = try home.replica(1).store.note(renewedKeys: former)
        _ = try home.replica(1).lock.withLock {
            try home.replica(1).becomeNewDevice(.keys, home.replica(1).openContainer())
        }
        let present = try home.device(1)
        XCTAssertNotEqual(present, former)
        try home.settle()
        XCTAssertNil(try home.roster(0).removed[former], "it died before")
        let renewal = try home.replica(1).renewKeys()
        XCTAssertEqual(renewal.formerDevice, former.description)
        XCTAssertEqual(try home.device(1), present)
        try home.assertAgreement([0, 1, 2], ["first"], members: 3)
        XCTAssertNotNil(try home.roster(0).removed[former])
        XCTAssertNil(try home.computers[1].keys.load(former))
        XCTAssertNil(try home.replica(1).store.renewedKeys())
        // The next renewal is another one.
        _ = try home.replica(1).renewKeys()
        try home.assertAgreement([0, 1, 2], ["first"], members: 3)
        XCTAssertNotNil(try home.roster(0).removed[present])
    }

    /// Who founds the membership anew has met neither ID of a device that got new keys: its folder was late.
    func testADeviceWithTwoUnknownIdentitiesSendsAllItsWritesAgain() throws {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "founder")
        let index = try home.invite(by: 0)
        let first = try home.device(index)
        try home.write(index, "first keys")
        _ = try home.replica(index).sync()
        _ = try home.replica(index).renewKeys()
        let identities = try [first.hex, home.device(index).hex]
        let late = try home.allFiles().filter { path, _ in identities.contains { path.contains("/" + $0 + "/") } }
        XCTAssertFalse(late.isEmpty)
        for path in late.keys { try home.files.removeFile(at: path) }
        _ = try home.seal(0, anew: true)
        for (path, bytes) in late { try home.files.write(bytes, toNewFileAt: path) }
        XCTAssertEqual(try home.names(0), ["founder"])
        let enrolment = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        XCTAssertEqual(try home.replica(index).enrol(enrolment).sentAgain, 1)
        try home.assertAgreement([0, index], ["founder", "first keys"], members: 2)
    }

    func testAKeyStoreThatSawMoreHoldsAnOldFolderBack() throws {
        let home = try threeDevices()
        let device = try home.device(1)
        var file = try XCTUnwrap(home.computers[1].keys.load(device))
        file.highestEpoch = 9
        try home.computers[1].keys.save(file)
        try home.reopen(1)
        try home.write(1, "held back")
        XCTAssertNotNil(try home.replica(1).sync().held)
        _ = try home.replica(0).sync()
        XCTAssertEqual(try home.names(0), ["first"])
    }
}
