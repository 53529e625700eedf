import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import XCTest

/// The rules of Docs/Sealing.md, one story each.
final class RosterStoryTests: XCTestCase {
    private let devices = TestKeys.devices
    private var graph = MemberGraph(genesis: .none, container: TestKeys.container)
    private var first: MemberRecord!

    override func setUpWithError() throws {
        first = try MemberRecord.first(by: devices[0], recovery: TestKeys.recovery, milliseconds: 1)
        graph = MemberGraph(genesis: first.hash, container: TestKeys.container)
        try graph.insert(first)
    }

    /// What a device says after some records.
    private func record(_ author: Int?, after follows: [MemberRecord], _ acts: MemberAct...) throws -> MemberRecord {
        let hashes = follows.map(\.hash)
        guard let author else {
            return try MemberRecord(
                byRecovery: TestKeys.recovery, milliseconds: 5, genesis: first.hash, follows: hashes, acts: acts)
        }
        return try MemberRecord(
            by: devices[author], milliseconds: 5, genesis: first.hash, follows: hashes, acts: acts)
    }

    private func insert(_ records: MemberRecord...) throws {
        for record in records { try graph.insert(record) }
    }

    private var members: [Int] {
        let roster = Roster(graph)
        return devices.indices.filter { roster.members[devices[$0].device] != nil }
    }

    private func admit(_ device: Int, _ way: Admission.Way = .code) -> MemberAct {
        TestKeys.admit(way, devices[device])
    }
    private func remove(_ device: Int) -> MemberAct { .remove(devices[device].device) }

    func testTheFounderIsAMemberAndLetsOthersIn() throws {
        XCTAssertEqual(members, [0])
        let second = try record(0, after: [first], admit(1))
        try insert(second, try record(1, after: [second], admit(2)))
        XCTAssertEqual(members, [0, 1, 2])
        let roster = Roster(graph)
        XCTAssertNil(roster.members[devices[0].device]?.way)
        XCTAssertEqual(roster.members[devices[2].device]?.admittedBy, devices[1].device)
        XCTAssertEqual(roster.members[devices[2].device]?.way, .code)
    }

    func testWhoWasLetInByNobodyCannotSayAnything() throws {
        XCTAssertEqual(try graph.insert(try record(5, after: [first], admit(6))), .refused)
        XCTAssertEqual(members, [0])
    }

    func testASignatureThatIsAnothersIsRefused() throws {
        let second = try record(0, after: [first], admit(1))
        var bytes = second.bytes
        bytes[bytes.count - 5] ^= 1
        let forged = try MemberRecord(decoding: bytes, container: TestKeys.container)
        XCTAssertEqual(try graph.insert(forged), .refused)
        XCTAssertEqual(try graph.insert(second), .counts)
        XCTAssertEqual(try graph.insert(second), .known)
    }

    func testARecordWaitsForWhatItFollows() throws {
        let second = try record(0, after: [first], admit(1))
        let third = try record(1, after: [second], admit(2))
        let fourth = try record(2, after: [second, third], admit(3))
        XCTAssertEqual(try graph.insert(fourth), .waits)
        XCTAssertEqual(try graph.insert(third), .waits)
        XCTAssertEqual(graph.missing, [second.hash])
        XCTAssertEqual(try graph.insert(second), .counts)
        XCTAssertEqual(members, [0, 1, 2, 3])
        XCTAssertEqual(graph.missing, [])
        XCTAssertEqual(graph.heads, [fourth.hash])
    }

    func testAnOlderDeviceRemovesAYoungerOneAndNotTheReverse() throws {
        let second = try record(0, after: [first], admit(1))
        let third = try record(1, after: [second], admit(2))
        try insert(second, third)
        XCTAssertTrue(graph.mayRemove(devices[1].device, devices[2].device))
        XCTAssertFalse(graph.mayRemove(devices[2].device, devices[1].device))
        try insert(try record(2, after: [third], remove(1)))
        XCTAssertEqual(members, [0, 1, 2])
        try insert(try record(1, after: [third], remove(2)))
        XCTAssertEqual(members, [0, 1])
        XCTAssertEqual(Roster(graph).removed[devices[2].device]?.removedBy, devices[1].device)
    }

