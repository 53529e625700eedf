import FerryContainer
import FerryCore
import FerryMembers
import FerrySeal
import FerryStore
import XCTest

@testable import FerryEngine

/// A provider that changes, swaps, cuts off, withholds or rolls back what lies in a sealed folder. It delays, and no more: the device
/// whose file is wrong waits with file and reason, all others go on, and with the right file everything arrives.
final class SealedProviderTests: XCTestCase {
    private var home: SealedHome!

    override func setUpWithError() throws {
        home = try SealedHome()
        try home.found()
        try home.invite(by: 0)
        try home.invite(by: 0)
        try home.settle()
    }

    private func directory(_ index: Int) throws -> String { "devices/" + (try home.device(index)).hex }

    /// The paths of a device's segments in the folder, in order.
    private func segments(_ index: Int) throws -> [String] {
        try home.container.backend.list(directory(index) + "/segments", after: nil).map {
            try directory(index) + "/segments/" + $0
        }
    }

    private func read(_ path: String) throws -> [UInt8] {
        try XCTUnwrap(try home.container.backend.read(path, maximumBytes: 1 << 24), path)
    }

    private func replace(_ path: String, _ bytes: [UInt8]) throws { try home.container.backend.replace(path, bytes) }

    /// Writes a row on a device and publishes it.
    private func publish(_ index: Int, _ name: String) throws {
        try home.write(index, name)
        _ = try home.replica(index).sync()
    }

    /// What the second device waits for after a sync.
    private func waiting() throws -> [SyncReport.Waiting] { try home.replica(1).sync().waiting }

    /// Puts bytes in the place of the founder's last segment, which holds one row that the second device lacks. The third device's
    /// changes arrive meanwhile; with the right file the founder's do too.
    private func assertWaits(
        _ code: FerryError.Code, _ change: ([UInt8]) throws -> [UInt8], file: StaticString = #filePath,
        line: UInt = #line
    ) throws {
        let row = "row \(code.rawValue) \(try segments(0).count)"
        try publish(0, row)
        let path = try XCTUnwrap(try segments(0).last)
        let bytes = try read(path)
        try replace(path, change(bytes))
        try publish(2, "other " + row)
        let waiting = try waiting()
        XCTAssertEqual(waiting.map(\.code), [code.rawValue], file: file, line: line)
        XCTAssertEqual(waiting.first?.device, "device0", file: file, line: line)
        XCTAssertEqual(waiting.first?.file, SealedHome.place + "/" + path, file: file, line: line)
        XCTAssertNotNil(waiting.first?.sinceMilliseconds, file: file, line: line)
        XCTAssertFalse(try home.names(1).contains(row), file: file, line: line)
        XCTAssertTrue(try home.names(1).contains("other " + row), file: file, line: line)
        try replace(path, bytes)
        XCTAssertEqual(try self.waiting().count, 0, file: file, line: line)
        XCTAssertTrue(try home.names(1).contains(row), file: file, line: line)
    }

    func testAChangedFileWaits() throws {
        for place in [200, 130, 90] {
            try assertWaits(.damagedFile) { bytes in
                var changed = bytes
                changed[place] ^= 1
                return changed
            }
        }
    }

    func testAFileThatIsCutOffOrUnderAnUnknownKeyWaits() throws {
        for length in [0, 100, 300] { try assertWaits(.fileNotThereYet) { Array($0.prefix(length)) } }
    }

    func testAPlainFileWaits() throws {
        try assertWaits(.notSealed) { _ in Array("FRYS plain".utf8) }
    }

    func testAnotherFileOfTheSameDeviceWaits() throws {
        try publish(0, "earlier")
        _ = try waiting()
        let other = try read(try XCTUnwrap(try segments(0).first))
        try assertWaits(.damagedFile) { _ in other }
    }

    func testAFileOfAnotherDeviceOrKindWaits() throws {
        try publish(2, "from the third")
        _ = try waiting()
        let foreign = try read(try XCTUnwrap(try segments(2).last))
        let head = try read(directory(0) + "/head")
        for bytes in [foreign, head] { try assertWaits(.foreignFile) { _ in bytes } }
    }

    func testAFileThatWasMovedIntoAnotherDevicesDirectoryChangesNothing() throws {
        try publish(0, "moved")
        let path = try XCTUnwrap(try segments(0).last)
        try replace(path.replacingOccurrences(of: try home.device(0).hex, with: try home.device(2).hex), read(path))
        try publish(2, "of the third")
        XCTAssertEqual(try home.replica(2).sync().renewed, nil, "a stranger's file makes nobody another device")
        try home.settle()
        XCTAssertEqual(try Set(home.names(1)), ["moved", "of the third"])
    }

