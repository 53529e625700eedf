import FerryContainer
import FerryCore
import FerryMembers
import FerryStore
import XCTest

@testable import FerryEngine

/// What was published before a container was sealed goes, and nothing is lost by that.
final class FormerFilesTests: XCTestCase {
    private static let magics = ["FRYS", "FRYH", "FRYM", "FRYC", "FRYV"].map { Array($0.utf8) }

    /// The paths of all files that everybody can read.
    private func plainFiles(_ home: SealedHome) throws -> [String] {
        try home.allFiles().filter { file in Self.magics.contains { file.value.starts(with: $0) } }.keys.sorted()
    }

    private func openDevices(_ count: Int) throws -> SealedHome {
        let home = try SealedHome()
        try home.found(sealing: .open)
        try home.write(0, "row 0")
        for index in 1..<count {
            home.addComputer()
            try home.join(index, nil)
            try home.write(index, "row \(index)")
        }
        try home.settle()
        return home
    }

    private func enrol(_ home: SealedHome, _ index: Int) throws {
        let enrolment = try home.begin(index, .code(home.replica(0).invite().code))
        _ = try home.replica(0).sync()
        _ = try home.replica(index).enrol(enrolment)
        _ = try home.replica(0).sync()
    }

    private func warnings(_ home: SealedHome, _ index: Int) throws -> [String] {
        try home.replica(index).examine().findings.filter {
            $0.severity == .warning && $0.problem.contains("before the container was sealed")
        }
        .map { "\($0.problem) \($0.advice)" }
    }

    func testEachDeviceRemovesItsOwnAnHourAfterItBecameAMember() throws {
        let home = try openDevices(2)
        let former = [try home.device(0), try home.device(1)]
        _ = try home.seal(0)
        try home.settle([0])
        XCTAssertEqual(try warnings(home, 0).count, 2)
        home.clock.advance(hours: 1)
        try home.settle([0])
        let rest = try plainFiles(home)
        XCTAssertTrue(rest.allSatisfy { $0.contains(former[1].hex) } && !rest.isEmpty, "\(rest)")
        try enrol(home, 1)
        XCTAssertEqual(try plainFiles(home), rest)
        home.clock.advance(hours: 1)
        try home.assertAgreement([0, 1], ["row 0", "row 1"], members: 2)
        XCTAssertEqual(try plainFiles(home), [])
        for (path, bytes) in try home.allFiles() { XCTAssertNil(bytes.firstRange(of: Array("row 0".utf8)), path) }
        XCTAssertTrue(try Set(home.container.directories()).isDisjoint(with: former))
        XCTAssertEqual(try warnings(home, 0), [])
        let newcomer = try home.invite(by: 1)
        try home.assertAgreement([0, 1, newcomer], ["row 0", "row 1"], members: 3)
    }

    func testADeviceOfTheOpenTimeComesBackLateWithWhatWaits() throws {
        let home = try openDevices(3)
        try home.write(0, "not read by the late one")
        _ = try home.replica(0).sync()
        try home.write(2, "never sent")
        _ = try home.seal(0)
        try enrol(home, 1)
        for _ in 0..<60 {
            home.clock.advance(hours: 12)
            try home.write(0, "later")
            try home.settle([0, 1])
        }
        XCTAssertTrue(try plainFiles(home).allSatisfy { $0.contains((try? home.device(2).hex) ?? "-") })
        try enrol(home, 2)
        home.clock.advance(hours: 1)
        let rows = ["row 0", "row 1", "row 2", "not read by the late one", "never sent"]
        try home.assertAgreement([0, 1, 2], rows + Array(repeating: "later", count: 60), members: 3)
        XCTAssertEqual(try plainFiles(home), [])
    }

