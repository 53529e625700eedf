import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// Devices are let into a sealed container, and rows travel between them.
final class SealedStoryTests: XCTestCase {
    private func twoDevices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        return home
    }

    // MARK: By code

    func testACodeLetsADeviceInAndRowsTravel() throws {
        let home = try twoDevices()
        try home.write(1, "second")
        try home.assertAgreement([0, 1], ["first", "second"], members: 2)
        let member = try XCTUnwrap(home.roster(0).members[home.device(1)])
        XCTAssertEqual(member.way, .code)
        XCTAssertEqual(member.admittedBy, try home.device(0))
        XCTAssertNil(try home.container.readClaim(of: home.device(1)))
    }

    func testACodeLetsInOneDeviceOnly() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let (first, second) = (home.addComputer(), home.addComputer())
        let early = try home.begin(first, .code(code))
        _ = try home.replica(0).sync()
        let late = try home.begin(second, .code(code))
        _ = try home.replica(0).sync()
        try home.join(first, early)
        // Whoever comes second is told, and which device came first.
        XCTAssertThrowsError(try late.state()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .codeRefused)
            XCTAssertEqual((error as? FerryError)?.device, try? home.device(first))
        }
        XCTAssertEqual(home.failure { try home.join(second, late) }, .codeRefused)
        try home.assertAgreement([0, first], [], members: 2)
    }

    func testACodeThatIsOverLetsNobodyIn() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        home.clock.advance(hours: 25)
        let enrolment = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(0).sync().admitted)
        XCTAssertEqual(home.failure { _ = try enrolment.state() }, .codeRefused)
    }

    func testAnotherDeviceDoesNotAnswerACode() throws {
        let home = try twoDevices()
        let code = try home.replica(0).invite().code
        let enrolment = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(1).sync().admitted)
        XCTAssertEqual(try enrolment.state(), .waiting(words: nil))
        XCTAssertEqual(try home.replica(0).sync().admitted, [enrolment.device.description])
    }

    func testInvitationsThatWereTakenBackLetNobodyIn() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        XCTAssertEqual(try home.replica(0).cancelInvitations(), 1)
        _ = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(0).sync().admitted)
    }

    func testAnEnrolmentGoesOnAfterItsProcessEnded() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        let begun = try home.begin(index, .code(code)).device
        _ = try home.replica(0).sync()
        let found = try XCTUnwrap(
            Enrolment.pending(containerPath: SealedHome.place, environment: home.environment(index)))
        XCTAssertEqual(found.device, begun)
        XCTAssertEqual(try home.begin(index, .code(code)).device, begun)
        try home.join(index, found)
        try home.assertAgreement([0, index], [], members: 2)
        XCTAssertNil(try Enrolment.pending(containerPath: SealedHome.place, environment: home.environment(index)))
    }

    func testWhoeverLetsANewcomerInWithoutTheCodeIsNotBelieved() throws {
        let home = try twoDevices()
        let code = try home.replica(0).invite().code
        let enrolment = try home.begin(home.addComputer(), .code(code))
        // A member that does not know the code admits the claim by an answer that it made up.
        let bytes = try XCTUnwrap(try home.container.readClaim(of: enrolment.device))
        let claim = try Claim(decoding: bytes, container: home.container.id)
        let replica = try home.replica(1)
        var membership = try replica.requiredMembership()
        try replica.admit(claim, answer: [UInt8](repeating: 7, count: 32), &membership, replica.plainContainer())
        _ = try replica.sync()
        XCTAssertEqual(home.failure { _ = try enrolment.state() }, .codeRefused)
    }

    // MARK: By words

    func testWordsLetADeviceIn() throws {
        let home = try twoDevices()
        let index = home.addComputer()
        let enrolment = try home.begin(index, .words)
        guard case .waiting(let words?) = try enrolment.state() else { return XCTFail("no words are shown") }
        XCTAssertEqual(words.split(separator: " ").count, 6)
        XCTAssertNil(try home.replica(1).sync().admitted)
        XCTAssertEqual(try home.replica(1).claims().map(\.words), [words])
        XCTAssertEqual(home.failure { _ = try home.replica(1).approve(words: "zagud zarug") }, .nothingFound)
        let (device, answer) = try home.replica(1).approve(words: words.uppercased())
        XCTAssertEqual(device, enrolment.device)
        _ = try home.replica(1).sync()
        XCTAssertEqual(try enrolment.state(), .admitted(by: try home.device(1), words: answer))
        try home.join(index, enrolment)
        try home.write(index, "third")
        try home.assertAgreement([0, 1, index], ["first", "third"], members: 3)
    }

    func testAClaimIsNothingAfterAWeek() throws {
        let home = try SealedHome()
        try home.found()
        _ = try home.begin(home.addComputer(), .words)
        XCTAssertEqual(try home.replica(0).claims().count, 1)
        home.clock.advance(days: 8)
        XCTAssertEqual(try home.replica(0).claims().count, 0)
    }

    // MARK: Clocks

    func testAClockThatIsWeeksBehindIsNamedOnBothSides() throws {
        let home = try SealedHome()
        home.clock.advance(days: 40)
        try home.found()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        home.clock.advance(days: -30)
        let (byCode, byWords) = (try home.begin(index, .code(code)), try home.begin(home.addComputer(), .words))
        for enrolment in [byCode, byWords] {
            XCTAssertTrue(try enrolment.pendingFailure().message.contains("clock is 30 days behind"))
        }
        guard case .waiting(let words?) = try byWords.state() else { return XCTFail("no words are shown") }
        home.clock.advance(days: 30)
        XCTAssertEqual(try home.replica(0).sync().lateClaims, 1)
        XCTAssertEqual(try home.replica(0).lateClaims().count, 2)
        XCTAssertThrowsError(try home.replica(0).approve(words: words)) {
            XCTAssertTrue("\($0)".contains("clock"), "\($0)")
        }
        let found = try home.replica(0).examine().findings.filter { $0.problem.contains("clock") }
        XCTAssertEqual(found.count, 2)
        // The clock is right now, and the same command asks again.
        let again = try home.begin(index, .code(code))
        XCTAssertNotEqual(again.device, byCode.device)
        XCTAssertNil(try again.clockWarning())
        XCTAssertEqual(try home.replica(0).sync().admitted, [again.device.description])
        XCTAssertNil(try home.replica(0).sync().lateClaims)
        try home.join(index, again)
    }

    func testADeviceThatWasLetInLongAgoJoinsAfterAWeek() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        let device = try home.begin(index, .code(code)).device
        _ = try home.replica(0).sync()
        home.clock.advance(days: 20)
        XCTAssertEqual(try home.begin(index, .code(code)).device, device)
    }

    func testAfterACodeThatFailedThereAreWords() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        let byCode = try home.begin(index, .code(code))
        XCTAssertNil(try Enrolment.answered(containerPath: SealedHome.place, environment: home.environment(index)))
        let byWords = try home.begin(index, .words)
        XCTAssertNotEqual(byWords.device, byCode.device)
        XCTAssertEqual(try home.replica(0).claims().count, 1)
        _ = try home.replica(0).sync()
        let answered = try Enrolment.answered(containerPath: SealedHome.place, environment: home.environment(index))
        XCTAssertEqual(answered?.device, byCode.device)
    }

    // MARK: By recovery

    func testTheRecoveryCodeLetsADeviceInWithoutAnother() throws {
        let home = try twoDevices()
        try home.settle()
        let index = home.addComputer()
        let code = try XCTUnwrap(home.recovery)
        try home.join(index, try home.begin(index, .recovery(code)))
        XCTAssertEqual(try home.names(index), ["first"])
        try home.write(index, "third")
        try home.assertAgreement([0, 1, index], ["first", "third"], members: 3)
        XCTAssertEqual(try home.roster(0).members[home.device(index)]?.way, .recovery)
    }

    func testASecondAttemptByTheRecoveryCodeIsTheDeviceOfTheFirst() throws {
        let home = try twoDevices()
        try home.settle()
        let code = try XCTUnwrap(home.recovery)
        let index = home.addComputer()
        let first = try home.begin(index, .recovery(code))
        let second = try home.begin(index, .recovery(code))
        XCTAssertEqual(first.device, second.device)
        // The record never reached the folder: the same device is let in again.
        let place = "\(SealedHome.place)/devices/\(first.device.hex)"
        for path in try home.allFiles().keys where path.hasPrefix(place) { try home.files.removeFile(at: path) }
        XCTAssertEqual(try home.begin(index, .recovery(code)).device, first.device)
        try home.join(index, home.begin(index, .recovery(code)))
        try home.assertAgreement([0, 1, index], ["first"], members: 3)
        // Now a database has the device, and a second database becomes another one.
        XCTAssertNotEqual(try home.begin(index, .recovery(code)).device, first.device)
    }

    func testAnInterruptedEnrolmentByTheRecoveryCodeGoesOn() throws {
        let home = try twoDevices()
        try home.settle()
        let code = try XCTUnwrap(home.recovery)
        _ = try home.replica(0).remove("device1")
        let enrolment = try home.begin(1, .recovery(code))
        _ = try home.replica(1).enrol(try home.begin(1, .recovery(code)))
        XCTAssertEqual(try home.device(1), enrolment.device)
        // The crash came after the database had become the device.
        let again = try home.replica(1).enrol(enrolment)
        XCTAssertEqual(again.device, enrolment.device.description)
        try home.assertAgreement([0, 1], ["first"], members: 2)
    }

    func testTheRecoveryCodeRemovesAllOthers() throws {
        let home = try twoDevices()
        try home.settle()
        let index = home.addComputer()
        let code = try XCTUnwrap(home.recovery)
        try home.join(index, try home.begin(index, .recovery(code)))
        try home.write(1, "unread so far")
        _ = try home.replica(1).sync()
        let wrong = SecretCode(minted: .recovery, random: SystemRandom())
        XCTAssertEqual(home.failure { _ = try home.replica(index).removeOthers(recovery: wrong) }, .codeRefused)
        XCTAssertEqual(try home.replica(index).removeOthers(recovery: code).removed.count, 2)
        XCTAssertEqual(home.failure { _ = try home.replica(0).sync() }, .notMember)
        try home.assertAgreement([index], ["first", "unread so far"], members: 1)
        // Whoever comes later gets it by a snapshot.
        let later = try home.invite(by: index)
        try home.assertAgreement([index, later], ["first", "unread so far"], members: 2)
    }

    func testAnotherRecoveryCodeIsRefused() throws {
        let home = try SealedHome()
        try home.found()
        let code = SecretCode(minted: .recovery, random: SystemRandom())
        let index = home.addComputer()
        XCTAssertEqual(home.failure { _ = try home.begin(index, .recovery(code)) }, .codeRefused)
        XCTAssertFalse(try home.replica(0).isRecoveryCode(code))
        XCTAssertTrue(try home.replica(0).isRecoveryCode(try XCTUnwrap(home.recovery)))
    }

    func testAContainerWithoutARecoveryCodeTakesNone() throws {
        let home = try SealedHome()
        try home.found(recovery: false)
        XCTAssertNil(home.recovery)
        let code = SecretCode(minted: .recovery, random: SystemRandom())
        XCTAssertEqual(
            home.failure { _ = try home.begin(home.addComputer(), .recovery(code)) }, .codeRefused)
        XCTAssertFalse(try home.replica(0).keys().recovery)
    }

    // MARK: Without

    func testNobodyJoinsASealedContainerWithoutBeingLetIn() throws {
        let home = try SealedHome()
        try home.found()
        XCTAssertEqual(home.failure { try home.join(home.addComputer(), nil) }, .keyMissing)
    }

    func testAnOpenContainerTakesNoEnrolment() throws {
        let home = try SealedHome()
        try home.found(sealing: .open)
        XCTAssertEqual(home.failure { _ = try home.begin(home.addComputer(), .words) }, .invalidArgument)
        XCTAssertEqual(home.failure { _ = try home.replica(0).invite() }, .invalidArgument)
        try home.join(1, nil)
        try home.write(0, "first")
        try home.settle()
        XCTAssertEqual(try home.names(1), ["first"])
    }

    func testARecordThatIsLostIsPutBack() throws {
        let home = try twoDevices()
        try home.settle()
        let records = try home.allFiles().keys.filter { $0.hasSuffix(".record") }
        XCTAssertGreaterThan(records.count, 1)
        for record in records { _ = try home.files.removeFile(at: record) }
        _ = try home.replica(1).sync()
        let back = try home.allFiles().keys.filter { $0.hasSuffix(".record") }
        XCTAssertEqual(
            Set(back.map { $0.split(separator: "/").last }), Set(records.map { $0.split(separator: "/").last }))
        try home.reopen(0)
        try home.assertAgreement([0, 1], ["first"], members: 2)
    }

    func testARecordThatACrashLeftUnpublishedIsPublished() throws {
        let home = try twoDevices()
        try home.settle()
        let replica = try home.replica(1)
        let membership = try replica.requiredMembership()
        let act = try membership.epoch(
            for: membership.keys(of: membership.roster.members.keys), random: SystemRandom())
        let record = try membership.record([act], milliseconds: home.clock.milliseconds())
        try replica.store.add([StoredRecord(hash: record.hash, bytes: record.bytes, isPublished: false)])
        try home.reopen(1)
        try home.assertAgreement([0, 1], ["first"], members: 2)
        XCTAssertEqual(try home.roster(0).epoch?.number, 2)
    }

    func testStrangersAreNotMembers() throws {
        let home = try twoDevices()
        let keys = try DeviceKeys(mintedFor: home.container.id, random: SystemRandom())
        var membership = try home.replica(0).requiredMembership()
        let acts = [MemberAct.admit(Admission(.copy, keys.publicKeys, in: membership.container))]
        let stranger = try DeviceKeys(mintedFor: home.container.id, random: SystemRandom())
        let record = try MemberRecord(
            by: stranger, milliseconds: 1, genesis: membership.genesis, follows: Array(membership.graph.heads),
            acts: acts)
        try home.container.publishRecord(record.bytes, name: RecordName(record.hash), of: stranger.device)
        XCTAssertEqual(try membership.insert([record]).count, 0)
        try home.assertAgreement([0, 1], ["first"], members: 2)
    }

    func testEachDeviceHasTheEpochAndItsFilesAreUnderIt() throws {
        let home = try twoDevices()
        try home.settle()
        let report = try home.replica(0).rotateKeys()
        XCTAssertEqual(report.epoch?.number, 2)
        try home.write(0, "under the new epoch")
        try home.assertAgreement([0, 1], ["first", "under the new epoch"], members: 2)
        XCTAssertEqual(try home.replica(1).keys().epoch, try home.replica(0).keys().epoch)
        XCTAssertEqual(try home.replica(1).keys().epochs, 2)
    }
}
