import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryTestSupport
import XCTest

@testable import FerryEngine

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// What a member is told where keys lie open, where a record is from a newer Ferry, and where two members disagree. Changes wait in
/// each case, and go on once the cause is gone.
final class SealedErrorTests: XCTestCase {
    private func twoDevices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.settle()
        return home
    }

    // MARK: containerExists

    func testAnAttemptOfAnotherComputerIsNotTakenOver() throws {
        let home = try SealedHome()
        let first = home.addComputer()
        // It may be about to publish.
        let (container, _) = try NewContainer(
            SealedHome.place, .sealed(recovery: nil), home.environment(first)
        ).make()
        let second = home.addComputer()
        func create(_ index: Int) throws -> Replica {
            try ReplicaSetup(environment: home.environment(index), sealing: .sealed(recovery: nil)).create(
                home.makeStore(index), containerPath: SealedHome.place, name: "device"
            ).replica
        }
        XCTAssertThrowsError(try create(second)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .containerExists)
        }
        XCTAssertEqual(try home.computers[second].keys.devices(), [])
        // The first one goes on.
        XCTAssertEqual(try create(first).identity.container, container.id)
    }

    // MARK: keyExposed

    func testKeysThatOthersCanReadAreNotUsedUntilTheirRightsAreTakenAway() throws {
        let home = try twoDevices()
        let keys = FileKeyStore(directory: home.folder.appendingPathComponent("keys").path)
        let device = try home.device(1)
        try keys.save(try XCTUnwrap(home.computers[1].keys.load(device)))
        home.computers[1].keys = keys
        try home.reopen(1)
        try home.write(1, "by safe keys")
        try home.assertAgreement([0, 1], ["first", "by safe keys"], members: 2)

        XCTAssertEqual(chmod(keys.path(of: device), 0o644), 0)
        try home.reopen(1)
        try home.write(1, "waits")
        XCTAssertThrowsError(try home.replica(1).sync()) { error in
            XCTAssertEqual((error as? FerryError)?.code, .keyExposed)
            XCTAssertEqual((error as? FerryError)?.path, keys.path(of: device))
            XCTAssertTrue("\(error)".contains("chmod 600"), "\(error)")
        }
        XCTAssertEqual(try home.names(1), ["by safe keys", "first", "waits"])
        let status = try home.replica(1).status()
        XCTAssertTrue(status.container.problem?.contains("chmod 600") ?? false, "\(status.container)")
        let findings = try home.replica(1).examine().findings
        XCTAssertTrue(findings.contains { $0.advice.contains("keys … renew") }, "\(findings)")
        XCTAssertEqual(home.failure { _ = try home.replica(1).invite() }, .keyExposed)
        _ = try home.replica(0).sync()
        XCTAssertEqual(try home.names(0), ["by safe keys", "first"])

        XCTAssertEqual(chmod(keys.path(of: device), 0o600), 0)
        try home.assertAgreement([0, 1], ["first", "by safe keys", "waits"], members: 2)
    }

    // MARK: A newer Ferry

    /// Publishes a record of the first device's that only a later Ferry understands.
    private func sayWhatIsUnknown(_ home: SealedHome) throws {
        let replica = try home.replica(0)
        let membership = try replica.requiredMembership()
        let record = try membership.record([.unknown(200, [1, 2, 3])], milliseconds: home.clock.milliseconds())
        try home.container.publishRecord(record.bytes, name: RecordName(record.hash), of: home.device(0))
    }

    func testNothingIsPublishedWhileARecordIsFromANewerFerryAndEverythingIsRead() throws {
        let home = try twoDevices()
        try home.write(0, "before")
        _ = try home.replica(0).sync()
        try sayWhatIsUnknown(home)
        try home.write(1, "waits")
        let files = try home.allFiles()
        let report = try home.replica(1).sync()
        XCTAssertTrue(report.held?.contains("newer Ferry") ?? false, "\(report)")
        XCTAssertEqual(try home.names(1), ["before", "first", "waits"])
        XCTAssertEqual(try home.allFiles(), files, "something was published")
        XCTAssertEqual(try home.replica(1).status().unpublished, 1)
        let findings = try home.replica(1).examine().findings
        XCTAssertTrue(findings.contains { $0.advice.contains("Update Ferry") }, "\(findings)")
    }

    func testNobodyIsLetInOrPutOutWhileARecordIsFromANewerFerry() throws {
        let home = try twoDevices()
        let code = try home.replica(1).invite().code
        try sayWhatIsUnknown(home)
        _ = try home.begin(home.addComputer(), .code(code))
        let asking = try home.begin(home.addComputer(), .words)
        guard case .waiting(let words?) = try asking.state() else { return XCTFail("no words are shown") }
        let files = try home.allFiles()
        XCTAssertNil(try home.replica(1).sync().admitted)
        XCTAssertEqual(home.failure { _ = try home.replica(0).remove("device1") }, .formatTooNew)
        XCTAssertEqual(home.failure { _ = try home.replica(1).rotateKeys() }, .formatTooNew)
        XCTAssertEqual(home.failure { _ = try home.replica(1).renewKeys() }, .formatTooNew)
        XCTAssertEqual(home.failure { _ = try home.replica(1).approve(words: words) }, .formatTooNew)
        let recovery = try XCTUnwrap(home.recovery)
        XCTAssertEqual(home.failure { _ = try home.replica(1).removeOthers(recovery: recovery) }, .formatTooNew)
        XCTAssertEqual(try home.allFiles(), files, "something was published")
        // Leaving changes nothing for others, and is no use of what is not understood.
        XCTAssertEqual(try home.replica(1).leave().isTold, true)
    }

    // MARK: membersDiffer

    func testTwoMembersWithTheSameRecordsAndOtherMembersAreTold() throws {
        let home = try twoDevices()
        let sealed = try home.container.sealed(by: home.replica(1).requiredMembership().seal())
        var head = try XCTUnwrap(sealed.readHead(of: home.device(1)))
        var part = try XCTUnwrap(head.sealed)
        part.knowledge = MembershipKnowledge(
            records: part.knowledge.records, recordsDigest: part.knowledge.recordsDigest,
            rosterDigest: [UInt8](repeating: 6, count: 32))
        head.sealed = part
        try sealed.writeHead(head, under: sealed.sealingEpoch())

        // `status` tells that before any sync has met it.
        let peers = try home.replica(0).status().devices
        XCTAssertEqual(peers.map(\.problemCode), ["membersDiffer"])
        XCTAssertEqual(peers.first?.problem?.contains("takes other devices for members"), true, "\(peers)")
        let waiting = try home.replica(0).sync().waiting
        XCTAssertEqual(waiting.map(\.code), ["membersDiffer"])
        XCTAssertEqual(waiting.map(\.device), ["device1"])
        let findings = try home.replica(0).examine().findings
        XCTAssertTrue(
            findings.contains { $0.subject == "device1" && $0.advice.contains("Update Ferry") }, "\(findings)")
        // Rows go on travelling, and the next head of the device is a right one.
        try home.write(0, "second")
        try home.write(1, "third")
        try home.assertAgreement([0, 1], ["first", "second", "third"], members: 2)
        XCTAssertEqual(try home.replica(0).sync().waiting.map(\.code), [])
        XCTAssertEqual(try home.replica(0).status().devices.map(\.problemCode), [nil])
    }
}
