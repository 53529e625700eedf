import FerryContainer
import FerryContent
import FerryCore
import FerryTestSupport
import XCTest

final class ContentWriterTests: XCTestCase {
    private let files = MemoryFileSystem()
    private let key = Samples.key
    private let source = MemoryFileSystem()

    private var shelf: ContentShelf {
        ContentShelf(besideDatabase: "/db", fileSystem: files, random: SeededRandom(seed: 1))
    }

    private func writer(_ shelf: ContentShelf, kept: Set<ChunkID> = []) -> ContentWriter {
        ContentWriter(shelf, key, makeWriter: Samples.writer, isKept: { kept.contains($0) })
    }

    /// The bytes of a content from its list and the packs on a shelf.
    private func bytes(_ stored: ContentWriter.Stored, _ shelf: ContentShelf, _ packs: [PendingPack.Finished]) throws
        -> [UInt8]
    {
        guard case .chunks(let chunks) = stored.body else {
            guard case .bytes(let bytes) = stored.body else { return [] }
            return bytes
        }
        return try chunks.flatMap { chunk -> [UInt8] in
            let pack = try XCTUnwrap(packs.first { $0.directory.contains(chunk.id) })
            let entry = try XCTUnwrap(pack.directory.entries.first { $0.id == chunk.id })
            let file = try XCTUnwrap(try shelf.openPending(pack.id))
            return try PackReader.chunk(entry.id, at: entry.place, of: Samples.device, in: Samples.open) {
                try file.read($0)
            }
        }
    }

    func testContentsGoToTheirRowToASharedPackOrToPacksOfTheirOwn() throws {
        let shelf = shelf
        let writer = writer(shelf)
        let contents = [
            [], Samples.noise(4096, seed: 1), Samples.noise(4097, seed: 2), Samples.noise(300_000, seed: 3),
            Samples.noise(9 << 20, seed: 4), Samples.text(10_000, seed: 5),
        ]
        let stored = try contents.map { try writer.add(try makeFile($0, source)) }
        let packs = try writer.finish()
        for (content, result) in zip(contents, stored) {
            XCTAssertEqual(result.byteCount, content.count)
            XCTAssertEqual(try bytes(result, shelf, packs), content)
            XCTAssertEqual(result.id, try key.contentID(of: .file(result.body)))
        }
        XCTAssertEqual(packs.count, 2)
        guard case .bytes = stored[1].body, case .chunks(let large) = stored[4].body else {
            return XCTFail("another form")
        }
        let own = try XCTUnwrap(packs.first { $0.directory.contains(large[0].id) })
        XCTAssertEqual(own.directory.entries.map(\.id), large.map(\.id), "nothing else is in it")
        XCTAssertEqual(try shelf.pendingPacks(), packs.map(\.id).sorted())
        XCTAssertEqual(try writer.finish(), [])
    }

    func testALongContentHasSeveralPacksOfAtMost16MiB() throws {
        let writer = writer(shelf)
        _ = try writer.add(try makeFile(Samples.noise(20 << 20, seed: 1), source))
        let packs = try writer.finish()
        XCTAssertEqual(packs.count, 2)
        XCTAssertTrue(packs.allSatisfy { $0.byteCount <= ContentLimits.packEndBytes })
    }

    func testChunksThatOtherContentsKeepAreNotPackedAgain() throws {
        let bytes = Samples.noise(3 << 20, seed: 1)
        let chunks = try cut(bytes).map { key.chunkID(of: $0) }
        let writer = writer(shelf, kept: Set(chunks.dropFirst()))
        let stored = try writer.add(try makeFile(bytes, source))
        XCTAssertEqual(try writer.finish().flatMap { $0.directory.entries.map(\.id) }, [chunks[0]])
        guard case .chunks(let listed) = stored.body else { return XCTFail("another form") }
        XCTAssertEqual(listed.map(\.id), chunks, "the list is whole all the same")
    }

    func testEqualContentsArePackedOnceAndZerosToo() throws {
        let writer = writer(shelf)
        let bytes = Samples.noise(300_000, seed: 1)
        let one = try writer.add(try makeFile(bytes, source))
        XCTAssertEqual(try writer.add(try makeFile(bytes, source)), one)
        _ = try writer.add(try makeFile([UInt8](repeating: 0, count: 10 << 20), source))
        XCTAssertEqual(try writer.finish().reduce(0) { $0 + $1.directory.entries.count }, 2)
        let again = self.writer(shelf)
        XCTAssertEqual(try again.finish(), [], "no content, no pack")
    }

    /// A file to which somebody writes while it is read.
    private struct Moving: ReadableFile {
        let file: any ReadableFile
        let changes: @Sendable () throws -> Void
        func byteCount() throws -> Int { try file.byteCount() }
        func version() throws -> FileVersion { try file.version() }
        func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
            let got = try file.read(into: buffer, at: offset)
            if offset > 0 || got < buffer.count { try changes() }
            return got
        }
    }

    func testAFileThatChangesIsRefusedAndLeavesNoChunk() throws {
        for count in [100, 200_000, 10 << 20] {
            let shelf = shelf
            let writer = writer(shelf)
            try source.removeFile(at: "/f")
            try source.write(Samples.noise(count, seed: 1), toNewFileAt: "/f")
            let (file, open) = (try XCTUnwrap(try source.continueFile(at: "/f")), source)
            let moving = Moving(file: try XCTUnwrap(try open.openFile(at: "/f"))) { try file.write([1], at: 5) }
            XCTAssertEqual(failure { _ = try writer.add(moving) }?.code, .busy, "\(count)")
            XCTAssertEqual(try writer.finish(), [], "\(count)")
            XCTAssertEqual(try shelf.pendingPacks(), [], "\(count)")
            let names = try files.entryNames(ofDirectoryAt: "/db-ferry-content/pending", maximumCount: 9) ?? []
            XCTAssertEqual(names, [], "\(count)")
        }
    }

    func testAfterAFullDiskTheWriterIsOver() throws {
        let writer = writer(shelf)
        _ = try writer.add(try makeFile(Samples.noise(9000, seed: 1), source))
        files.setRefusesWrites(true)
        XCTAssertEqual(
            failure { _ = try writer.add(try makeFile(Samples.noise(9000, seed: 2), source)) }?.code, .inputOutput)
        files.setRefusesWrites(false)
        XCTAssertEqual(failure { _ = try writer.finish() }?.code, .inputOutput)
    }

    func testRandomContentsAreReadBack() throws {
        for seed in Seeds(defaultCount: 6).all {
            var chance = Chance(seed: seed)
            let shelf = shelf
            let writer = writer(shelf)
            var (contents, stored): ([[UInt8]], [ContentWriter.Stored]) = ([], [])
            for _ in 0..<8 {
                let count = chance.below(chance.pick([10, 5000, 100_000, 700_000]))
                var bytes = chance.oneIn(2) ? Samples.noise(count, seed: chance.next()) : Samples.text(count, seed: 1)
                if let earlier = contents.last, chance.oneIn(3) { bytes = earlier + bytes }
                contents.append(bytes)
                stored.append(try writer.add(try makeFile(bytes, source)))
            }
            let packs = try writer.finish()
            for (content, result) in zip(contents, stored) {
                XCTAssertEqual(try bytes(result, shelf, packs), content, "seed \(seed)")
            }
        }
    }
}
