import FerryContainer
import FerryCore
import FerryTestSupport
import XCTest

/// A device is killed at every step of publishing, and the disk loses what it may: the container must hold the old
/// state or the new one, and publishing must go on.
final class PublicationCrashTests: XCTestCase {
    /// What the disk loses; a random loss begins with its seed anew each time.
    private static let losses = ["nothing", "contents", "everything"] + (0..<8).map { "random \($0)" }

    private func loss(_ name: String) -> MemoryFileSystem.Loss {
        switch name {
        case "nothing": .nothing
        case "contents": .contents
        case "everything": .everything
        default: .random(SeededRandom(seed: UInt64(name.dropFirst("random ".count)) ?? 0))
        }
    }

    private func create(_ files: MemoryFileSystem, seed: UInt64 = 1) throws -> Container {
        try Container.create(
            at: "/c", name: "Test", fileSystem: files, clock: FixedClock(), random: SeededRandom(seed: seed))
    }

    private func open(_ files: MemoryFileSystem) throws -> Container {
        try Container.open(at: "/c", fileSystem: files, random: SeededRandom(seed: 2))
    }

    /// What the engine does: the segment, then the head that speaks of it.
    private func publish(_ sequence: UInt64, to container: Container) throws {
        let segment = try makeSegment("segment \(sequence)", sequence, sequence)
        try container.publish(segment.bytes, name: segment.name, of: deviceA)
        var head = makeHead(container.id, sequence: sequence)
        head.lastSegmentFirst = sequence
        head.lastSegmentChecksum = try XCTUnwrap(ContentHash.verifiedTrailer(of: segment.bytes))
        try container.writeHead(head)
    }

    /// Every visible segment is whole, they have no gap, and the head speaks of one that is there.
    /// - Returns: the sequence number of the head.
    private func check(_ container: Container, atLeast sequence: UInt64, _ context: String) throws -> UInt64 {
        let names = try container.segments(of: deviceA)
        XCTAssertEqual(names.map(\.first), Array(1..<UInt64(names.count + 1)), context)
        XCTAssertGreaterThanOrEqual(UInt64(names.count), sequence, context)
        for name in names {
            let bytes = try XCTUnwrap(try container.readSegment(name, of: deviceA), context)
            XCTAssertTrue(name.matches(try XCTUnwrap(ContentHash.verifiedTrailer(of: bytes))), context)
        }
        guard let head = try container.readHead(of: deviceA) else {
            XCTAssertEqual(sequence, 0, context)
            return 0
        }
        XCTAssertGreaterThanOrEqual(head.position.sequence, sequence, context)
        XCTAssertLessThanOrEqual(head.position.sequence, UInt64(names.count), context)
        if head.position.sequence > 0 {
            XCTAssertTrue(names.contains(try XCTUnwrap(head.lastSegment)), context)
        }
        return head.position.sequence
    }

    private func checkNoLitter(_ files: MemoryFileSystem, _ context: String) throws {
        for place in ["", "/segments"] {
            let names = try files.entryNames(ofDirectoryAt: "/c/devices/\(deviceA.hex)" + place, maximumCount: 99) ?? []
            XCTAssertEqual(names.filter { $0.hasPrefix(".ferry-tmp-") }, [], context)
        }
    }

    func testAKillAtAnyStepOfPublishingLeavesTheOldStateOrTheNew() throws {
        for published in 0...1 as ClosedRange<UInt64> {
            for lossName in Self.losses {
                var step = 0
                var isFinished = false
                while !isFinished {
                    let context = "\(published) published, killed at step \(step), losing \(lossName)"
                    let files = MemoryFileSystem()
                    let container = try create(files)
                    if published == 1 { try publish(1, to: container) }
                    files.inject(.kill, afterSteps: step)
                    do {
                        try publish(published + 1, to: container)
                        isFinished = true
                    } catch is SimulatedCrash {}
                    files.crash(losing: loss(lossName))

                    let restarted = try open(files)
                    let sequence = try check(restarted, atLeast: published, context)
                    XCTAssertTrue((published...published + 1).contains(sequence), context)
                    // What was reported as done is durable.
                    if isFinished { XCTAssertEqual(sequence, published + 1, context) }

                    try publish(published + 1, to: restarted)
                    try checkNoLitter(files, context)
                    // The second attempt has made durable what the first one had only renamed.
                    files.crash(losing: .everything)
                    XCTAssertEqual(try check(try open(files), atLeast: published + 1, context), published + 1, context)
                    step += 1
                }
                XCTAssertGreaterThanOrEqual(step, 11, lossName)
            }
        }
    }

    func testAFailureAtAnyStepOfPublishingIsReportedAndTheNextAttemptSucceeds() throws {
        for published in 0...1 as ClosedRange<UInt64> {
            var step = 0
            var isFinished = false
            while !isFinished {
                let context = "\(published) published, failed at step \(step)"
                let files = MemoryFileSystem()
                let container = try create(files)
                if published == 1 { try publish(1, to: container) }
                files.inject(.failure, afterSteps: step)
                do {
                    try publish(published + 1, to: container)
                    isFinished = true
                } catch let error as FerryError {
                    XCTAssertEqual(error.code.rawValue, FerryError.Code.inputOutput.rawValue, context)
                }
                files.removeFault()
                _ = try check(container, atLeast: published, context)
                try checkNoLitter(files, context)
                try publish(published + 1, to: container)
                files.crash(losing: .everything)
                XCTAssertEqual(try check(try open(files), atLeast: published + 1, context), published + 1, context)
                step += 1
            }
        }
    }

    func testAKillAtAnyStepOfCreatingLeavesAContainerOrThePossibilityToCreateIt() throws {
        for lossName in Self.losses {
            var step = 0
            var isFinished = false
            while !isFinished {
                let context = "killed at step \(step), losing \(lossName)"
                let files = MemoryFileSystem()
                files.inject(.kill, afterSteps: step)
                do {
                    _ = try create(files)
                    isFinished = true
                } catch is SimulatedCrash {}
                files.crash(losing: loss(lossName))

                let container: Container
                do {
                    let created = try create(files, seed: 3)
                    XCTAssertFalse(isFinished, context)
                    let names = try XCTUnwrap(files.entryNames(ofDirectoryAt: "/c", maximumCount: 100))
                    XCTAssertEqual(names.filter { $0.hasPrefix(FolderBackend.temporaryPrefix) }, [], context)
                    container = created
                } catch let error as FerryError {
                    XCTAssertEqual(error.code.rawValue, FerryError.Code.containerExists.rawValue, context)
                    container = try open(files)
                }
                try publish(1, to: container)
                files.crash(losing: .everything)
                XCTAssertEqual(try check(try open(files), atLeast: 1, context), 1, context)
                step += 1
            }
        }
    }
}