    func testADamagedPlainOrStaleHeadHoldsNothingBack() throws {
        let path = try directory(0) + "/head"
        let stale = try read(path)
        for bytes in [[1, 2, 3], Array("FRYH plain".utf8), Array(stale.prefix(100)), stale] {
            let row = "behind a head of \(bytes.count) bytes"
            try publish(0, row)
            try replace(path, bytes)
            _ = try waiting()
            XCTAssertTrue(try home.names(1).contains(row), row)
        }
        // An older head than the one that was seen is told.
        try replace(path, stale)
        let told = try home.replica(1).status().devices.first { $0.name == "device0" }
        XCTAssertEqual(told?.problemCode, "olderState")
    }

    func testAFolderThatIsRolledBackUndoesNothing() throws {
        try publish(0, "before")
        try home.settle()
        let before = try home.allFiles()
        try publish(0, "after")
        try publish(2, "also after")
        try home.settle()
        for path in try home.allFiles().keys where before[path] == nil { try home.files.removeFile(at: path) }
        for (path, bytes) in before {
            try home.files.removeFile(at: path)
            try home.files.write(bytes, toNewFileAt: path)
        }
        _ = try waiting()
        XCTAssertEqual(try Set(home.names(1)), ["before", "after", "also after"])
        try publish(1, "later")
        try home.settle()
        XCTAssertEqual(try Set(home.names(1)), ["before", "after", "also after", "later"])
        XCTAssertTrue(try home.names(0).contains("later"))
    }

    func testAMemberThatWasShownAnotherLogIsTold() throws {
        try publish(0, "one")
        try home.settle()
        XCTAssertEqual(try faults(), [])
        // The third device's head tells another end of the founder's log.
        let container = try home.replica(2).openContainer()
        var head = try XCTUnwrap(try container.readHead(of: home.device(2)))
        head.sealed?.chainEnds[try home.device(0)] = 0x0bad
        try container.writeHead(head, under: container.sealingEpoch())
        let told = try faults()
        XCTAssertEqual(told.count, 1)
        XCTAssertTrue(told[0].contains("other changes of device0"), told[0])
        // A pass and the status tell the same, as long as it lasts.
        for isThorough in [true, false, true] {
            let waiting = try home.replica(1).sync(isThorough: isThorough).waiting
            XCTAssertEqual(waiting.map(\.code), [FerryError.Code.deviceForked.rawValue])
            XCTAssertEqual(waiting.first?.device, "device0")
            XCTAssertTrue(waiting.first?.reason.contains("device2 replayed other changes of it") ?? false)
        }
        let device = try home.device(0).description
        let status = try home.replica(1).status().devices.first { $0.id == device }
        XCTAssertEqual(status?.problemCode, FerryError.Code.deviceForked.rawValue)
        // The author is told that a member has another log of its own.
        XCTAssertEqual(try home.replica(0).sync().waiting.map(\.device), ["device2"])
        _ = try home.replica(2).sync()
        XCTAssertEqual(try waiting().count, 0)
    }

    func testChangesThatAnotherMemberHasAndThisFolderKeepsBackAreTold() throws {
        try publish(0, "seen by all")
        try home.settle()
        let before = try home.allFiles()
        try publish(0, "kept back")
        _ = try home.replica(2).sync()
        // This device's folder shows the founder as it was, and no snapshot of the third device's.
        func keepBack() throws {
            let (founder, third) = (try home.device(0).hex, try home.device(2).hex)
            for (path, bytes) in try home.allFiles()
            where path.contains(founder) && before[path] != bytes || path.contains(third + "/snapshots/") {
                try home.files.removeFile(at: path)
                if let former = before[path] { try home.files.write(former, toNewFileAt: path) }
            }
        }
        try keepBack()
        XCTAssertEqual(try waiting().count, 0)
        home.clock.advance(hours: 30)
        try keepBack()
        let told = try waiting()
        XCTAssertEqual(told.map(\.device), ["device0"])
        XCTAssertEqual(told.map(\.code), [FerryError.Code.fileNotThereYet.rawValue])
        XCTAssertTrue(told.first?.reason.hasPrefix("device2 has changes of it") ?? false, told.first?.reason ?? "")
        let device = try home.device(0).description
        XCTAssertEqual(
            try home.replica(1).status().devices.first { $0.id == device }?.problemCode,
            FerryError.Code.fileNotThereYet.rawValue)
        XCTAssertTrue(
            try home.replica(1).examine().findings.contains {
                $0.severity == .warning && $0.problem.hasPrefix("device2 has")
            })
        try home.settle()
        XCTAssertEqual(try waiting().count, 0)
        XCTAssertEqual(try Set(home.names(1)), ["seen by all", "kept back"])
    }

    private func faults() throws -> [String] {
        try home.replica(1).examine().findings.filter { $0.severity == .fault }.map(\.problem)
    }

