import FerryContainer
import FerryCore
import FerryMembers
import XCTest

@testable import FerryEngine

/// Records of the members that a syncer, a disk or a person damaged: a member that has the record puts the record back, and a device
/// without the record names the file.
final class DamagedRecordTests: XCTestCase {
    private static let damages: [(name: String, change: @Sendable ([UInt8]) -> [UInt8])] = [
        ("cut off", { Array($0.prefix(100)) }), ("empty", { _ in [] }), ("flipped", { flipped($0, at: 60) }),
        ("falsely signed", { flipped($0, at: $0.count - 1) }),
    ]

    @Sendable private static func flipped(_ bytes: [UInt8], at place: Int) -> [UInt8] {
        var bytes = bytes
        bytes[place] ^= 1
        return bytes
    }

    private func records(_ home: SealedHome) throws -> [String: [UInt8]] {
        try home.allFiles().filter { $0.key.hasSuffix(".record") }
    }

    private func replace(_ path: String, with bytes: [UInt8], _ home: SealedHome) throws {
        try home.files.removeFile(at: path)
        try home.files.write(bytes, toNewFileAt: path)
    }

    /// Three devices that know each other; the third lacks the records of the second's removal.
    private func removal() throws -> (home: SealedHome, news: [String: [UInt8]]) {
        let home = try SealedHome()
        try home.found()
        for _ in 1...2 { try home.invite(by: 0) }
        try home.settle()
        let before = try records(home)
        _ = try home.replica(0).remove("device1")
        return (home, try records(home).filter { before[$0.key] == nil })
    }

    func testADamagedRecordIsPutBackByAMemberThatHasIt() throws {
        for damage in Self.damages {
            let home = try SealedHome()
            try home.found()
            try home.invite(by: 0)
            try home.settle()
            let whole = try records(home)
            for (path, bytes) in whole { try replace(path, with: damage.change(bytes), home) }
            let findings = try home.replica(1).examine().findings
            XCTAssertEqual(Set(findings.compactMap(\.file)), Set(whole.keys), damage.name)
            XCTAssertTrue(findings.allSatisfy(\.canBeRepaired), "\(damage.name) \(findings)")
            // Any member mends the files of all.
            _ = try home.replica(1).sync()
            XCTAssertTrue(try records(home) == whole, damage.name)
            for index in 0...1 {
                XCTAssertEqual(try home.replica(index).examine().findings.map(\.problem), [], damage.name)
            }
            let newcomer = home.addComputer()
            try home.join(newcomer, home.begin(newcomer, .recovery(XCTUnwrap(home.recovery))))
            try home.assertAgreement([0, 1, newcomer], [], members: 3)
        }
    }

    func testADeviceWithoutADamagedRecordNamesItUntilAnotherHasPutItBack() throws {
        for damage in Self.damages {
            let (home, news) = try removal()
            for (path, bytes) in news { try replace(path, with: damage.change(bytes), home) }
            try home.write(2, "of the third")
            let waiting = try home.replica(2).sync().waiting
            XCTAssertEqual(waiting.map(\.device), ["device0"], damage.name)
            let file = try XCTUnwrap(waiting.first?.file, damage.name)
            XCTAssertNotNil(news[file], damage.name)
            XCTAssertTrue(waiting[0].reason.contains("puts it back"), waiting[0].reason)
            XCTAssertNotNil(try home.replica(2).status().devices.first { $0.name == "device0" }?.problem, damage.name)
            let findings = try home.replica(2).examine().findings
            for path in news.keys { XCTAssertTrue(findings.contains { $0.file == path }, "\(damage.name) \(findings)") }
            XCTAssertEqual(try home.roster(2).members.count, 3)
            try home.settle([0, 2])
            XCTAssertTrue(try records(home).filter { news[$0.key] != nil } == news, damage.name)
            XCTAssertEqual(try home.replica(2).sync().waiting.count, 0, damage.name)
            try home.assertAgreement([0, 2], ["of the third"], members: 2)
        }
    }

