import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// The folder moves while a device is away or out: the device finds the new place, and the way back into the membership.
final class MovedMembershipTests: XCTestCase {
    private static let place = "/shared/d"

    /// Moves every file of the container to a new place.
    private func move(_ home: SealedHome) throws {
        for (path, bytes) in try home.allFiles() where path.hasPrefix(SealedHome.place + "/") {
            let target = Self.place + path.dropFirst(SealedHome.place.count)
            var directory = ""
            for part in target.split(separator: "/").dropLast() {
                directory += "/" + part
                _ = try? home.files.createDirectory(at: directory)  // most are there
            }
            try home.files.write(bytes, toNewFileAt: target)
            _ = try home.files.removeFile(at: path)
        }
    }

    private func enrol(_ home: SealedHome, _ index: Int) throws {
        let recovery = try XCTUnwrap(home.recovery)
        let enrolment = try Enrolment.begin(
            containerPath: Self.place, by: .recovery(recovery), environment: home.environment(index))
        _ = try home.replica(index).enrol(enrolment)
    }

    private func twoDevices(sealing: ContainerSealing? = nil) throws -> SealedHome {
        let home = try SealedHome()
        try home.found(sealing: sealing)
        try home.write(0, "first")
        if sealing == nil {
            try home.invite(by: 0)
        } else {
            home.addComputer()
            try home.join(1, nil)
        }
        try home.settle()
        return home
    }

