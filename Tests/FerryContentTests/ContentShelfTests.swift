import FerryContainer
import FerryContent
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

final class ContentShelfTests: XCTestCase {
    private let files = MemoryFileSystem()
    private let key = Samples.key

    private func shelf(_ files: any FileSystem, _ path: String = "/db") -> ContentShelf {
        ContentShelf(besideDatabase: path, fileSystem: files, random: SeededRandom(seed: 1))
    }

    private func body(_ chunks: [[UInt8]]) -> ContentList.Body {
        .chunks(chunks.map { .init(id: key.chunkID(of: $0), count: $0.count) })
    }

    private func id(_ body: ContentList.Body) throws -> ContentID { try key.contentID(of: .file(body)) }

    private func names(_ directory: String) throws -> [String] {
        try files.entryNames(ofDirectoryAt: "/db-ferry-content/" + directory, maximumCount: 99) ?? []
    }

    // MARK: Packs

    func testAPackIsSeenOnceItIsFinished() throws {
        let shelf = shelf(files)
        let pack = try shelf.beginPack(Samples.writer())
        XCTAssertTrue(pack.isEmpty)
        try pack.append(try PreparedChunk([1, 2, 3], key))
        XCTAssertEqual(try shelf.pendingPacks(), [])
        let finished = try pack.finish()
        XCTAssertEqual(try shelf.pendingPacks(), [finished.id])
        XCTAssertEqual(try names("pending").count, 1)
        let file = try XCTUnwrap(try shelf.openPending(finished.id))
        XCTAssertEqual(try file.byteCount(), finished.byteCount)
        let reader = try PackReader(
            { try file.read($0) }, byteCount: finished.byteCount, of: Samples.device, in: Samples.open)
        XCTAssertEqual(reader.directory, finished.directory)
        XCTAssertEqual(try reader.chunk(reader.directory.entries[0]), [1, 2, 3])
        try shelf.removePending(finished.id)
        XCTAssertEqual(try shelf.pendingPacks(), [])
    }

    func testAPackThatIsGivenUpLeavesNothing() throws {
        let shelf = shelf(files)
        var pack: PendingPack? = try shelf.beginPack(Samples.writer())
        XCTAssertEqual(try names("pending").count, 1)
        try shelf.removeLeftovers()
        XCTAssertEqual(try names("pending").count, 1, "it is being written")
        XCTAssertNotNil(pack)
        pack = nil
        XCTAssertEqual(try names("pending"), [])
    }

    func testLeftoversOfAnEarlierProcessAreRemovedAndNothingElse() throws {
        let kept = try shelf(files).beginPack(Samples.writer())
        try kept.append(try PreparedChunk([1], key))
        let id = try kept.finish().id
        try files.write([1], toNewFileAt: "/db-ferry-content/pending/.ferry-tmp-0123")
        try files.write([1], toNewFileAt: "/db-ferry-content/pending/notes.txt")
        try shelf(files).removeLeftovers()
        XCTAssertEqual(try names("pending").sorted(), [PackName(id).fileName, "notes.txt"].sorted())
    }

    // MARK: Whole contents

    private let parts = [Samples.noise(3000, seed: 1), [UInt8](repeating: 0, count: 2000), Samples.noise(500, seed: 2)]

    private func fetch(_ shelf: ContentShelf, _ chunks: [[UInt8]]) throws -> String {
        let body = body(chunks)
        let partial = try shelf.beginPartial(try id(body), body, key)
        for chunk in chunks { try partial.take(chunk, as: key.chunkID(of: chunk)) }
        return try partial.finish()
    }

    func testAContentIsPutTogetherFromChunksInAnyOrder() throws {
        for disk in [files as any FileSystem, PosixFileSystem()] {
            let folder = try ScratchFolder()
            let shelf = shelf(disk, disk is MemoryFileSystem ? "/db" : folder.path("db"))
            let chunks = parts + [parts[1], parts[0]]
            let (body, all) = (body(chunks), Array(chunks.joined()))
            let content = try id(body)
            let partial = try shelf.beginPartial(content, body, key)
            XCTAssertEqual(Set(partial.missingChunks), Set(parts.map { key.chunkID(of: $0) }))
            XCTAssertEqual(failure { _ = try partial.finish() }?.code, .internalInconsistency)
            for chunk in parts.reversed() { try partial.take(chunk, as: key.chunkID(of: chunk)) }
            XCTAssertFalse(partial.needs(key.chunkID(of: parts[0])))
            XCTAssertNil(try shelf.path(ofWhole: content, byteCount: all.count))
            let path = try partial.finish()
            XCTAssertEqual(try disk.readFile(at: path, maximumBytes: 1 << 20), all)
            XCTAssertEqual(try shelf.path(ofWhole: content, byteCount: all.count), path)
            XCTAssertEqual(try shelf.openWhole(content, byteCount: all.count)?.read(0..<3), Array(all[0..<3]))
            XCTAssertEqual(try shelf.partialContents(), [])
        }
    }

    func testAShortOrLongFileIsNoWholeContent() throws {
        let shelf = shelf(files)
        let path = try fetch(shelf, parts)
        let content = try id(body(parts))
        XCTAssertNil(try shelf.path(ofWhole: content, byteCount: 5499))
        XCTAssertNil(try shelf.openWhole(content, byteCount: 5501))
        try files.removeFile(at: path)
        XCTAssertNil(try shelf.openWhole(content, byteCount: 5500))
    }

