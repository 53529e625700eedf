import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import XCTest

final class MemberRecordTests: XCTestCase {
    private let container = TestKeys.container
    private let devices = TestKeys.devices

    private func first() throws -> MemberRecord {
        try MemberRecord.first(
            by: devices[0], recovery: TestKeys.recovery,
            formerLogs: [.init(device: DeviceID(high: 1, low: 2), end: TestKeys.end(7))],
            further: [
                .epoch(
                    try TestKeys.making(
                        1, EpochID(high: 5, low: 6), for: [devices[0].device, MemberRecord.recoveryAuthor]))
            ], milliseconds: 1_700_000_000_000)
    }

    private func later(_ acts: [MemberAct]) throws -> MemberRecord {
        let first = try first()
        return try MemberRecord(
            by: devices[0], milliseconds: 5, genesis: first.hash, follows: [first.hash], acts: acts)
    }

    private func everything() throws -> MemberRecord {
        try later([
            TestKeys.admit(.code, devices[1]), TestKeys.admit(.words, devices[2]), TestKeys.admit(.copy, devices[3]),
            .remove(devices[4].device), .accept(devices[4].device, TestKeys.end(300)),
            .epoch(try TestKeys.making(2, EpochID(high: 9, low: 9), for: [devices[0].device, devices[1].device])),
            .grant(EpochID(high: 5, low: 6), [try TestKeys.wrap(devices[1].device)]), .leave(TestKeys.end(12)),
        ])
    }

    private func code(_ bytes: [UInt8]) -> FerryError.Code? {
        do {
            _ = try MemberRecord(decoding: bytes, container: container)
        } catch {
            return error.code
        }
        return nil
    }

    func testARecordComesBackWithAllItsActs() throws {
        for record in [try first(), try everything()] {
            let again = try MemberRecord(decoding: record.bytes, container: container)
            XCTAssertEqual(again, record)
            XCTAssertTrue(again.isSigned(by: devices[0].publicKeys))
            XCTAssertFalse(again.isSigned(by: devices[1].publicKeys))
            XCTAssertEqual(again.hash.bytes, SealSuite.digest(record.bytes.dropLast(64)))
        }
        XCTAssertEqual(try everything().acts.count, 8)
        XCTAssertTrue(try first().isFirst)
        XCTAssertEqual(try everything().membership, try first().hash)
    }

    func testEveryByteThatIsChangedGivesAnotherRecordOrNone() throws {
        let first = try first()
        for record in [first, try everything()] {
            for place in record.bytes.indices {
                var changed = record.bytes
                changed[place] ^= 0x11
                let allowed: [FerryError.Code] = [.damagedFile, .formatTooNew, .foreignFile, .fileNotThereYet]
                if let refusal = code(changed) {
                    XCTAssertTrue(allowed.contains(refusal), "byte \(place)")
                } else {
                    let other = try MemberRecord(decoding: changed, container: container)
                    // Its signature no longer holds; one whose signature alone differs is the same record, unsigned.
                    XCTAssertFalse(other.isSigned(by: devices[0].publicKeys), "byte \(place)")
                    XCTAssertEqual(other.hash == record.hash, place >= record.bytes.count - 64)
                    var graph = MemberGraph(genesis: record.membership, container: container)
                    if !record.isFirst { try graph.insert(first, isVerified: true) }
                    XCTAssertNotEqual(try graph.insert(other), .counts, "byte \(place)")
                }
            }
        }
    }

    func testEveryLengthThatIsCutIsNotThereYet() throws {
        for record in [try first(), try everything()] {
            for length in record.bytes.indices {
                XCTAssertEqual(code(Array(record.bytes.prefix(length))), .fileNotThereYet, "\(length)")
            }
            XCTAssertEqual(code(record.bytes + [0]), .damagedFile)
        }
    }

    func testAnotherContainersRecordIsForeignAndALaterVersionIsTooNew() throws {
        let record = try first()
        do {
            _ = try MemberRecord(decoding: record.bytes, container: ContainerID(high: 0, low: 1))
            XCTFail("a foreign record was read")
        } catch { XCTAssertEqual(error.code, .foreignFile) }
        var newer = record.bytes
        newer[4] = 2
        XCTAssertEqual(code(newer), .formatTooNew)
        XCTAssertEqual(code(Array("FRYX".utf8) + record.bytes.dropFirst(4)), .damagedFile)
    }