    func testADeviceThatWasAwayWhileTheContainerWasSealedAndMoved() throws {
        let home = try twoDevices(sealing: .open)
        try home.write(1, "waits")
        _ = try home.seal(0)
        try move(home)
        _ = try home.replica(0).relocate(to: Self.place)
        XCTAssertThrowsError(try home.replica(1).checkNeedsEnrolment()) {
            XCTAssertTrue("\($0)".contains("`ferry relocate`"), "\($0)")
        }
        let report = try home.replica(1).relocate(to: Self.place)
        XCTAssertTrue(report.needsEnrolment)
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .keyMissing)
        try home.replica(1).checkNeedsEnrolment()
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "waits"], members: 2)
    }

    func testADeviceThatWasAwayWhileTheMembershipWasFoundedAnewAndMoved() throws {
        let home = try twoDevices()
        try home.write(1, "waits")
        _ = try home.seal(0, anew: true)
        try move(home)
        _ = try home.replica(0).relocate(to: Self.place)
        XCTAssertTrue(try home.replica(1).relocate(to: Self.place).needsEnrolment)
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .containerMismatch)
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "waits"], members: 2)
    }

    func testARemovedDeviceFindsTheFolderAndComesBack() throws {
        let home = try twoDevices()
        try home.write(1, "published")
        try home.settle()
        _ = try home.replica(0).remove("device1")
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .notMember)
        try move(home)
        _ = try home.replica(0).relocate(to: Self.place)
        let report = try home.replica(1).relocate(to: Self.place)
        XCTAssertEqual(report.missing, 0)
        XCTAssertTrue(report.needsEnrolment)
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "published"], members: 2)
    }

    func testAMemberIsToldNothingOfAnEnrolment() throws {
        let home = try twoDevices()
        try move(home)
        for index in [0, 1] { XCTAssertFalse(try home.replica(index).relocate(to: Self.place).needsEnrolment) }
        try home.assertAgreement([0, 1], ["first"], members: 2)
    }

    func testAnotherContainerAndAnOpenMarkerAreRefusedStill() throws {
        let home = try twoDevices()
        let other = try ContainerDescription(
            id: home.container.id, name: "other", createdMilliseconds: 0, sealing: .none)
        try home.files.createDirectory(at: Self.place)
        _ = try Container.create(
            at: Self.place, describedBy: other, fileSystem: home.files, random: SystemRandom())
        XCTAssertEqual(home.failure { _ = try home.replica(1).relocate(to: Self.place) }, .notSealed)
    }

    // MARK: Put back after leaving

    func testADatabaseAndKeysPutBackAfterLeavingAreToldToEnrol() throws {
        let home = try twoDevices()
        let backup = home.folder.appendingPathComponent("backup.sqlite").path
        try home.replica(1).store.copy(to: backup)
        let keys = try XCTUnwrap(home.computers[1].keys.load(home.device(1)))
        XCTAssertEqual(try home.replica(1).leave().isTold, true)
        _ = try home.replica(0).sync()
        try home.replica(1).store.close()
        try home.computers[1].keys.save(keys)
        home.computers[1].replica = try Replica(
            Store(path: backup, clock: home.clock), environment: home.environment(1))
        try home.write(1, "after the restoration")
        XCTAssertThrowsError(try home.replica(1).sync()) {
            XCTAssertTrue("\($0)".contains("`ferry enrol`"), "\($0)")
            XCTAssertFalse("\($0)".contains("`ferry leave`"), "\($0)")
        }
        let problem = try XCTUnwrap(home.replica(1).status().container.problem)
        XCTAssertTrue(problem.contains("`ferry enrol`"), problem)
        XCTAssertFalse(problem.contains("`ferry leave`"), problem)
        for finding in try home.replica(1).examine().findings where finding.subject == "database" {
            XCTAssertFalse((finding.problem + finding.advice).contains("`ferry leave`"), "\(finding)")
        }
        let enrolment = try home.begin(1, .recovery(XCTUnwrap(home.recovery)))
        _ = try home.replica(1).enrol(enrolment)
        try home.assertAgreement([0, 1], ["first", "after the restoration"], members: 2)
    }

    func testAnInterruptedLeaveIsToldToLeave() throws {
        let home = try twoDevices()
        XCTAssertEqual(try home.replica(1).sayLeaving().isTold, true)
        XCTAssertThrowsError(try home.replica(1).sync()) {
            XCTAssertTrue("\($0)".contains("Run `ferry leave` again"), "\($0)")
        }
        let findings = try home.replica(1).examine().findings.filter { $0.subject == "database" }
        XCTAssertTrue(findings.contains { $0.advice.contains("`ferry leave`") }, "\(findings)")
        XCTAssertFalse(findings.contains { $0.advice.contains("`ferry enrol`") }, "\(findings)")
    }

    func testAnInterruptedLeaveGoesOnWithoutTheKey() throws {
        let home = try twoDevices()
        XCTAssertEqual(try home.replica(1).sayLeaving().isTold, true)
        try home.computers[1].keys.remove(home.device(1))
        try home.reopen(1)
        XCTAssertThrowsError(try home.replica(1).sync()) {
            XCTAssertTrue("\($0)".contains("Run `ferry leave` again"), "\($0)")
        }
        let findings = try home.replica(1).examine().findings
        XCTAssertTrue(findings.contains { $0.advice.contains("`ferry leave`") }, "\(findings)")
        XCTAssertFalse(findings.contains { $0.advice.contains("`ferry enrol`") }, "\(findings)")
        let report = try home.replica(1).leave()
        XCTAssertEqual(report.isTold, true)
        XCTAssertNil(report.untoldReason)
        try home.settle([0])
        XCTAssertEqual(try home.roster(0).members.count, 1)
    }

    /// The record was made before the crash, and the folder got it afterwards.
    func testARecordThatWaitsIsPublishedWithoutTheKey() throws {
        let home = try twoDevices()
        home.files.inject(.kill, afterSteps: 0)
        XCTAssertThrowsError(try home.replica(1).sayLeaving())
        home.files.crash(losing: .nothing)
        try home.computers[1].keys.remove(home.device(1))
        try home.reopen(1)
        XCTAssertEqual(try home.replica(1).leave().isTold, true)
        try home.settle([0])
        XCTAssertEqual(try home.roster(0).members.count, 1)
    }

    // MARK: Nobody is a member

    func testWhereNobodyIsAMemberNobodyIsToldToAsk() throws {
        let home = try SealedHome()
        try home.found(recovery: false)
        try home.invite(by: 0)
        try home.settle()
        for index in [1, 0] {
            XCTAssertEqual(try home.replica(index).sayLeaving().isTold, true)
        }
        let index = home.addComputer()
        XCTAssertEqual(home.failure { _ = try home.begin(index, .words) }, .codeRefused)
    }

    // MARK: A folder that was set back

    private func setBack(_ home: SealedHome, to files: [String: [UInt8]]) throws {
        for path in try home.allFiles().keys { _ = try home.files.removeFile(at: path) }
        for (path, bytes) in files { try home.files.write(bytes, toNewFileAt: path) }
    }

    /// Every device is refused, a member's doctor writes the present membership again, and a sync on every device brings the rest.
    private func assertMended(_ home: SealedHome, _ code: FerryError.Code) throws {
        for index in [0, 1] {
            try home.write(index, "after \(index)")
            try home.reopen(index)
            XCTAssertThrowsError(try home.replica(index).sync()) {
                XCTAssertEqual(($0 as? FerryError)?.code, code)
                XCTAssertTrue("\($0)".contains("`ferry doctor --repair`"), "\($0)")
            }
            let report = try home.replica(index).examine()
            XCTAssertTrue(report.findings.contains { $0.canBeRepaired && $0.problem.contains("set back") }, "\(report)")
        }
        let report = try home.replica(1).examine(isRepairing: true)
        XCTAssertTrue(report.findings.contains { $0.isRepaired && $0.problem.contains("set back") }, "\(report)")
        try home.assertAgreement([0, 1], ["first", "later", "after 0", "after 1"], members: 2)
        let index = try home.invite(by: 0)
        try home.assertAgreement([0, 1, index], ["first", "later", "after 0", "after 1"], members: 3)
    }

    func testAFolderSetBackToTheOpenTimeIsMended() throws {
        let home = try twoDevices(sealing: .open)
        let backup = try home.allFiles()
        _ = try home.seal(0)
        _ = try home.replica(1).enrol(home.begin(1, .recovery(XCTUnwrap(home.recovery))))
        try home.write(0, "later")
        try home.settle()
        try setBack(home, to: backup)
        try assertMended(home, .notSealed)
    }

    func testAFolderSetBackToTheFormerMembershipIsMended() throws {
        let home = try twoDevices()
        let backup = try home.allFiles()
        _ = try home.seal(0, anew: true)
        _ = try home.replica(1).enrol(home.begin(1, .recovery(XCTUnwrap(home.recovery))))
        try home.write(0, "later")
        try home.settle()
        try setBack(home, to: backup)
        try assertMended(home, .containerMismatch)
    }

    /// The folder showed the former membership, and a device enrolled there. The membership that the device left is the later one, so nobody
    /// calls it set back, and the device mends nothing with what it has.
    func testADeviceThatEnrolledInTheFormerMembershipMendsNothing() throws {
        let home = try twoDevices()
        let backup = try home.allFiles()
        let recovery = try XCTUnwrap(home.recovery)
        home.clock.advance(hours: 1)
        _ = try home.seal(0, anew: true)
        _ = try home.replica(1).enrol(home.begin(1, .recovery(XCTUnwrap(home.recovery))))
        try home.settle()
        let present = try home.container.details.sealing
        try setBack(home, to: backup)
        try home.reopen(1)
        _ = try home.replica(1).enrol(home.begin(1, .recovery(recovery)))
        try home.reopen(0)
        _ = try home.replica(0).examine(isRepairing: true)
        XCTAssertEqual(try home.container.details.sealing, present)
        XCTAssertThrowsError(try home.replica(1).sync()) {
            XCTAssertEqual(($0 as? FerryError)?.code, .containerMismatch)
            XCTAssertFalse("\($0)".contains("doctor --repair"), "\($0)")
        }
        _ = try home.replica(1).examine(isRepairing: true)
        XCTAssertEqual(try home.container.details.sealing, present)
        _ = try home.replica(1).enrol(home.begin(1, .recovery(XCTUnwrap(home.recovery))))
        try home.write(1, "after")
        try home.assertAgreement([0, 1], ["first", "after"], members: 3)
    }

    func testADeviceOfTheFormerMembershipMendsNothing() throws {
        let home = try twoDevices()
        _ = try home.seal(0, anew: true)
        let marker = try home.container.details
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .containerMismatch)
        let report = try home.replica(1).examine(isRepairing: true)
        XCTAssertFalse(report.findings.contains { $0.canBeRepaired }, "\(report)")
        XCTAssertEqual(try home.container.details, marker)
    }

    // MARK: A copy that cannot take part

    func testACopyWithoutItsKeyIsExamined() throws {
        let home = try twoDevices()
        let index = home.addComputer()
        try home.replica(1).store.copy(to: home.databasePath(index))
        home.computers[index].replica = try Replica(
            Store(path: home.databasePath(index), clock: home.clock), environment: home.environment(index))
        XCTAssertEqual(try home.replica(index).verify(deep: true).differenceCount, 0)
        try home.write(index, "by the copy")
        let report = try home.replica(index).verify(deep: true)
        XCTAssertEqual(report.differenceCount, 0, "\(report)")
        XCTAssertTrue(report.isReadable)
        // What waits was packed in a copy alone.
        XCTAssertTrue(try home.replica(index).store.needsPass())
        XCTAssertEqual(try home.replica(index).identity.device, try home.device(1))
        let findings = try home.replica(index).examine().findings
        XCTAssertEqual(findings.map(\.severity), [.fault], "\(findings)")
        XCTAssertTrue(findings.contains { $0.advice.contains("`ferry enrol`") }, "\(findings)")
        _ = try home.seal(0, anew: true)
        XCTAssertEqual(try home.replica(index).verify(deep: true).differenceCount, 0)
        XCTAssertTrue(try home.replica(index).examine().findings.contains { $0.advice.contains("`ferry enrol`") })
    }
}
