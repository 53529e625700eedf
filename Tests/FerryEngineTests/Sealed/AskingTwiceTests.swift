import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// Codes that let nobody in any more, and computers that ask more than once.
final class AskingTwiceTests: XCTestCase {
    private func founded() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        _ = try home.replica(0).sync()
        return home
    }

    /// The failure of an enrolment; `nil` while the enrolment waits.
    private func refusal(_ enrolment: Enrolment) throws -> FerryError? {
        do {
            _ = try enrolment.state()
            return nil
        } catch let error as FerryError {
            return error
        }
    }

    // MARK: Dead codes

    func testACodeThatWasTakenBackIsRefused() throws {
        let home = try founded()
        let code = try home.replica(0).invite().code
        XCTAssertEqual(try home.replica(0).cancelInvitations(), 1)
        XCTAssertEqual(try home.replica(0).cancelInvitations(), 0)
        let enrolment = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try refusal(enrolment))
        XCTAssertNil(try home.replica(0).sync().admitted)
        let refused = try XCTUnwrap(refusal(enrolment))
        XCTAssertEqual(refused.code, .codeRefused)
        XCTAssertTrue(refused.message.contains("no longer good"), refused.message)
        XCTAssertEqual(try home.replica(0).codeClaims().map(\.isRefused), [true])
        XCTAssertEqual(try home.replica(0).status().container.codeClaims, 1)
        let findings = try home.replica(0).examine().findings
        XCTAssertTrue(findings.contains { $0.problem.contains("no longer good") }, "\(findings)")
        // The refusal is said once, and another code works.
        let count = try home.roster(0).members.count
        try home.settle()
        XCTAssertEqual(count, 1)
        let again = try home.begin(1, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        try home.join(1, again)
        try home.assertAgreement([0, 1], ["first"], members: 2)
        XCTAssertEqual(try home.replica(0).codeClaims().count, 0)
        XCTAssertEqual(try home.replica(1).requiredMembership().refusedClaimants.count, 1)
    }

    func testACodeThatHasRunOutIsRefused() throws {
        let home = try founded()
        let code = try home.replica(0).invite(forMilliseconds: 60_000).code
        let enrolment = try home.begin(home.addComputer(), .code(code))
        home.clock.advance(hours: 1)
        // Another invitation does not make this device forget the code.
        _ = try home.replica(0).invite()
        XCTAssertNil(try home.replica(0).sync().admitted)
        XCTAssertEqual(try refusal(enrolment)?.code, .codeRefused)
    }

    func testACodeOfRenewedKeysIsRefusedAndTheRenewalCountsIt() throws {
        let home = try founded()
        let code = try home.replica(0).invite().code
        XCTAssertEqual(try home.replica(0).renewKeys().endedInvitations, 1)
        XCTAssertNil(try home.replica(0).renewKeys().endedInvitations)
        let enrolment = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(0).sync().admitted)
        XCTAssertEqual(try refusal(enrolment)?.code, .codeRefused)
    }

    func testACodeOfAFormerMembershipIsRefused() throws {
        let home = try founded()
        try home.invite(by: 0)
        let codes = [try home.replica(0).invite().code, try home.replica(1).invite().code]
        _ = try home.seal(0, anew: true)
        let way = try home.begin(1, .recovery(XCTUnwrap(home.recovery)))
        _ = try home.replica(1).enrol(way)
        for (index, code) in codes.enumerated() {
            let enrolment = try home.begin(home.addComputer(), .code(code))
            XCTAssertNil(try home.replica(index).sync().admitted)
            XCTAssertEqual(try refusal(enrolment)?.code, .codeRefused, "device \(index)")
        }
    }

    func testAMemberTellsOfACodeThatNobodyAnswers() throws {
        let home = try founded()
        try home.invite(by: 0)
        let code = try home.replica(1).invite().code
        _ = try home.replica(0).remove("device1")
        let enrolment = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(0).sync().admitted)
        XCTAssertNil(try refusal(enrolment))
        XCTAssertTrue(try enrolment.pendingFailure().message.contains("ask for another one"))
        XCTAssertEqual(try home.replica(0).codeClaims().map(\.isRefused), [false])
        XCTAssertEqual(try home.replica(0).status().container.codeClaims, 1)
        let findings = try home.replica(0).examine().findings
        XCTAssertTrue(findings.contains { $0.problem.contains("no member has answered") }, "\(findings)")
    }

    func testACodeIsRefusedOnce() throws {
        let home = try founded()
        let code = try home.replica(0).invite().code
        _ = try home.replica(0).cancelInvitations()
        for _ in 0..<3 {
            _ = try home.begin(home.addComputer(), .code(code))
            _ = try home.replica(0).sync()
        }
        XCTAssertEqual(try home.replica(0).requiredMembership().refusedClaimants.count, 1)
    }

    func testACodeWorksOnceAlsoAfterTheKeysWerePutBack() throws {
        let home = try founded()
        let code = try home.replica(0).invite().code
        let keys = try XCTUnwrap(home.computers[0].keys.load(home.device(0)))
        let first = try home.begin(home.addComputer(), .code(code))
        _ = try home.replica(0).sync()
        try home.join(1, first)
        try home.computers[0].keys.save(keys)
        let second = try home.begin(home.addComputer(), .code(code))
        XCTAssertNil(try home.replica(0).sync().admitted)
        XCTAssertTrue(try XCTUnwrap(refusal(second)).message.contains("works once"))
        XCTAssertEqual(try home.roster(0).members.count, 2)
    }

    // MARK: Two requests of a computer

    func testAnEarlierRequestByWordsGoesWithTheAdmissionByACode() throws {
        let home = try founded()
        let index = home.addComputer()
        let words = try home.begin(index, .words)
        let byCode = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        XCTAssertEqual(try home.replica(0).claims().count, 1)
        try home.join(index, byCode)
        XCTAssertEqual(try home.replica(0).claims().count, 0)
        XCTAssertEqual(try home.computers[index].keys.devices(), [try home.device(index)])
        XCTAssertNil(try home.container.readClaim(of: words.device))
        try home.assertAgreement([0, index], ["first"], members: 2)
        // A command that waits with the words hears of the withdrawal.
        XCTAssertEqual(try refusal(words)?.code, .codeRefused)
    }

    func testACodeOfADeviceThatIsOffLetsNobodyInAfterTheRecoveryCode() throws {
        let home = try founded()
        let index = home.addComputer()
        _ = try home.begin(index, .code(home.replica(0).invite().code))
        try home.join(index, home.begin(index, .recovery(XCTUnwrap(home.recovery))))
        XCTAssertNil(try home.replica(0).sync().admitted)
        try home.assertAgreement([0, index], ["first"], members: 2)
    }

    func testAnAdmissionByWordsIsTakenThoughAPersonTriesACode() throws {
        let home = try founded()
        let index = home.addComputer()
        let words = try home.begin(index, .words)
        guard case .waiting(let shown?) = try words.state() else { return XCTFail("no words are shown") }
        _ = try home.replica(0).approve(words: shown)
        _ = try home.replica(0).sync()
        let byCode = try home.begin(index, .code(home.replica(0).invite().code))
        XCTAssertEqual(byCode.device, words.device)
        try home.join(index, byCode)
        try home.assertAgreement([0, index], ["first"], members: 2)
    }

    func testAnEnrolmentWithdrawsEarlierRequestsAndLeavesAMemberOfTheComputerAlone() throws {
        let home = try founded()
        let index = try home.invite(by: 0)
        let member = try home.device(index)
        let claim = try Claim(
            by: XCTUnwrap(home.computers[index].keys.load(member)).keys, code: nil,
            genesis: home.replica(0).requiredMembership().genesis, milliseconds: 1)
        // An interrupted enrolment of a member leaves its claim behind.
        try home.container.publishClaim(claim.bytes, of: member)
        let second = home.addComputer()
        home.computers[second].keys = home.computers[index].keys
        try home.join(second, home.begin(second, .recovery(XCTUnwrap(home.recovery))))
        try home.assertAgreement([0, index, second], ["first"], members: 3)
    }

    func testADeviceOfADatabaseIsNoEnrolmentToGoOnWith() throws {
        let home = try founded()
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        let claim = try XCTUnwrap(home.container.readClaim(of: enrolment.device))
        let keys = try XCTUnwrap(home.computers[index].keys.load(enrolment.device))
        try home.join(index, enrolment)
        try home.settle()
        // The end of the enrolment was interrupted.
        try home.container.publishClaim(claim, of: enrolment.device)
        try home.computers[index].keys.save(keys)
        let second = home.addComputer()
        home.computers[second].keys = home.computers[index].keys
        let other = try home.begin(second, .code(home.replica(0).invite().code))
        XCTAssertNotEqual(other.device, enrolment.device)
        _ = try home.replica(0).sync()
        try home.join(second, other)
        try home.assertAgreement([0, index, second], ["first"], members: 3)
    }

    func testAMemberWithAnOpenInvitationDoesNotEnrol() throws {
        let home = try founded()
        _ = try home.replica(0).invite()
        XCTAssertEqual(home.failure { try home.replica(0).checkNeedsEnrolment() }, .invalidArgument)
        _ = try home.replica(0).cancelInvitations()
        XCTAssertEqual(home.failure { try home.replica(0).checkNeedsEnrolment() }, .invalidArgument)
    }

    func testOfTwoRequestsByOneCodeTheAdmittedOneGoesOn() throws {
        let home = try founded()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        // Two processes look for an earlier request at the same moment, and find none.
        let first = try home.begin(index, .code(code))
        let keys = home.computers[index].keys
        home.computers[index].keys = MemoryKeyStore()
        let second = try home.begin(index, .code(code))
        for device in try home.computers[index].keys.devices() {
            try keys.save(XCTUnwrap(home.computers[index].keys.load(device)))
        }
        home.computers[index].keys = keys
        let admitted = try XCTUnwrap(home.replica(0).sync().admitted)
        XCTAssertEqual(admitted.count, 1)
        let again = try home.begin(index, .code(code))
        XCTAssertEqual(again.device.description, admitted.first)
        let other = first.device == again.device ? second : first
        let beaten = try XCTUnwrap(
            Enrolment.pending(containerPath: SealedHome.place, environment: home.environment(index)))
        XCTAssertEqual(beaten.device, again.device)
        try home.join(index, again)
        XCTAssertEqual(try home.computers[index].keys.devices(), [again.device])
        XCTAssertNil(try home.container.readClaim(of: other.device))
        let third = try home.begin(index, .code(code))
        let refused = try XCTUnwrap(refusal(third))
        XCTAssertTrue(refused.message.contains("another join on this computer"), refused.message)
        try home.assertAgreement([0, index], ["first"], members: 2)
    }
}