    func testFilesOfAComputerThatIsGoneAreRemovedByAPerson() throws {
        let home = try openDevices(3)
        let gone = try home.device(2)
        _ = try home.seal(0)
        home.computers[2].replica = nil
        try enrol(home, 1)
        home.clock.advance(hours: 24)
        try home.settle([0, 1])
        XCTAssertTrue(try plainFiles(home).allSatisfy { $0.contains(gone.hex) })
        XCTAssertTrue(try warnings(home, 1).first?.contains("--clean") ?? false)
        let report = try home.replica(1).removeFormerFiles()
        XCTAssertEqual(report.cleaned.map(\.id), [gone.description])
        XCTAssertEqual(report.keptFiles, [])
        XCTAssertEqual(try plainFiles(home), [])
        XCTAssertEqual(try home.replica(1).removeFormerFiles(), FormerFilesReport(cleaned: [], keptFiles: []))
        try home.assertAgreement([0, 1], ["row 0", "row 1", "row 2"], members: 2)
    }

    /// The second device's last segment arrives after the container was sealed.
    private func sealedWithALateSegment() throws -> (SealedHome, DeviceID) {
        let home = try openDevices(2)
        let device = try home.device(1)
        let before = Set(try home.allFiles().keys)
        try home.write(1, "late")
        _ = try home.replica(1).sync()
        let news = try home.allFiles().filter { !before.contains($0.key) }
        for path in news.keys { try home.files.removeFile(at: path) }
        _ = try home.replica(0).seal(recovery: nil, anyway: true)
        for (path, bytes) in news { try home.files.write(bytes, toNewFileAt: path) }
        home.clock.advance(hours: 2)
        try home.settle([0])
        return (home, device)
    }

    func testChangesThatNoMemberHasStay() throws {
        let (home, device) = try sealedWithALateSegment()
        let report = try home.replica(0).removeFormerFiles()
        XCTAssertEqual(report.keptFiles.map(\.id), [device.description])
        XCTAssertTrue(report.keptFiles[0].reason.contains("beyond what was accepted"), report.keptFiles[0].reason)
        XCTAssertFalse(try plainFiles(home).isEmpty)
        // The device has them, and its enrolment brings them.
        try enrol(home, 1)
        home.clock.advance(hours: 1)
        try home.assertAgreement([0, 1], ["row 0", "row 1", "late"], members: 2)
        // Another copy of its database may have written the file, so a person decides.
        XCTAssertFalse(try plainFiles(home).isEmpty)
        XCTAssertTrue(try warnings(home, 1).contains { $0.contains("--clean --anyway") })
        XCTAssertEqual(try home.replica(1).removeFormerFiles(anyway: true).cleaned.map(\.id), [device.description])
        XCTAssertEqual(try plainFiles(home), [])
        try home.assertAgreement([0, 1], ["row 0", "row 1", "late"], members: 2)
    }

    func testWhatNoMemberHasIsRemovedOnPurpose() throws {
        let (home, device) = try sealedWithALateSegment()
        XCTAssertEqual(try home.replica(0).removeFormerFiles(anyway: true).cleaned.map(\.id), [device.description])
        XCTAssertEqual(try plainFiles(home), [])
    }

    func testAFileThatFerryDoesNotKnowKeepsTheOthers() throws {
        let home = try openDevices(2)
        let former = try home.device(0)
        let segment = try XCTUnwrap(try plainFiles(home).first { $0.contains(former.hex) && $0.hasSuffix(".segment") })
        let copy = segment.dropLast(".segment".count) + " (conflicted copy).segment"
        try home.files.write(home.files.readFile(at: segment, maximumBytes: 1 << 20) ?? [], toNewFileAt: String(copy))
        _ = try home.seal(0)
        home.clock.advance(hours: 2)
        try home.settle([0])
        XCTAssertTrue(try plainFiles(home).contains(segment))
        XCTAssertTrue(try warnings(home, 0).contains { $0.contains("conflicted copy") })
        try home.files.removeFile(at: String(copy))
        try home.settle([0])
        XCTAssertFalse(try plainFiles(home).contains { $0.contains(former.hex) })
    }