    func testADirectoryThatIsWithheldIsNoDeletion() throws {
        try publish(0, "kept")
        try home.settle()
        for path in try home.allFiles().keys.sorted() where path.contains(try home.device(0).hex) {
            try home.files.removeFile(at: path)
        }
        XCTAssertEqual(try waiting().map(\.code), [])
        XCTAssertEqual(try home.names(1), ["kept"])
        XCTAssertEqual(try home.roster(1).members.count, 3)
        try home.settle()
        try home.assertAgreement([0, 1, 2], ["kept"], members: 3)
    }

    // MARK: The marker

    func testAnotherMarkerStopsEverythingAndChangesWait() throws {
        let marker = try read(ContainerDescription.fileName)
        let container = try home.container
        let strangers = try MemberRecord.first(
            by: DeviceKeys(mintedFor: container.id, random: SystemRandom()), recovery: nil, milliseconds: 1)
        for (sealing, code) in [
            (.none, .notSealed), (.sealed(genesis: strangers.hash), .containerMismatch),
        ] as [(ContainerDescription.Sealing, FerryError.Code)] {
            _ = try container.replaceMarker(
                ContainerDescription(id: container.id, name: "c", createdMilliseconds: 1, sealing: sealing))
            try home.write(1, "written while \(code.rawValue)")
            XCTAssertEqual(home.failure { _ = try self.waiting() }, code)
            XCTAssertEqual(try home.replica(1).store.unpublishedCount() > 0, true)
            try replace(ContainerDescription.fileName, marker)
            XCTAssertEqual(try waiting().count, 0)
        }
        try home.settle()
        XCTAssertEqual(
            try Set(home.names(0)), ["written while notSealed", "written while containerMismatch"])
    }

    func testASecondFoundingInTheFolderLetsNobodyIn() throws {
        let container = try home.container
        let stranger = try DeviceKeys(mintedFor: container.id, random: SystemRandom())
        let first = try MemberRecord.first(by: stranger, recovery: nil, milliseconds: 1)
        try container.publishRecord(first.bytes, name: RecordName(first.hash), of: stranger.device)
        try home.settle()
        XCTAssertEqual(try home.roster(1).members.count, 3)
        try home.assertAgreement([0, 1, 2], [], members: 3)
    }

    func testAnOpenDatabaseMeetsASealedMarker() throws {
        let open = try SealedHome()
        try open.found(sealing: .open)
        try open.write(0, "waits")
        let container = try open.container
        let marker = try XCTUnwrap(try container.backend.read(ContainerDescription.fileName, maximumBytes: 10_000))
        let first = try MemberRecord.first(
            by: DeviceKeys(mintedFor: container.id, random: SystemRandom()), recovery: nil, milliseconds: 1)
        _ = try container.replaceMarker(
            ContainerDescription(
                id: container.id, name: "c", createdMilliseconds: 1, sealing: .sealed(genesis: first.hash)))
        XCTAssertEqual(open.failure { _ = try open.replica(0).sync() }, .keyMissing)
        XCTAssertEqual(try open.replica(0).store.unpublishedCount(), 1)
        XCTAssertEqual(try open.names(0), ["waits"])
        try container.backend.replace(ContainerDescription.fileName, marker)
        XCTAssertEqual(try open.replica(0).sync().published.changes, 1)
    }

    // MARK: A long life

    /// Pack, publish, read, roll up, snapshot, collect, join from a snapshot, and a new epoch in between; nothing plain in the folder.
    func testALongLifeOfTwoMembersAndANewcomer() throws {
        var retention = RetentionSettings()
        retention.rollUpFanout = 4
        retention.snapshotMinimumBytes = 500
        retention.replacedMilliseconds = 1000
        retention.firstSnapshotChangesPerRow = 0.1
        for index in home.computers.indices {
            home.computers[index].replica = try Replica(
                home.replica(index).store, environment: home.environment(index), retention: retention)
        }
        var expected: [String] = []
        var hasBegunLater = false
        for number in 0..<60 {
            expected.append("Marker \(number)")
            try publish(number % 2, expected[number])
            if number == 30 { _ = try home.replica(0).rotateKeys() }
            home.clock.advance(hours: 1)
            for index in 0..<3 { _ = try home.replica(index).sync() }
            hasBegunLater = try hasBegunLater || home.replica(0).store.reading().logStart > 1
        }
        XCTAssertTrue(hasBegunLater, "nothing was collected")
        XCTAssertLessThan(try segments(0).count, 30, "nothing was rolled up")
        try home.assertAgreement([0, 1, 2], expected, members: 3)
        let newcomer = try home.invite(by: 1)
        try home.settle()
        XCTAssertEqual(try home.names(newcomer), expected.sorted())
        for (path, bytes) in try home.allFiles() {
            XCTAssertNil(bytes.firstRange(of: Array("Marker".utf8)), path)
        }
        XCTAssertEqual(try faults(), [])
    }
}
