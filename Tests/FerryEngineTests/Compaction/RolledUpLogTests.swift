import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import XCTest

@testable import FerryEngine

/// Logs whose small files become larger ones, for those who read them meanwhile.
final class RolledUpLogTests: XCTestCase {
    // MARK: Gathering

    func testWhatWaitsIsPublishedAsOneSegmentAndTheNextOneFollows() throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.addDevice()
        let first = try home.segments(0).count
        for number in 1...5 { try home.pack(0, "waits \(number)") }
        XCTAssertEqual(try home.replicas[0].sync().published.segments, 1)
        XCTAssertEqual(try home.segments(0).count, first + 1)
        XCTAssertEqual(try home.replicas[1].sync().replayed.segments, 1)
        try home.flush(0, 2)
        let report = try home.replicas[1].sync()
        XCTAssertEqual(report.waiting, [])
        XCTAssertEqual(report.replayed.segments, 2)
        XCTAssertEqual(try home.rows(0), try home.rows(1))
        try home.checkLog(0)
        XCTAssertEqual(try home.replicas[0].sync().published.segments, 0)
    }

    func testGatheringIsBounded() {
        let sizes = (1...10 as ClosedRange<UInt64>).map { OutboxSize(first: $0, last: $0, changes: 10, bytes: 1000) }
        XCTAssertEqual(Gathering.groups(sizes, maximumBytes: 4000).map(\.count), [4, 4, 2])
        XCTAssertEqual(Gathering.groups(sizes, maximumBytes: 999).map(\.count), Array(repeating: 1, count: 10))
        let half = Gathering.maximumChanges / 2
        let many = sizes.map { OutboxSize(first: $0.first, last: $0.last, changes: half, bytes: 1) }
        XCTAssertEqual(Gathering.groups(many, maximumBytes: 4000).map(\.count), [2, 2, 2, 2, 2])
        let long = (0..<4 as Range<UInt64>).map {
            OutboxSize(first: $0 * 30_000 + 1, last: $0 * 30_000 + 30_000, changes: 1, bytes: 1)
        }
        XCTAssertEqual(Gathering.groups(long, maximumBytes: 4000).map(\.count), [2, 2])
        XCTAssertEqual(Gathering.groups([sizes[0], sizes[2]], maximumBytes: 4000).map(\.count), [1, 1])
        XCTAssertEqual(Gathering.groups([], maximumBytes: 4000).count, 0)
    }

    func testAKillAtAnyStepOfPublishingWhatWaitsLosesAndDoublesNothing() throws {
        for loss in ["nothing", "everything"] {
            var step = 0
            var isFinished = false
            while !isFinished {
                let context = "killed at step \(step), losing \(loss)"
                let home = try MemoryHome()
                try home.addDevice()
                try home.addDevice()
                for number in 1...3 { try home.pack(0, "waits \(number)") }
                home.files.inject(.kill, afterSteps: step)
                do {
                    try home.publish(0)
                    isFinished = true
                } catch is SimulatedCrash {}
                home.files.crash(losing: loss == "nothing" ? .nothing : .everything)
                try home.reopen(0)
                // More comes before anybody publishes again.
                try home.pack(0, "later")
                _ = try home.replicas[0].sync()
                try home.checkLogCovers(0, context)
                XCTAssertEqual(try home.replicas[1].sync().waiting, [], context)
                XCTAssertEqual(try home.rows(0), try home.rows(1), context)
                XCTAssertEqual(try home.replicas[0].store.outboxSizes(), [], context)
                step += 1
            }
            XCTAssertGreaterThan(step, 6)
        }
    }

    // MARK: Reading

    func testReadersTakeEitherAndStandAnywhere() throws {
        for position in 0...9 {
            for removes in [false, true] {
                let home = try MemoryHome()
                try home.addDevice()
                try home.addDevice()
                let start = UInt64(try home.segments(0).count)
                try home.flush(0, position)
                _ = try home.replicas[1].sync()
                try home.flush(0, 10 - position)
                let parts = try home.rollUp(0, start + 2, start + 9)
                if removes {
                    let device = home.replicas[0].identity.device
                    for part in parts { try home.container.removeSegments([part], of: device) }
                }
                let context = "standing at \(position), small files \(removes ? "removed" : "there")"
                XCTAssertEqual(try home.replicas[1].sync().waiting, [], context)
                XCTAssertEqual(try home.rows(0), try home.rows(1), context)
                // The chain holds from there on.
                try home.flush(0, 1)
                XCTAssertEqual(try home.replicas[1].sync().waiting, [], context)
                XCTAssertEqual(try home.rows(0), try home.rows(1), context)
            }
        }
    }

    func testAWalkAndTheNewestChangesTellEachChangeOnce() throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.flush(0, 10)
        _ = try home.rollUp(0, 2, 8)
        var sequences: [UInt64] = []
        let result = try LogWalk(container: home.container)
            .forEachChangeset(of: home.replicas[0].identity.device) { sequences.append($0.sequence) }
        XCTAssertEqual(sequences, Array(1...11))
        XCTAssertNil(result.problem)
        let log = try home.replicas[0].log(limit: 100).filter { $0.table == "item" }
        XCTAssertEqual(log.count, 10)
        XCTAssertEqual(Set(log.map(\.sequence)).count, 10)
    }

    func testFilesThatVanishBetweenListingAndReadingAreLookedForAgain() throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.flush(0, 10)
        let device = home.replicas[0].identity.device
        let container = try home.container
        let backend = VanishingBackend(container.backend)
        let parts = try home.segments(0)
        // Once they are listed and the first one is read, the author rolls up and removes.
        backend.afterReads = 1
        backend.onRead = {
            _ = try home.rollUp(0, 2, 9)
            for part in parts where (2...9).contains(part.first) { try container.removeSegments([part], of: device) }
        }
        let watched = try Container.open(backend)
        let batch = try LogReader(container: watched, device: DeviceID(high: 0, low: 0))
            .read(after: VersionVector(), isThorough: true)
        XCTAssertEqual(batch.changesets.map(\.sequence), Array(1...11))
        XCTAssertTrue(batch.problems.isEmpty)
        XCTAssertTrue(backend.hasHappened)

        // The same for a walk.
        let again = VanishingBackend(container.backend)
        again.afterReads = 1
        again.onRead = {
            _ = try home.rollUp(0, 1, 10)
            for name in try container.segments(of: device) where name.last < 10 || name.first == 10 {
                try container.removeSegments([name], of: device)
            }
        }
        var sequences: [UInt64] = []
        let result = try LogWalk(container: Container.open(again)).forEachChangeset(of: device) {
            sequences.append($0.sequence)
        }
        XCTAssertEqual(sequences, Array(1...11))
        XCTAssertNil(result.problem)
    }

    func testAFileThatStaysListedAndCannotBeReadIsWaitedFor() throws {
        let home = try MemoryHome()
        try home.addDevice()
        try home.flush(0, 3)
        let backend = VanishingBackend(try home.container.backend)
        backend.hides = true
        let batch = try LogReader(container: Container.open(backend), device: DeviceID(high: 0, low: 0))
            .read(after: VersionVector(), isThorough: true)
        XCTAssertEqual(batch.problems.values.map(\.code), [.fileNotThereYet])
    }

    func testTheStoreKnowsItsOwnRolledUpFiles() throws {
        let home = try MemoryHome()
        try home.addDevice()
        for number in 1...3 { try home.pack(0, "\(number)") }
        try home.publish(0)
        let store = home.replicas[0].store
        let newest = try XCTUnwrap(try store.newestOwnSegment())
        XCTAssertEqual(newest.changesets, 3)
        XCTAssertTrue(try store.publishedSegments(include: newest.last, newest.checksum))
        XCTAssertFalse(try store.publishedSegments(include: newest.last, Checksum(high: 1, low: 1)))
        XCTAssertFalse(try store.publishedSegments(include: newest.last + 1, newest.checksum))
    }
}