    func testWhatMakesNoSenseTogetherIsNotWritten() throws {
        let end = TestKeys.end(1)
        let other = devices[1].device
        let making = try TestKeys.making(1, EpochID(high: 1, low: 1), for: [other])
        let bad: [[MemberAct]] = [
            [], [.remove(other), .remove(other)], [.accept(other, end), .accept(other, end)],
            [TestKeys.admit(.code, devices[1]), TestKeys.admit(.words, devices[1])],
            [TestKeys.admit(.code, devices[0])],
            [TestKeys.admit(.recovery, devices[1])], [.leave(end), .leave(end)], [.epoch(making), .epoch(making)],
            [.found(Founding(recovery: nil, founder: devices[0].publicKeys))],
            [.remove(MemberRecord.recoveryAuthor)],
            [.accept(other, LogEnding(sequence: 1 << 48, time: end.time, checksum: end.checksum))],
            [.accept(other, LogEnding(sequence: 1, time: HybridTime(rawValue: .max), checksum: end.checksum))],
            [.epoch(EpochMaking(number: 0, epoch: making.epoch, wraps: [], ring: making.ring))],
            [.epoch(EpochMaking(number: 1, epoch: making.epoch, wraps: [], ring: []))],
            [.grant(making.epoch, making.wraps + making.wraps)],
            Array(repeating: .grant(making.epoch, making.wraps), count: MemberRecord.maximumActs + 1),
        ]
        for acts in bad {
            XCTAssertThrowsError(try later(acts), "\(acts.count)") {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
            }
        }
        let first = try first()
        XCTAssertThrowsError(
            try MemberRecord(
                byRecovery: TestKeys.recovery, milliseconds: 1, genesis: first.hash, follows: [first.hash],
                acts: [TestKeys.admit(.code, devices[1])]))
        XCTAssertThrowsError(
            try MemberRecord(by: devices[0], milliseconds: 1, genesis: first.hash, follows: [], acts: [.remove(other)]))
        XCTAssertThrowsError(
            try MemberRecord(
                by: devices[0], milliseconds: 1, genesis: first.hash, follows: [first.hash, first.hash],
                acts: [.remove(other)]))
    }

    func testAFoundingThatTheRecoveryKeyDidNotSignIsRefused() throws {
        var bytes = try first().bytes
        // The recovery key's signature begins behind the header, two counts, the act's kind and length, and its two keys.
        bytes[80 + 2 + 1 + 2 + 64] ^= 1
        XCTAssertEqual(code(bytes), .damagedFile)
    }

    func testAnActOfALaterFerryIsKeptAndTold() throws {
        let first = try first()
        let record = try later([.unknown(200, [1, 2, 3])])
        XCTAssertEqual(try MemberRecord(decoding: record.bytes, container: container).acts, [.unknown(200, [1, 2, 3])])
        var graph = MemberGraph(genesis: first.hash, container: container)
        try graph.insert(first)
        XCTAssertFalse(Roster(graph).needsUpdate)
        try graph.insert(record)
        XCTAssertTrue(Roster(graph).needsUpdate)
        XCTAssertEqual(
            MemberDuties(.init(device: devices[0].device, roster: Roster(graph), hasSomethingToPublish: true)).due, [])
    }
}

final class ClaimTests: XCTestCase {
    private let container = TestKeys.container
    private let (inviting, newcomer) = (TestKeys.devices[0], TestKeys.devices[1])
    private let genesis = RecordHash(bytes: [UInt8](repeating: 7, count: 32))!
    private let code = SecretCode(minted: .invitation, random: SeededRandom(seed: 8))

    private func invitation(_ end: UInt64 = 1000) -> KeyFile.Invitation {
        KeyFile.Invitation(code: code, container: container, endMilliseconds: end)
    }

    private func claim(_ code: SecretCode?) throws -> Claim {
        try Claim(by: newcomer, code: code, genesis: genesis, milliseconds: 50)
    }

