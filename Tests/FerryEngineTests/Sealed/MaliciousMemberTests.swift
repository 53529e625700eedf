import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import XCTest

@testable import FerryEngine

/// A member, or a thief of its keys, says what is not so. It may hold nobody up, and nothing of what others wrote may be lost.
final class MaliciousMemberTests: XCTestCase {
    /// Four members; the last one is malicious.
    private func fourDevices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        for _ in 0..<3 { try home.invite(by: 0) }
        try home.settle()
        return home
    }

    /// Publishes a record of the malicious member's.
    private func say(_ acts: [MemberAct], _ home: SealedHome) throws {
        _ = try home.replica(3).sync()
        let membership = try home.replica(3).requiredMembership()
        let record = try membership.record(acts, milliseconds: home.clock.milliseconds())
        try home.container.publishRecord(record.bytes, name: RecordName(record.hash), of: home.device(3))
    }

    private func endThatNobodyHas(of device: DeviceID) -> MemberAct {
        .accept(
            device,
            LogEnding(sequence: 1_000_000, time: HybridTime(rawValue: 1), checksum: Checksum(high: 7, low: 7)))
    }

    // MARK: Ends

    func testAnEndThatNobodyHasHoldsNobodyUp() throws {
        let home = try fourDevices()
        let removed = try home.device(2)
        // The second device does not read this before the removal.
        try home.write(2, "late")
        _ = try home.replica(2).sync()
        _ = try home.replica(0).remove("device2")
        try say([endThatNobodyHas(of: removed)], home)
        try home.assertAgreement([0, 1, 3], ["first", "late"], members: 3)
        XCTAssertEqual(try home.roster(1).removed[removed]?.end?.sequence, 1_000_000)
        XCTAssertEqual(try home.replica(1).sync().waiting.map(\.device), [])
        let later = try home.invite(by: 1)
        try home.assertAgreement([0, 1, 3, later], ["first", "late"], members: 4)
        XCTAssertEqual(try home.replica(later).sync().waiting.map(\.device), [])
    }

    func testAnEndThatNobodyHasBeforeSomebodyAcceptedLosesNothing() throws {
        let home = try fourDevices()
        let removed = try home.device(2)
        try home.write(2, "read by one device")
        _ = try home.replica(2).sync()
        _ = try home.replica(1).sync()
        // The malicious member removes the device, which is younger than the founder, by the recovery code that it found.
        _ = try home.replica(3).remove("device2", recovery: home.recovery)
        try say([endThatNobodyHas(of: removed)], home)
        try home.assertAgreement([0, 1, 3], ["first", "read by one device"], members: 3)
        let later = try home.invite(by: 0)
        try home.assertAgreement([0, 1, 3, later], ["first", "read by one device"], members: 4)
    }

    func testWhatWaitedIsSentAgainThoughAnEndThatNobodyHasWasAccepted() throws {
        let home = try fourDevices()
        let removed = try home.device(2)
        try home.write(2, "read")
        try home.settle()
        _ = try home.replica(0).remove("device2")
        try home.write(2, "waits")
        XCTAssertEqual(home.failure { _ = try home.replica(2).sync() }, .notMember)
        try say([endThatNobodyHas(of: removed)], home)
        let enrolment = try home.begin(2, .code(home.replica(1).invite().code))
        _ = try home.replica(1).sync()
        _ = try home.replica(2).enrol(enrolment)
        try home.assertAgreement([0, 1, 2, 3], ["first", "read", "waits"], members: 4)
    }

    // MARK: Epochs

    func testAnEpochThatNobodyCanOpenHoldsNobodyUp() throws {
        let home = try fourDevices()
        let members = try home.roster(0).members.keys.sorted()
        let secret = EpochSecret(mintedFor: try home.container.id, random: SystemRandom())
        let number = try home.roster(0).greatestEpoch + 1
        let making = EpochMaking(
            number: number, epoch: secret.id,
            wraps: try members.map {
                try KeyWrap(
                    receiver: $0, encapsulated: [UInt8](repeating: 7, count: KeyWrap.encapsulatedLength),
                    ciphertext: [UInt8](repeating: 7, count: KeyWrap.ciphertextLength))
            }, ring: try secret.sealRing([], random: SystemRandom()))
        try say([.epoch(making)], home)
        try home.write(0, "second")
        try home.write(1, "third")
        XCTAssertNil(try home.replica(0).sync().held)
        try home.assertAgreement([0, 1, 2, 3], ["first", "second", "third"], members: 4)
        XCTAssertEqual(try home.roster(0).epoch?.number, number + 1)
    }

    func testAnEpochForADeviceThatIsOutHoldsNobodyUp() throws {
        let home = try fourDevices()
        let gone = try home.device(2)
        let keys = try XCTUnwrap(home.roster(0).members[gone]?.keys)
        _ = try home.replica(0).remove("device2")
        try home.settle([0, 1, 3])
        let roster = try home.roster(0)
        let random = SystemRandom()
        let secret = EpochSecret(mintedFor: try home.container.id, random: random)
        let number = roster.greatestEpoch + 1
        var receivers = roster.members.mapValues(\.keys)
        receivers[gone] = keys
        let making = EpochMaking(
            number: number, epoch: secret.id,
            wraps: try receivers.sorted { $0.key < $1.key }.map { device, keys in
                try KeyWrap(secret, for: device, keys, random: random)
            }, ring: try secret.sealRing([], random: random))
        try say([.epoch(making)], home)
        try home.write(0, "second")
        try home.write(1, "third")
        XCTAssertNil(try home.replica(0).sync().held)
        try home.assertAgreement([0, 1, 3], ["first", "second", "third"], members: 3)
        XCTAssertEqual(try home.roster(0).epoch?.number, number + 1)
    }

    /// No malice is needed for that either: a member makes keys while it has not heard of a removal.
    func testTwoEpochsThatAreMadeBesideARemovalHoldNobodyUp() throws {
        let home = try fourDevices()
        let before = try home.allFiles()
        func put(_ content: [UInt8]?, at path: String) throws {
            try home.files.removeFile(at: path)
            if let content { try home.files.write(content, toNewFileAt: path) }
        }
        for _ in 0..<2 { _ = try home.replica(0).rotateKeys() }
        _ = try home.replica(0).sync()
        let after = try home.allFiles()
        for (path, content) in after where before[path] != content { try put(before[path], at: path) }
        _ = try home.replica(1).remove("device3", recovery: home.recovery)
        _ = try home.replica(1).sync()
        for (path, content) in after where before[path] != content { try put(content, at: path) }
        try home.write(0, "second")
        try home.write(1, "third")
        try home.assertAgreement([0, 1, 2], ["first", "second", "third"], members: 3)
        let roster = try home.roster(2)
        XCTAssertEqual(roster.epoch?.number, roster.greatestEpoch)
    }

    /// Nor for that: two members that do not hear of each other make an epoch each.
    func testWhoComesAfterTwoEpochsThatWereMadeAtOnceReadsWhatIsSealedUnderEither() throws {
        let home = try fourDevices()
        let before = try home.allFiles()
        func put(_ content: [UInt8]?, at path: String) throws {
            try home.files.removeFile(at: path)
            if let content { try home.files.write(content, toNewFileAt: path) }
        }
        _ = try home.replica(0).rotateKeys()
        try home.write(0, "under one epoch")
        _ = try home.replica(0).sync()
        let after = try home.allFiles()
        for (path, content) in after where before[path] != content { try put(before[path], at: path) }
        _ = try home.replica(1).rotateKeys()
        try home.write(1, "under the other epoch")
        _ = try home.replica(1).sync()
        for (path, content) in after where before[path] != content { try put(content, at: path) }
        try home.assertAgreement(
            [0, 1, 2, 3], ["first", "under one epoch", "under the other epoch"], members: 4)
        for snapshot in try home.allFiles().keys where snapshot.contains("/snapshots/") { try put(nil, at: snapshot) }
        for host in [0, 1] {
            let later = try home.invite(by: host)
            try home.settle()
            XCTAssertEqual(
                try home.names(later), ["first", "under one epoch", "under the other epoch"], "invited by \(host)")
        }
    }
}
