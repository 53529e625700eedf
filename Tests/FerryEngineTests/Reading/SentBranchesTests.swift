import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import XCTest

@testable import FerryEngine

/// Which part of a former ID's log has certainly come once more under other IDs.
final class SentBranchesTests: XCTestCase {
    private let former = DeviceID(high: 1, low: 1)
    private let successor = DeviceID(high: 2, low: 2)
    private let end = LogEnd(sequence: 9, checksum: Checksum(high: 3, low: 4))

    // MARK: What was sent again

    private func ends(
        sequence: UInt64 = 4, end: LogEnd?, position: UInt64 = 6, published: UInt64 = 2, read: UInt64 = 2
    ) -> Set<LogEnd> {
        var head = Head(
            container: ContainerID(high: 0, low: 1), device: successor, deviceName: "",
            position: LogPosition(sequence: published, time: .zero), writtenMilliseconds: 0, softwareVersion: "")
        head.predecessor = .init(device: former, sequence: sequence, end: end)
        return Successors([successor: head], self: DeviceID(high: 5, low: 5), [])
            .endsSentAgain(former, after: position) { $0 == successor ? read : 0 }
    }

    func testABranchHasComeOnceMoreWhereAllOfItBehindAPositionHasBeenRead() {
        XCTAssertEqual(ends(end: end), [end])
        XCTAssertEqual(ends(sequence: 6, end: end), [end])
        XCTAssertEqual(ends(sequence: 7, end: end), [], "7 was not sent again")
        XCTAssertEqual(ends(end: end, read: 1), [], "what came again is not read")
        XCTAssertEqual(ends(end: nil), [], "nothing tells what came again")
    }

    func testWhatThisDatabaseSaidUnderItsFormerIDsIsKnownToIt() {
        let device = DeviceID(high: 5, low: 5)
        let list = [
            PreviousIdentity(device: successor, sequence: 2),
            PreviousIdentity(device: former, sequence: 4, end: end),
        ]
        let successors = Successors([:], self: device, list)
        XCTAssertEqual(successors.endsSentAgain(former, after: 6) { _ in 0 }, [end])
        XCTAssertEqual(successors.endsSentAgain(former, after: 3) { _ in 0 }, [])
        XCTAssertEqual(successors.endsSentAgain(successor, after: 6) { _ in 0 }, [])
    }

    func testAHeadTellsWhereABranchEndsOnceAllThatComesAgainIsPublished() throws {
        var retention = RetentionSettings()
        retention.gatherBytes = 1
        let home = try MemoryHome(retention: retention)
        try home.addDevice()
        let (replica, former) = (home.replicas[0], home.replicas[0].identity.device)
        let common = try replica.store.versionVector()[former]
        try home.flush(0, 2)
        _ = try replica.store.becomeNewDevice(
            successor, published: PublishedLog(position: common, checksum: nil, isForked: true, end: end),
            fingerprint: replica.fingerprint, encode: replica.segmentEncoding(for: replica.identity))
        try home.reopen(0)
        try home.pack(0, "later")
        let container = try home.container
        let told = Locked<[Head.Predecessor?]>([])
        var report = SyncReport()
        try home.replicas[0].publisher(container).publish(
            &report,
            { [successor] _ in
                let head = try? container.readHead(of: successor)  // the assertion tells
                told.withLock { $0.append(head?.predecessor) }
            }, total: nil)
        let predecessor = Head.Predecessor(device: former, sequence: common.sequence)
        var last = predecessor
        last.end = end
        XCTAssertEqual(told.withLock { $0 }, [predecessor, last])
    }

    // MARK: Whose files they are

    private func checkFiles(
        _ expected: Bool, removing removed: ClosedRange<UInt64>,
        _ change: (MemoryHome) throws -> Void = { _ in }, head: (inout Head) -> Void = { _ in },
        ends: (LogEnd) -> Set<LogEnd> = { [$0] }, line: UInt = #line
    ) throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.flush(0, 8)
        let device = home.replicas[0].identity.device
        let container = try home.container
        var last = try XCTUnwrap(container.readHead(of: device))
        XCTAssertEqual(last.position.sequence, 9)
        let end = LogEnd(sequence: 9, checksum: last.lastSegmentChecksum)
        try change(home)
        try container.removeSegments(
            home.segments(0).filter { $0.first == $0.last && removed.contains($0.first) }, of: device)
        head(&last)
        let branches = SentBranches(container: container, ends: ends(end))
        XCTAssertEqual(try branches.hold(device, after: 3, last), expected, line: line)
    }

    func testFilesAreOfABranchAsFarAsTheyLeadFromItsEndToAGap() throws {
        try checkFiles(true, removing: 1...5)
        try checkFiles(true, removing: 1...8)
        try checkFiles(true, removing: 1...5, { _ = try $0.rollUp(0, 6, 8) })
        try checkFiles(true, removing: 1...8, { _ = try $0.rollUp(0, 6, 9) })
        try checkFiles(true, removing: 1...5, ends: { [$0, end] })
    }

    func testFilesThatDoNotLeadToTheEndOfABranchMayBeOfAnother() throws {
        try checkFiles(false, removing: 1...5, ends: { _ in [] })
        try checkFiles(false, removing: 1...5, ends: { _ in [end] })
        try checkFiles(false, removing: 1...5, ends: { [LogEnd(sequence: 8, checksum: $0.checksum)] })
        // Something between them is missing, or the end.
        try checkFiles(false, removing: 7...7)
        try checkFiles(false, removing: 9...9)
    }

    func testAHeadMaySpeakOfWhatIsNotThere() throws {
        try checkFiles(true, removing: 1...9)
        try checkFiles(true, removing: 1...5, head: { $0.position.sequence = 3 })
        try checkFiles(false, removing: 1...5, head: { $0.position.sequence = 10 })
        try checkFiles(false, removing: 1...9, head: { $0.lastSegmentChecksum = Checksum(high: 1, low: 1) })
    }

    func testAFileThatIsDamagedMayBeOfAnotherBranch() throws {
        try checkFiles(
            false, removing: 1...5,
            { home in
                let device = home.replicas[0].identity.device
                let name = try XCTUnwrap(home.segments(0).first { $0.last == 8 })
                let path = "/shared/c/devices/\(device.hex)/segments/\(name.fileName)"
                var bytes = try XCTUnwrap(home.files.readFile(at: path, maximumBytes: 1 << 20))
                bytes[bytes.count / 2] ^= 1
                try home.files.removeFile(at: path)
                try home.files.write(bytes, toNewFileAt: path)
            })
    }
}