    func testAFalselySignedFileDoesNotHideTheRecord() throws {
        let (home, news) = try removal()
        // The same process reads the damaged files first, and later the whole files.
        for (path, bytes) in news { try replace(path, with: Self.flipped(bytes, at: bytes.count - 1), home) }
        _ = try home.replica(2).sync()
        XCTAssertEqual(try home.roster(2).members.count, 3)
        for (path, bytes) in news { try replace(path, with: bytes, home) }
        _ = try home.replica(2).sync()
        XCTAssertEqual(try home.roster(2).members.count, 2)
    }

    func testACopyInAnotherDirectoryStandsForADamagedFile() throws {
        let (home, news) = try removal()
        for (path, bytes) in news {
            let name = try XCTUnwrap(path.split(separator: "/").last)
            let other = try "\(SealedHome.place)/devices/\(home.device(2).hex)/members"
            try home.files.createDirectory(at: other)
            try home.files.write(bytes, toNewFileAt: "\(other)/\(name)")
            try replace(path, with: Self.flipped(bytes, at: bytes.count - 1), home)
        }
        _ = try home.replica(2).sync()
        XCTAssertEqual(try home.roster(2).members.count, 2)
    }

    func testRecordsOfAFormerMembershipAreNotDamaged() throws {
        let home = try SealedHome()
        try home.found()
        let index = home.addComputer()
        try home.join(index, home.begin(index, .recovery(XCTUnwrap(home.recovery))))
        try home.settle()
        let former = try records(home)
        _ = try home.seal(0, anew: true)
        for _ in 0..<2 { XCTAssertEqual(try home.replica(0).sync().waiting.map(\.reason), []) }
        XCTAssertTrue(try home.replica(0).examine().findings.allSatisfy { !$0.problem.contains("record") })
        XCTAssertTrue(try Set(former.keys).isSubset(of: records(home).keys))
    }

    func testWhatCannotBeReplacedStopsNobody() throws {
        let home = try SealedHome()
        try home.found()
        try home.invite(by: 0)
        try home.settle()
        let whole = try records(home)
        let own = try home.device(0).hex
        let path = try XCTUnwrap(whole.keys.filter { $0.contains(own) }.min())
        try home.files.removeFile(at: path)
        try home.files.createDirectory(at: path)
        try home.files.createDirectory(at: path + "/inner")
        try home.write(1, "goes on")
        let report = try home.replica(1).sync()
        XCTAssertEqual(report.waiting.map(\.file), [path])
        // The record is in a directory that can be written.
        let name = try XCTUnwrap(path.split(separator: "/").last)
        XCTAssertEqual(try records(home).first { $0.key.hasSuffix(name) }?.value, whole[path])
        XCTAssertTrue(
            try home.replica(1).examine(isRepairing: true).findings.contains { $0.file == path && !$0.isRepaired })
        _ = try home.replica(0).sync()
        XCTAssertEqual(try home.names(0), ["goes on"])
    }

    func testADamagedRecordInAStorageIsPutBack() throws {
        let home = try RemoteHome()
        home.isSealed = true
        for _ in 0..<2 { try home.addDevice() }
        try home.settle()
        func records() -> [String: [UInt8]] { home.storage.contents.filter { $0.key.hasSuffix(".record") } }
        let whole = records()
        XCTAssertGreaterThan(whole.count, 1)
        for damage in Self.damages {
            for (path, bytes) in whole { home.storage.set(path, damage.change(bytes)) }
            try home.reopen(0)
            let findings = try home.replicas[0].examine().findings
            for path in whole.keys {
                XCTAssertTrue(findings.contains { $0.file?.hasSuffix(path) ?? false }, damage.name)
            }
            if damage.change(Array(repeating: 0, count: 200)).count == 200 {
                // Another length shows in a listing; a reading of each record would be a request.
                XCTAssertTrue(try home.replicas[0].examine(isRepairing: true).isHealthy)
            } else {
                _ = try home.replicas[0].sync()
            }
            XCTAssertTrue(records() == whole, damage.name)
        }
    }
}