    func testTwoDevicesThatWereLetInOnTwoSidesRemoveEachOtherNot() throws {
        let (left, right) = (try record(0, after: [first], admit(1)), try record(0, after: [first], admit(2)))
        try insert(left, right)
        XCTAssertFalse(graph.mayRemove(devices[1].device, devices[2].device))
        XCTAssertFalse(graph.mayRemove(devices[2].device, devices[1].device))
        try insert(try record(1, after: [left, right], remove(2)))
        XCTAssertEqual(members, [0, 1, 2])
    }

    func testTheRecoveryKeyRemovesAnybodyAndLetsIn() throws {
        try insert(try record(nil, after: [first], remove(0), admit(1, .recovery)))
        XCTAssertEqual(members, [1])
        XCTAssertNil(Roster(graph).members[devices[1].device]?.admittedBy)
    }

    func testNobodyReturnsUnderAnID() throws {
        let second = try record(0, after: [first], admit(1))
        let third = try record(0, after: [second], remove(1))
        try insert(second, third, try record(0, after: [third], admit(1)))
        XCTAssertEqual(members, [0])
    }

    func testAThiefThatDatesRecordsBackBringsNobodyIn() throws {
        let second = try record(0, after: [first], admit(1))
        let removal = try record(0, after: [second], remove(1))
        try insert(second, removal)
        // The thief pretends not to know of the removal.
        let dated = try record(1, after: [second], admit(2))
        let further = try record(2, after: [dated], admit(3), remove(0))
        try insert(dated, further)
        XCTAssertEqual(members, [0])
        XCTAssertNotNil(Roster(graph).removed[devices[2].device])
        XCTAssertEqual(try graph.insert(try record(1, after: [removal], admit(4))), .refused)
    }

    func testAThiefThatDatesARemovalBackReachesYoungerDevicesOnce() throws {
        let second = try record(0, after: [first], admit(1))
        let third = try record(1, after: [second], admit(2))
        let removal = try record(0, after: [third], remove(1))
        try insert(second, third, removal, try record(1, after: [third], remove(2)))
        XCTAssertEqual(members, [0])
        let again = try record(0, after: [removal], admit(4))
        try insert(again, try record(1, after: [third], remove(4)), try record(1, after: [second], admit(4), remove(0)))
        XCTAssertEqual(members, [0, 4])
    }

    /// A limit that Docs/Sealing.md states: in a past of its choice a thief lets somebody in who came later, and is older there.
    func testAThiefThatLetsSomebodyInOnceMoreInAFormerPastReachesWhoCameLater() throws {
        let second = try record(0, after: [first], admit(1))
        let removal = try record(0, after: [second], remove(1))
        let later = try record(0, after: [removal], admit(2))
        try insert(second, removal, later)
        let again = try record(1, after: [second], admit(2, .words))
        try insert(again)
        XCTAssertEqual(members, [0, 2])
        try insert(try record(1, after: [again], remove(2)))
        XCTAssertEqual(members, [0])
        // Who was there when the thief came in is known to each of the thief's records.
        let older = try record(1, after: [second], admit(0, .words))
        try insert(older, try record(1, after: [older], remove(0)))
        XCTAssertEqual(members, [0])
    }

    /// The same limit for a copy: its original was there before the thief, and the copy was not.
    func testAThiefReachesACopyOfAnOlderDeviceThatWasMadeAfterTheThiefCameIn() throws {
        let second = try record(0, after: [first], admit(1))
        let copy = try record(0, after: [second], admit(2, .copy))
        let again = try record(1, after: [second], admit(2, .words))
        try insert(second, copy, again)
        XCTAssertFalse(graph.mayRemove(devices[1].device, devices[2].device))
        try insert(try record(1, after: [copy, again], remove(2)))
        XCTAssertEqual(members, [0, 1, 2], "who tells that it knows the copy knows its age")
        try insert(try record(1, after: [again], remove(2)))
        XCTAssertEqual(members, [0, 1])
    }