    func testOnlyWhatTheCallerNamesIsEvicted() throws {
        let shelf = shelf(files)
        _ = try fetch(shelf, parts)
        _ = try fetch(shelf, [parts[0]])
        let (one, other) = (try id(body(parts)), try id(body([parts[0]])))
        XCTAssertEqual(Set(try shelf.wholeContents().map(\.id)), [one, other])
        let open = try XCTUnwrap(try shelf.openWhole(one, byteCount: 5500))
        XCTAssertTrue(try shelf.evict(one))
        XCTAssertFalse(try shelf.evict(one))
        XCTAssertEqual(try shelf.wholeContents().map(\.id), [other])
        XCTAssertEqual(try open.read(0..<9), Array(parts[0][0..<9]), "whoever has it open keeps reading")
    }

    func testAContentInARowAndAnEmptyOneAreFilesToo() throws {
        let shelf = shelf(files)
        for bytes in [[], [1, 2, 3]] as [[UInt8]] {
            let partial = try shelf.beginPartial(try id(.bytes(bytes)), .bytes(bytes), key)
            XCTAssertEqual(try files.readFile(at: partial.finish(), maximumBytes: 9), bytes)
        }
    }

    // MARK: Contents that are being fetched

    func testAnInterruptedFetchGoesOnWithWhatIsProved() throws {
        let body = body(parts)
        let content = try id(body)
        try shelf(files).beginPartial(content, body, key).take(parts[2], as: key.chunkID(of: parts[2]))
        XCTAssertEqual(try shelf(files).partialContents(), [content])
        let again = try shelf(files).beginPartial(content, body, key)
        // Zeros are what a hole reads as.
        XCTAssertEqual(Set(again.missingChunks), [key.chunkID(of: parts[0])])
        try again.take(parts[0], as: key.chunkID(of: parts[0]))
        XCTAssertEqual(try files.readFile(at: again.finish(), maximumBytes: 1 << 20), Array(parts.joined()))
    }

    func testWhatIsDamagedInAPartIsFetchedAgain() throws {
        let body = body(parts)
        let content = try id(body)
        let first = try shelf(files).beginPartial(content, body, key)
        for part in parts { try first.take(part, as: key.chunkID(of: part)) }
        let file = try XCTUnwrap(try files.continueFile(at: "/db-ferry-content/partial/" + content.hex))
        try file.write([1], at: 4000)
        let again = try shelf(files).beginPartial(content, body, key)
        XCTAssertEqual(Set(again.missingChunks), [key.chunkID(of: parts[1])])
        try again.take(parts[1], as: key.chunkID(of: parts[1]))
        XCTAssertEqual(try files.readFile(at: again.finish(), maximumBytes: 1 << 20), Array(parts.joined()))
    }

    func testWrongBytesAreNotTaken() throws {
        let body = body(parts)
        let partial = try shelf(files).beginPartial(try id(body), body, key)
        let chunk = key.chunkID(of: parts[0])
        XCTAssertEqual(failure { try partial.take(parts[2], as: chunk) }?.code, .damagedFile)
        XCTAssertEqual(failure { try partial.take([], as: chunk) }?.code, .damagedFile)
        XCTAssertTrue(partial.needs(chunk))
        XCTAssertNoThrow(try partial.take([1], as: ChunkID(high: 1, low: 1)), "nobody needs it")
    }

    func testAListOfAnotherContentIsRefused() throws {
        let body = body(parts)
        XCTAssertEqual(
            failure { _ = try shelf(files).beginPartial(ContentID(high: 1, low: 1), body, key) }?.code, .damagedFile)
    }

    /// A chunk's ID says its bytes, and so its length.
    func testAListThatGivesAChunkTwoLengthsIsRefused() throws {
        let chunk = key.chunkID(of: parts[0])
        let body = ContentList.Body.chunks([.init(id: chunk, count: 3000), .init(id: chunk, count: 3001)])
        XCTAssertEqual(failure { _ = try shelf(files).beginPartial(id(body), body, key) }?.code, .damagedFile)
    }

    func testAPartThatIsTooLongIsMadeAnew() throws {
        let body = body(parts)
        let content = try id(body)
        _ = try shelf(files).beginPartial(content, body, key)
        let path = "/db-ferry-content/partial/" + content.hex
        try XCTUnwrap(try files.continueFile(at: path)).write([1], at: 9000)
        XCTAssertEqual(
            try files.readFile(at: fetch(shelf(files), parts), maximumBytes: 1 << 20), Array(parts.joined()))
    }

    func testTheDisksRoomIsAskedForFirst() throws {
        let body = body(parts)
        files.setAvailableBytes(6000)
        let content = try id(body)
        XCTAssertEqual(
            failure { _ = try shelf(files).beginPartial(content, body, key, leaving: 1000) }?.code, .limitExceeded)
        XCTAssertNoThrow(try shelf(files).beginPartial(content, body, key, leaving: 500))
    }

    func testAPartIsDiscarded() throws {
        let (shelf, body) = (shelf(files), body(parts))
        let content = try id(body)
        _ = try shelf.beginPartial(content, body, key)
        try shelf.discardPartial(content)
        XCTAssertEqual(try shelf.partialContents(), [])
    }

    func testForeignNamesAreNothing() throws {
        let shelf = shelf(files)
        _ = try fetch(shelf, parts)
        try files.write([1], toNewFileAt: "/db-ferry-content/partial/notes")
        try files.createDirectory(at: "/db-ferry-content/whole/zz")
        try files.write([1], toNewFileAt: "/db-ferry-content/whole/zz/" + String(repeating: "0", count: 32))
        XCTAssertEqual(try shelf.wholeContents().map(\.id), [try id(body(parts))])
        XCTAssertEqual(try shelf.partialContents(), [])
    }
}