    func testFilesThatAreNobodysNeitherKeepTheOthersNorGo() throws {
        let home = try openDevices(2)
        let former = [try home.device(0), try home.device(1)]
        var strays: Set<String> = []
        for device in former {
            let directory = SealedHome.place + "/devices/" + device.hex
            for name in [".DS_Store", "segments/desktop.ini"] {
                try home.files.write([1], toNewFileAt: directory + "/" + name)
                strays.insert(directory + "/" + name)
            }
        }
        _ = try home.seal(0)
        home.clock.advance(hours: 2)
        try home.settle([0])
        XCTAssertFalse(try plainFiles(home).contains { $0.contains(former[0].hex) })
        XCTAssertEqual(try warnings(home, 0).count, 1)
        let report = try home.replica(0).removeFormerFiles()
        XCTAssertEqual(report.cleaned.map(\.id), [former[1].description])
        XCTAssertEqual(Set(report.keptFiles.map(\.id)), Set(former.map(\.description)))
        for kept in report.keptFiles {
            XCTAssertTrue(kept.reason.contains(".DS_Store") && kept.reason.contains("desktop.ini"), kept.reason)
        }
        XCTAssertEqual(try plainFiles(home), [])
        XCTAssertTrue(strays.isSubset(of: try home.allFiles().keys))
        // Nobody can read anything of the open time any more.
        XCTAssertEqual(try warnings(home, 0), [])
        let notes = try home.replica(0).examine().findings.filter { $0.problem.contains("are gone") }
        XCTAssertEqual(notes.map(\.severity), [.note, .note])
        XCTAssertEqual(try home.replica(0).removeFormerFiles().cleaned, [])
    }

    func testAClaimThatCameBackGoesWithTheOthers() throws {
        let home = try SealedHome()
        try home.found()
        let code = try home.replica(0).invite().code
        let index = home.addComputer()
        let enrolment = try home.begin(index, .code(code))
        let claim = try XCTUnwrap(try home.allFiles().first { $0.key.hasSuffix("/claim") })
        _ = try home.replica(0).sync()
        try home.join(index, enrolment)
        try home.settle()
        let former = try home.device(index)
        try home.files.write(claim.value, toNewFileAt: claim.key)
        _ = try home.seal(0, anew: true)
        let report = try home.replica(0).removeFormerFiles()
        XCTAssertEqual(report.keptFiles, [])
        XCTAssertTrue(report.cleaned.contains { $0.id == former.description })
        XCTAssertNil(try home.allFiles()[claim.key])
    }

    func testFilesStayUntilMembersHaveReplayedThem() throws {
        let home = try openDevices(2)
        let former = try home.device(0)
        _ = try home.seal(0)
        try enrol(home, 1)
        try home.settle()
        let replica = try home.replica(0)
        let container = try replica.openContainer()
        let membership = try XCTUnwrap(replica.membership())
        var heads = try ContainerView(container, except: replica.identity.device).heads
        let remains = try container.remains(of: former)
        func obstacle() throws -> FormerFiles.Obstacle? {
            try FormerFiles(container, membership, heads: heads, forked: []).obstacle(to: remains)
        }
        XCTAssertNil(try obstacle())
        let member = try home.device(1)
        heads[member]?.acknowledgements[former] = nil
        XCTAssertEqual(try obstacle(), .notReplayed(by: member))
        heads = [:]
        XCTAssertEqual(
            try FormerFiles(container, membership, heads: heads, forked: [former]).obstacle(to: remains), .forked)
        for path in try home.allFiles().keys where path.hasSuffix(".snapshot") || path.hasSuffix(".chunk") {
            try home.files.removeFile(at: path)
        }
        XCTAssertEqual(try obstacle(), .inNoSnapshot)
    }

    func testAnOpenContainerHasNothingToClean() throws {
        let home = try openDevices(2)
        XCTAssertEqual(home.failure { _ = try home.replica(0).removeFormerFiles() }, .invalidArgument)
        home.clock.advance(hours: 2)
        try home.settle()
        XCTAssertFalse(try plainFiles(home).isEmpty)
    }

    func testFilesOfAFormerMembershipGoToo() throws {
        let home = try SealedHome()
        try home.found()
        try home.write(0, "row 0")
        try home.invite(by: 0)
        try home.settle()
        let former = try home.device(0)
        _ = try home.seal(0, anew: true)
        home.clock.advance(hours: 1)
        try home.settle([0])
        XCTAssertFalse(try home.allFiles().keys.contains { $0.contains(former.hex) && !$0.contains("/members/") })
        XCTAssertEqual(try home.replica(0).examine().findings.filter { $0.problem.contains("others than members") }, [])
        try enrol(home, 1)
        try home.assertAgreement([0, 1], ["row 0"], members: 2)
    }
}