    func testWhoeverFindsTheKeysOfADeviceThatLeftBringsNobodyIn() throws {
        let second = try record(0, after: [first], admit(1))
        let leaving = try record(1, after: [second], .leave(TestKeys.end(9)))
        try insert(second, leaving, try record(1, after: [second], admit(2)))
        XCTAssertEqual(members, [0])
        XCTAssertEqual(Roster(graph).left[devices[1].device]?.end, TestKeys.end(9))
        XCTAssertTrue(Roster(graph).isReadable(devices[1].device))
        XCTAssertFalse(Roster(graph).isReadable(devices[2].device))
    }

    func testACopyIsAsOldAsItsOriginalAndEitherRemovesTheOther() throws {
        let second = try record(0, after: [first], admit(1))
        let copy = try record(1, after: [second], admit(2, .copy))
        let younger = try record(0, after: [copy], admit(3))
        try insert(second, copy, younger)
        XCTAssertTrue(graph.mayRemove(devices[1].device, devices[2].device))
        XCTAssertTrue(graph.mayRemove(devices[2].device, devices[1].device))
        XCTAssertTrue(graph.mayRemove(devices[2].device, devices[3].device))
        // Both at once: both go.
        try insert(try record(1, after: [younger], remove(2)), try record(2, after: [younger], remove(1)))
        XCTAssertEqual(members, [0, 3])
    }

    func testAStolenCopyDoesNotEscapeItsOriginalByBeingLetInAgain() throws {
        let second = try record(0, after: [first], admit(1))
        let copy = try record(1, after: [second], admit(2, .copy))
        let accomplice = try record(2, after: [copy], admit(3))
        let again = try record(3, after: [accomplice], admit(2, .words))
        try insert(second, copy, accomplice, again)
        XCTAssertTrue(graph.mayRemove(devices[1].device, devices[2].device))
        try insert(try record(1, after: [again], remove(2)))
        XCTAssertEqual(members, [0, 1, 3])
    }

    /// A limit that Docs/Sealing.md states: who was let in beside the original raises a copy beside it.
    func testAnAccompliceThatIsNotYoungerHelpsAStolenCopyToEscapeItsOriginalAndNotAnOlderDevice() throws {
        let (left, right) = (try record(0, after: [first], admit(1)), try record(0, after: [first], admit(3)))
        let copy = try record(1, after: [left], admit(2, .copy))
        let again = try record(3, after: [right], admit(2, .words))
        try insert(left, right, copy, again)
        XCTAssertFalse(graph.mayRemove(devices[1].device, devices[2].device))
        XCTAssertTrue(graph.mayRemove(devices[0].device, devices[2].device))
        // The same records, and the copy is the liar: a device that calls another its copy cannot remove it.
        XCTAssertFalse(graph.mayRemove(devices[3].device, devices[1].device))
        let lie = try record(3, after: [right], admit(1, .copy))
        try insert(lie, try record(3, after: [left, lie], remove(1)))
        XCTAssertEqual(members, [0, 1, 2, 3])
    }

    func testADeviceThatIsOutRaisesNobodyByACopyThatIsDatedBack() throws {
        let second = try record(0, after: [first], admit(1))
        let third = try record(0, after: [second], admit(2))
        let accomplice = try record(0, after: [third], admit(3))
        let removal = try record(0, after: [accomplice], remove(1))
        let raised = try record(1, after: [second], admit(3, .copy))
        let strike = try record(3, after: [removal, raised], remove(2))
        let all = [second, third, accomplice, removal, raised, strike]
        for record in all { try insert(record) }
        XCTAssertEqual(members, [0, 2, 3])
        let plain = PlainRoster(genesis: first.hash, fault: .lateCopies)
        for record in [first] + all { plain.insert(try XCTUnwrap(record)) }
        XCTAssertFalse(plain.result().members.contains(devices[2].device), "without the rule it is thrown out")
    }