    func testAClaimComesBack() throws {
        for claim in [try claim(code), try claim(nil)] {
            XCTAssertEqual(claim.bytes.count, Claim.length)
            XCTAssertEqual(try Claim(decoding: claim.bytes, container: container), claim)
            XCTAssertEqual(claim.device, newcomer.device)
            XCTAssertEqual(claim.words.split(separator: " ").count, 6)
        }
    }

    func testEveryByteThatIsChangedAndEveryLengthThatIsCutIsRefused() throws {
        let bytes = try claim(code).bytes
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 0x01
            XCTAssertThrowsError(try Claim(decoding: changed, container: container), "byte \(place)") {
                let code = ($0 as? FerryError)?.code
                XCTAssertTrue([.damagedFile, .foreignFile, .formatTooNew].contains(code), "byte \(place)")
            }
        }
        for length in bytes.indices {
            XCTAssertThrowsError(try Claim(decoding: Array(bytes.prefix(length)), container: container)) {
                XCTAssertEqual(($0 as? FerryError)?.code, .fileNotThereYet, "\(length)")
            }
        }
        XCTAssertThrowsError(try Claim(decoding: bytes + [0], container: container))
    }

    func testACodeProvesAClaimOnceAndInTime() throws {
        let (claim, open) = (try claim(code), invitation())
        XCTAssertTrue(open.admits(claim, genesis: genesis, milliseconds: 999))
        XCTAssertFalse(open.admits(claim, genesis: genesis, milliseconds: 1000), "it is over")
        XCTAssertFalse(open.admits(claim, genesis: .none, milliseconds: 1), "another membership")
        XCTAssertFalse(open.admits(try self.claim(nil), genesis: genesis, milliseconds: 1), "no proof")
        let other = KeyFile.Invitation(
            code: SecretCode(minted: .invitation, random: SeededRandom(seed: 9)), container: container,
            endMilliseconds: 1000)
        XCTAssertFalse(other.admits(claim, genesis: genesis, milliseconds: 1), "another code")
        var bound = open
        bound.claim = claim.hash
        XCTAssertTrue(bound.admits(claim, genesis: genesis, milliseconds: 5000), "it was bound in time")
        let second = try Claim(by: TestKeys.devices[2], code: code, genesis: genesis, milliseconds: 50)
        XCTAssertFalse(bound.admits(second, genesis: genesis, milliseconds: 1), "the code was used")
        XCTAssertTrue(open.admits(second, genesis: genesis, milliseconds: 1))
    }

    func testTheNewcomerBelievesTheInvitingDeviceAlone() throws {
        let (claim, invitation) = (try claim(code), invitation())
        let answer = claim.answer(by: invitation, of: inviting.device, inviting.publicKeys)
        func believes(_ answer: [UInt8], _ keys: DeviceKeys, _ invitation: KeyFile.Invitation) -> Bool {
            claim.isAnswer(answer, by: keys.device, keys.publicKeys, under: invitation)
        }
        XCTAssertTrue(believes(answer, inviting, invitation))
        XCTAssertFalse(believes(answer, TestKeys.devices[2], invitation), "who answers in another's name")
        var changed = answer
        changed[0] ^= 1
        XCTAssertFalse(believes(changed, inviting, invitation))
        XCTAssertFalse(believes(Array(answer.dropLast()), inviting, invitation))
        let other = KeyFile.Invitation(
            code: SecretCode(minted: .invitation, random: SeededRandom(seed: 9)), container: container,
            endMilliseconds: 1000)
        XCTAssertFalse(believes(answer, inviting, other), "who does not know the code")
    }

    func testTheWordsBindNewcomerAndContainer() throws {
        let words = try claim(nil).words
        let others = [
            try Claim(by: TestKeys.devices[2], code: nil, genesis: genesis, milliseconds: 50),
            try Claim(by: newcomer, code: nil, genesis: .none, milliseconds: 50),
        ]
        for other in others { XCTAssertNotEqual(other.words, words) }
        XCTAssertEqual(try claim(nil).words, words)
    }
}
