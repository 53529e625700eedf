import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// An open container is sealed in mid-life, and a sealed one is founded anew.
final class SealingStoryTests: XCTestCase {
    private func openDevices() throws -> SealedHome {
        let home = try SealedHome()
        try home.found(sealing: .open)
        try home.write(0, "first")
        home.addComputer()
        try home.join(1, nil)
        try home.write(1, "second")
        try home.settle()
        return home
    }

    private func enrol(_ home: SealedHome, _ index: Int) throws {
        let enrolment = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(index).enrol(enrolment)
        _ = try home.replica(0).sync()
    }

    func testAnOpenContainerIsSealedAndTheOthersEnrol() throws {
        let home = try openDevices()
        try home.write(1, "not heard of")
        XCTAssertEqual(try home.seal(0).accepted.count, 2)
        XCTAssertEqual(home.failure { _ = try home.replica(1).sync() }, .keyMissing)
        XCTAssertEqual(try home.names(1), ["first", "not heard of", "second"])
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "second", "not heard of"], members: 2)
    }

    func testANewcomerOfASealedContainerGetsAllRows() throws {
        let home = try openDevices()
        _ = try home.seal(0)
        let index = try home.invite(by: 0)
        try home.assertAgreement([0, index], ["first", "second"], members: 2)
    }

    func testWhatAnotherDeviceAloneHeardIsNotLost() throws {
        let home = try openDevices()
        home.addComputer()
        try home.join(2, nil)
        try home.settle()
        try home.write(2, "heard of by one")
        _ = try home.replica(2).sync()
        _ = try home.replica(1).sync()
        // The third computer is lost; the sealing device has not seen its last segment.
        let files = try home.allFiles().keys.filter {
            $0.contains((try? home.device(2).hex) ?? "-")
        }
        for file in files { _ = try home.files.removeFile(at: file) }
        _ = try home.replica(0).seal(recovery: nil, anyway: true)
        home.computers[2].replica = nil
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "second", "heard of by one"], members: 2)
    }

    func testSealingWaitsForFilesThatHaveNotArrived() throws {
        let home = try openDevices()
        try home.write(1, "cut off")
        _ = try home.replica(1).sync()
        let device = try home.device(1)
        let segment = try XCTUnwrap(
            home.allFiles().keys.filter { $0.contains(device.hex) && $0.hasSuffix(".segment") }.sorted().last)
        let bytes = try XCTUnwrap(home.files.readFile(at: segment, maximumBytes: 1 << 20))
        _ = try home.files.removeFile(at: segment)
        try home.files.write(Array(bytes.prefix(20)), toNewFileAt: segment)
        XCTAssertEqual(home.failure { _ = try home.seal(0) }, .fileNotThereYet)
        XCTAssertEqual(try home.container.details.sealing, .none)
    }

    func testAContainerIsNotSealedTwice() throws {
        let home = try openDevices()
        XCTAssertEqual(home.failure { _ = try home.seal(0, anew: true) }, .invalidArgument)
        _ = try home.seal(0)
        XCTAssertEqual(home.failure { _ = try home.seal(0) }, .invalidArgument)
    }

    func testAMembershipIsFoundedAnew() throws {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "first")
        try home.invite(by: 0)
        try home.write(1, "second")
        try home.settle()
        let former = try XCTUnwrap(home.recovery)
        _ = try home.seal(0, anew: true)
        XCTAssertFalse(try home.replica(0).isRecoveryCode(former))
        try home.write(1, "third")
        XCTAssertNotNil(home.failure { _ = try home.replica(1).sync() })
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["first", "second", "third"], members: 2)
    }
}