    func testAnEndIsAcceptedOfWhoKnowsThatTheDeviceIsOut() throws {
        let second = try record(0, after: [first], admit(1), admit(2))
        let early = try record(2, after: [second], .accept(devices[1].device, TestKeys.end(99)))
        let removal = try record(0, after: [early], remove(1))
        try insert(second, early, removal)
        XCTAssertEqual(Roster(graph).removed[devices[1].device]?.end, .none)
        let accepted = try record(2, after: [removal], .accept(devices[1].device, TestKeys.end(5)))
        try insert(accepted, try record(0, after: [removal], .accept(devices[1].device, TestKeys.end(4))))
        XCTAssertEqual(Roster(graph).removed[devices[1].device]?.end, TestKeys.end(5))
    }

    func testTheLogOfADeviceThatAThiefBroughtInHasAnEndToo() throws {
        let second = try record(0, after: [first], admit(1))
        let removal = try record(0, after: [second], remove(1))
        let dated = try record(1, after: [second], admit(2))
        try insert(second, removal, dated)
        try insert(try record(0, after: [removal, dated], .accept(devices[2].device, TestKeys.end(3))))
        XCTAssertEqual(Roster(graph).removed[devices[2].device]?.end, TestKeys.end(3))
        XCTAssertNil(Roster(graph).removed[devices[2].device]?.removedBy)
    }

    func testTheLogOfACopyWhoseOriginalWasRemovedUnawaresHasAnEndToo() throws {
        let second = try record(0, after: [first], admit(1))
        let removal = try record(0, after: [second], remove(1))
        // Whoever removed the original did not know of its copy. The copy's log may have been read before.
        let copy = try record(1, after: [second], admit(2, .copy))
        try insert(second, removal, copy)
        XCTAssertEqual(members, [0])
        try insert(try record(0, after: [removal, copy], .accept(devices[2].device, TestKeys.end(3))))
        XCTAssertEqual(Roster(graph).removed[devices[2].device]?.end, TestKeys.end(3))
    }

    func testTheRecoveryKeyAloneRemovesADeviceWithoutASeat() throws {
        let second = try record(0, after: [first], admit(1))
        let removal = try record(0, after: [second], remove(1))
        let copy = try record(1, after: [second], admit(2, .copy))
        try insert(second, removal, copy)
        XCTAssertFalse(graph.mayRemove(devices[0].device, devices[2].device), "nobody is older than who has no seat")
        try insert(try record(0, after: [removal, copy], remove(2)))
        XCTAssertNil(Roster(graph).removed[devices[2].device]?.removedMilliseconds)
        // For good: an admission of the device that comes to light later lets it in no more.
        let seat = try record(0, after: [second], admit(2, .words))
        try insert(try record(nil, after: [removal, copy], remove(2)), seat)
        XCTAssertEqual(members, [0])
        XCTAssertNotNil(Roster(graph).removed[devices[2].device]?.removedMilliseconds)
    }

    func testFormerLogsCountToTheirEndsAndFurtherWhereSomebodyHasMore() throws {
        let former = DeviceID(high: 7, low: 7)
        let first = try MemberRecord.first(
            by: devices[0], recovery: nil, formerLogs: [.init(device: former, end: TestKeys.end(10))], milliseconds: 1)
        var graph = MemberGraph(genesis: first.hash, container: TestKeys.container)
        try graph.insert(first)
        XCTAssertEqual(Roster(graph).removed[former]?.end, TestKeys.end(10))
        let accept = try MemberRecord(
            by: devices[0], milliseconds: 2, genesis: first.hash, follows: [first.hash],
            acts: [.accept(former, TestKeys.end(12))])
        try graph.insert(accept)
        XCTAssertEqual(Roster(graph).removed[former]?.end, TestKeys.end(12))
        XCTAssertNil(Roster(graph).recovery)
    }

    func testARecordOfAnotherMembershipIsRefused() throws {
        let other = try MemberRecord.first(by: devices[3], recovery: nil, milliseconds: 1)
        XCTAssertEqual(try graph.insert(other), .refused)
        let follower = try MemberRecord(
            by: devices[3], milliseconds: 2, genesis: other.hash, follows: [other.hash], acts: [admit(4)])
        XCTAssertEqual(try graph.insert(follower), .refused)
    }

    // MARK: Epochs