/// A container's place in which something happens while it is read.
private final class VanishingBackend: ContainerBackend, @unchecked Sendable {
    // @unchecked because only the test's own thread uses it.
    private let backend: any ContainerBackend
    var afterReads = 0
    var onRead: (() throws -> Void)?
    var hides = false
    private(set) var hasHappened = false

    init(_ backend: any ContainerBackend) { self.backend = backend }

    func checkRoot() throws { try backend.checkRoot() }
    func list(_ directory: String, after name: String?) throws -> [String] { try backend.list(directory, after: name) }

    func read(_ name: String, maximumBytes: Int) throws -> [UInt8]? {
        guard name.hasSuffix(".segment") else { return try backend.read(name, maximumBytes: maximumBytes) }
        if hides { return nil }
        if afterReads == 0, !hasHappened {
            hasHappened = true
            try onRead?()
        }
        afterReads -= 1
        return try backend.read(name, maximumBytes: maximumBytes)
    }

    func read(_ name: String, range: Range<Int>) throws -> [UInt8]? { try backend.read(name, range: range) }
    func settle(_ directory: String) throws { try backend.settle(directory) }
    func writeOnce(_ name: String, movingIn path: String, of files: any FileSystem) throws {
        try backend.writeOnce(name, movingIn: path, of: files)
    }
    func writeOnce(_ name: String, _ bytes: [UInt8]) throws { try backend.writeOnce(name, bytes) }
    func replace(_ name: String, _ bytes: [UInt8]) throws { try backend.replace(name, bytes) }
    func remove(_ name: String) throws { try backend.remove(name) }
    func localPath(_ name: String) -> String? { backend.localPath(name) }
}

extension MemoryHome {
    /// Fails where some of a device's changes cannot be read; files that a crash left beside others do not matter.
    func checkLogCovers(_ index: Int, _ context: String, file: StaticString = #filePath, line: UInt = #line) throws {
        let replica = replicas[index]
        let device = replica.identity.device
        let end = try replica.store.versionVector()[device].sequence
        let batch = try LogReader(container: container, device: DeviceID(high: 0, low: 0))
            .read(after: VersionVector(), isThorough: true)
        XCTAssertEqual(
            batch.changesets.filter { $0.device == device }.map(\.sequence), Array(1...end), context, file: file,
            line: line)
    }
}
