import FerryContainer
import FerryContent
import FerryCore
import FerryTestSupport
import XCTest

/// A device is killed at every step of keeping contents, and the disk loses what it may. Whatever has its final name is whole, and
/// doing all again succeeds.
final class ContentShelfCrashTests: XCTestCase {
    private static let losses = ["nothing", "contents", "everything"] + (0..<6).map { "random \($0)" }
    private let key = Samples.key
    private let parts = [Samples.noise(3000, seed: 1), Samples.text(2000, seed: 2), Samples.noise(9000, seed: 3)]

    private func loss(_ name: String) -> MemoryFileSystem.Loss {
        switch name {
        case "nothing": .nothing
        case "contents": .contents
        case "everything": .everything
        default: .random(SeededRandom(seed: UInt64(name.dropFirst("random ".count)) ?? 0))
        }
    }

    private func shelf(_ files: MemoryFileSystem, seed: UInt64) -> ContentShelf {
        ContentShelf(besideDatabase: "/db", fileSystem: files, random: SeededRandom(seed: seed))
    }

    private var body: ContentList.Body { .chunks(parts.map { .init(id: key.chunkID(of: $0), count: $0.count) }) }

    /// Stores three contents, one of them in its row.
    private func store(_ shelf: ContentShelf, _ source: MemoryFileSystem) throws -> [PendingPack.Finished] {
        let writer = ContentWriter(shelf, key, makeWriter: Samples.writer, isKept: { _ in false })
        for part in parts { _ = try writer.add(try makeFile(part + part + part, source)) }
        return try writer.finish()
    }

    private func fetch(_ shelf: ContentShelf) throws -> String {
        let partial = try shelf.beginPartial(try key.contentID(of: .file(body)), body, key)
        for part in parts where partial.needs(key.chunkID(of: part)) {
            try partial.take(part, as: key.chunkID(of: part))
        }
        return try partial.finish()
    }

    /// Kills at each step of some work, with each loss.
    /// - Parameter check: what must hold after the crash, before the work is done again.
    private func killEverywhere<Result>(
        _ work: (ContentShelf) throws -> Result, check: (ContentShelf, MemoryFileSystem, String) throws -> Void
    ) throws {
        for name in Self.losses {
            var (step, isFinished) = (0, false)
            while !isFinished {
                let files = MemoryFileSystem()
                files.inject(.kill, afterSteps: step)
                do {
                    _ = try work(shelf(files, seed: 1))
                    isFinished = true
                    files.removeFault()
                } catch is SimulatedCrash {
                    files.crash(losing: loss(name))
                }
                let context = "killed at step \(step), losing \(name)"
                let again = shelf(files, seed: 2)
                try check(again, files, context)
                try again.removeLeftovers()
                XCTAssertNoThrow(try work(again), context)
                try check(again, files, context)
                let pending = try files.entryNames(ofDirectoryAt: "/db-ferry-content/pending", maximumCount: 99) ?? []
                XCTAssertEqual(pending.filter { $0.hasPrefix(".ferry-tmp-") }, [], context)
                step += 1
            }
            XCTAssertGreaterThan(step, 8)
        }
    }

    /// Every pack under its name is whole, and all its chunks are right.
    private func checkPacks(_ shelf: ContentShelf, _ context: String) throws {
        for id in try shelf.pendingPacks() {
            let file = try XCTUnwrap(try shelf.openPending(id), context)
            let reader = try PackReader(
                { try file.read($0) }, byteCount: try file.byteCount(), of: Samples.device, in: Samples.open)
            XCTAssertEqual(reader.id, id, context)
            for entry in reader.directory.entries { XCTAssertNoThrow(try reader.chunk(entry), context) }
        }
    }

    func testAKillAtAnyStepOfStoringLeavesWholePacksAndNoLitter() throws {
        var expected: [PackID] = []
        try killEverywhere {
            expected = try store($0, MemoryFileSystem()).map(\.id)
        } check: { shelf, _, context in
            try checkPacks(shelf, context)
        }
        XCTAssertEqual(expected.count, 1)
    }

    func testAFinishedPackSurvivesALossOfPower() throws {
        let files = MemoryFileSystem()
        let packs = try store(shelf(files, seed: 1), MemoryFileSystem())
        files.crash()
        XCTAssertEqual(try shelf(files, seed: 2).pendingPacks(), packs.map(\.id).sorted())
        try checkPacks(shelf(files, seed: 2), "after the crash")
    }

    func testAKillAtAnyStepOfFetchingLeavesNoContentOrTheWholeOne() throws {
        let content = try key.contentID(of: .file(body))
        let all = Array(parts.joined())
        try killEverywhere {
            try fetch($0)
        } check: { shelf, files, context in
            for found in try shelf.wholeContents() {
                XCTAssertEqual(found.id, content, context)
                XCTAssertEqual(found.byteCount, all.count, context)
                let path = try XCTUnwrap(try shelf.path(ofWhole: content, byteCount: all.count), context)
                XCTAssertEqual(try files.readFile(at: path, maximumBytes: 1 << 20), all, context)
            }
        }
    }

    func testAFailureAtAnyStepIsToldAndTheNextAttemptSucceeds() throws {
        var (step, isFinished) = (0, false)
        while !isFinished {
            let files = MemoryFileSystem()
            let shelf = shelf(files, seed: 1)
            files.inject(.failure, afterSteps: step)
            let error = failure {
                _ = try store(shelf, MemoryFileSystem())
                _ = try fetch(shelf)
            }
            isFinished = error == nil
            if let error { XCTAssertEqual(error.code, .inputOutput, "step \(step)") }
            files.removeFault()
            XCTAssertNoThrow(try store(shelf, MemoryFileSystem()), "step \(step)")
            XCTAssertNoThrow(try fetch(shelf), "step \(step)")
            try checkPacks(shelf, "step \(step)")
            step += 1
        }
        XCTAssertGreaterThan(step, 15)
    }
}