    private func making(_ number: UInt32, _ name: UInt64, for receivers: [Int]) throws -> MemberAct {
        .epoch(try TestKeys.making(number, EpochID(high: 0, low: name), for: receivers.map { devices[$0].device }))
    }

    func testAnEpochIsCurrentWhileMembersAloneHaveIt() throws {
        let second = try record(0, after: [first], admit(1), admit(2))
        let made = try record(0, after: [second], try making(1, 1, for: [0, 1]))
        try insert(second, made)
        XCTAssertEqual(Roster(graph).epoch?.id, EpochID(high: 0, low: 1))
        XCTAssertEqual(Roster(graph).epoch?.lacking, [devices[2].device])
        let removal = try record(0, after: [made], remove(1))
        try insert(removal)
        XCTAssertNil(Roster(graph).epoch)
        XCTAssertEqual(Roster(graph).greatestEpoch, 1)
        try insert(try record(0, after: [removal], try making(2, 2, for: [0, 2])))
        XCTAssertEqual(Roster(graph).epoch?.number, 2)
        XCTAssertEqual(Roster(graph).epoch?.lacking, [])
    }

    func testALaterEpochExposesTheEarlierOneThatItsRingMayHold() throws {
        let second = try record(0, after: [first], admit(1))
        let early = try record(0, after: [second], try making(1, 1, for: [0]))
        let late = try record(0, after: [early], try making(2, 2, for: [0, 1]))
        try insert(second, early, late, try record(0, after: [late], remove(1)))
        XCTAssertNil(Roster(graph).epoch)
    }

    func testNumbersOfEpochsGoUpByOne() throws {
        try insert(try record(0, after: [first], try making(.max, 1, for: [0])))
        XCTAssertNil(Roster(graph).epoch)
        XCTAssertEqual(Roster(graph).greatestEpoch, 0)
        let made = try record(0, after: [first], try making(1, 2, for: [0]))
        try insert(made, try record(0, after: [made], try making(2, 2, for: [0])))
        XCTAssertEqual(Roster(graph).greatestEpoch, 1, "an epoch is made once")
    }

    func testEpochsThatWereMadeAtOnceAreHandedOnToWhoComesLater() throws {
        let second = try record(0, after: [first], admit(1))
        let (left, right) = (
            try record(0, after: [second], try making(1, 1, for: [0, 1])),
            try record(1, after: [second], try making(1, 2, for: [0, 1]))
        )
        let guest = try record(
            0, after: [left, right], admit(2), .grant(EpochID(high: 0, low: 2), [TestKeys.wrap(devices[2].device)]))
        try insert(second, left, right, guest)
        let (beaten, current) = (EpochID(high: 0, low: 1), EpochID(high: 0, low: 2))
        XCTAssertEqual(Roster(graph).epoch?.id, current)
        XCTAssertEqual(Roster(graph).epoch?.lacking, [])
        let ids = devices.prefix(3).map(\.device)
        XCTAssertEqual(graph.epochsBeside(current, lackedBy: ids), [beaten: [devices[2].device]])
        var situation = MemberDuties.Situation(device: devices[0].device, roster: Roster(graph))
        situation.lackingOthers = graph.epochsBeside(current, lackedBy: ids)
        situation.knownEpochs = [current]
        XCTAssertEqual(MemberDuties(situation).due, [])
        situation.knownEpochs = [beaten, current]
        XCTAssertEqual(MemberDuties(situation).due, [.grant(beaten, [devices[2].device])])
        try insert(try record(0, after: [guest], .grant(beaten, [TestKeys.wrap(devices[2].device)])))
        XCTAssertEqual(graph.epochsBeside(current, lackedBy: ids), [:])
        // A later one has both in its ring.
        try insert(try record(1, after: [guest], try making(2, 3, for: [0, 1, 2])))
        XCTAssertEqual(graph.epochsBeside(EpochID(high: 0, low: 3), lackedBy: ids), [:])
    }

    func testWhoeverCannotOpenTheEpochThatWasWrappedForItMakesAnother() throws {
        let second = try record(0, after: [first], admit(1), admit(2), try making(1, 1, for: [0, 1]))
        try insert(second)
        var situation = MemberDuties.Situation(device: devices[1].device, roster: Roster(graph))
        XCTAssertEqual(MemberDuties(situation).due, [])
        situation.hasSomethingToPublish = true
        XCTAssertEqual(MemberDuties(situation).due, [.rotate])
        // For this one nobody has wrapped it yet: somebody will.
        situation.device = devices[2].device
        XCTAssertEqual(MemberDuties(situation).due, [])
        situation.knownEpochs = [EpochID(high: 0, low: 1)]
        XCTAssertEqual(MemberDuties(situation).due, [])
    }

    func testAnEpochThatIsNotCleanAndHasTheGreatestNumberIsBeaten() throws {
        let second = try record(0, after: [first], admit(1), admit(2), try making(1, 1, for: [0, 1, 2]))
        // One side makes keys, while the other side puts a device out that gets them.
        let third = try record(1, after: [second], try making(2, 2, for: [0, 1, 2]))
        let fourth = try record(1, after: [third], try making(3, 3, for: [0, 1, 2]))
        let removal = try record(0, after: [second], remove(2), try making(2, 4, for: [0, 1]))
        try insert(second, third, fourth, removal)
        let roster = Roster(graph)
        XCTAssertEqual(roster.epoch?.id, EpochID(high: 0, low: 4))
        XCTAssertEqual(roster.greatestEpoch, 3)
        var situation = MemberDuties.Situation(device: devices[1].device, roster: roster)
        situation.knownEpochs = [EpochID(high: 0, low: 4)]
        XCTAssertEqual(MemberDuties(situation).due, [])
        situation.hasSomethingToPublish = true
        XCTAssertEqual(MemberDuties(situation).due, [.rotate])
        try insert(try record(1, after: [fourth, removal], try making(4, 5, for: [0, 1])))
        situation.roster = Roster(graph)
        situation.knownEpochs.insert(EpochID(high: 0, low: 5))
        XCTAssertEqual(MemberDuties(situation).due, [])
    }

    func testWhoIsDueForWhat() throws {
        let second = try record(0, after: [first], admit(1), admit(2), try making(1, 1, for: [0, 1]))
        try insert(second)
        let epoch = EpochID(high: 0, low: 1)
        var situation = MemberDuties.Situation(device: devices[1].device, roster: Roster(graph))
        XCTAssertEqual(MemberDuties(situation).due, [], "it has not got the epoch itself")
        situation.knownEpochs = [epoch]
        XCTAssertEqual(MemberDuties(situation).due, [.grant(epoch, [devices[2].device])])
        let claim = try Claim(by: devices[3], code: nil, genesis: first.hash, milliseconds: 5)
        situation.claims = [claim]
        XCTAssertEqual(MemberDuties(situation).due.first, .admit(claim, .words))

        let removal = try record(0, after: [second], remove(2))
        try insert(removal)
        situation = .init(
            device: devices[1].device, roster: Roster(graph), positions: [devices[2].device: TestKeys.end(8)])
        XCTAssertEqual(MemberDuties(situation).due, [.cover(devices[2].device, TestKeys.end(8))])
        situation.covered = [devices[2].device]
        XCTAssertEqual(MemberDuties(situation).due, [.accept(devices[2].device, TestKeys.end(8))])
        try insert(try record(0, after: [removal], .accept(devices[2].device, TestKeys.end(8)), remove(1)))
        situation.roster = Roster(graph)
        XCTAssertEqual(MemberDuties(situation).due, [], "it is no member any more")
        situation.device = devices[0].device
        XCTAssertEqual(MemberDuties(situation).due, [])
        situation.hasSomethingToPublish = true
        XCTAssertEqual(MemberDuties(situation).due, [.rotate])
    }

    func testTheDigestOfARosterTellsRostersApart() throws {
        let before = Roster(graph).digest
        let second = try record(0, after: [first], admit(1))
        try insert(second)
        let with = Roster(graph).digest
        try insert(try record(0, after: [second], remove(1)))
        XCTAssertEqual(Set([before, with, Roster(graph).digest]).count, 3)
    }
}
