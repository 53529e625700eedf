import Foundation
import XCTest

@testable import Feeds

final class BodyCacheTests: XCTestCase {
    private var folder = FileManager.default.temporaryDirectory

    override func setUp() {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("cache-\(UUID().uuidString)")
    }

    override func tearDownWithError() throws {
        if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
    }

    private func url(_ name: String) throws -> URL { try XCTUnwrap(URL(string: "https://example.org/\(name)")) }

    private func store(_ name: String, bytes: Int, in cache: BodyCache, charset: String? = nil) throws -> FeedBody {
        let part = cache.newPart()
        try Data(repeating: 0x78, count: bytes).write(to: part)
        return try cache.store(part: part, byteCount: bytes, for: url(name), charset: charset)
    }

    private var files: Int {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path).count }
    }

    func testRemovesWhatWasUsedLeastRecently() throws {
        let cache = try BodyCache(directory: folder, maximumBytes: 300)
        for name in ["a", "b", "c"] { _ = try store(name, bytes: 100, in: cache) }
        XCTAssertNotNil(cache.page(for: try url("a")), "used again")
        _ = try store("d", bytes: 100, in: cache)
        XCTAssertNil(cache.page(for: try url("b")))
        for name in ["a", "c", "d"] { XCTAssertNotNil(cache.page(for: try url(name)), name) }
        XCTAssertEqual(cache.byteCount, 300)
        XCTAssertEqual(try files, 3)
    }

    func testKeepsWhatIsBeingReadAndRemovesItThen() throws {
        let cache = try BodyCache(directory: folder, maximumBytes: 100)
        do {
            let read = try store("a", bytes: 100, in: cache)
            _ = try store("b", bytes: 100, in: cache)
            XCTAssertEqual(try Data(contentsOf: read.file).count, 100)
            withExtendedLifetime(read) {}
        }
        do {
            let huge = try store("c", bytes: 5000, in: cache)
            XCTAssertEqual(try Data(contentsOf: huge.file).count, 5000)
            withExtendedLifetime(huge) {}
        }
        XCTAssertLessThanOrEqual(cache.byteCount, 100)
        XCTAssertNil(cache.page(for: try url("c")))
    }

    func testANewBodyTakesThePlaceOfTheOldOneOnceNobodyReadsIt() throws {
        let cache = try BodyCache(directory: folder, maximumBytes: 1000)
        do {
            let old = try store("a", bytes: 10, in: cache)
            let new = try store("a", bytes: 20, in: cache)
            XCTAssertEqual(try Data(contentsOf: old.file).count, 10)
            XCTAssertEqual(cache.page(for: try url("a"))?.body.file, new.file)
            withExtendedLifetime((old, new)) {}
        }
        XCTAssertEqual(try files, 1)
        XCTAssertEqual(cache.byteCount, 20)
    }

    func testIsFoundAgainWithItsCharset() throws {
        _ = try store("a", bytes: 10, in: try BodyCache(directory: folder), charset: "windows-1252")
        _ = try store("b", bytes: 10, in: try BodyCache(directory: folder), charset: "../x")
        let cache = try BodyCache(directory: folder)
        XCTAssertEqual(cache.byteCount, 20)
        XCTAssertEqual(cache.page(for: try url("a"))?.charset, "windows-1252")
        XCTAssertNotNil(cache.page(for: try url("b")))
        XCTAssertNil(cache.page(for: try url("b"))?.charset)
        XCTAssertEqual(try BodyCache(directory: folder, maximumBytes: 15).byteCount, 10)
    }

    func testAFolderThatCannotBeMadeIsOneClearError() throws {
        try Data().write(to: folder)
        XCTAssertThrowsError(try BodyCache(directory: folder)) { XCTAssertEqual(($0 as? FeedError)?.code, .file) }
    }
}

final class FileFetchTests: XCTestCase {
    func testAFileIsReadWhereItIsAndOnlyIfItChanged() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)")
        let fetcher = FeedFetcher(cache: try BodyCache(directory: folder))
        defer { XCTAssertNoThrow(try FileManager.default.removeItem(at: folder)) }
        let file = folder.appendingPathComponent("feed.txt")
        try Data("<rss><channel><item><guid>1</guid></item></channel></rss>".utf8).write(to: file)
        guard case .fetched(let feed) = await fetcher.fetch(FeedRequest(file)) else { return XCTFail("not fetched") }
        XCTAssertEqual(feed.pages.first?.body.file, file)
        guard case .notModified = await fetcher.fetch(FeedRequest(file, validators: feed.notes.validators)) else {
            return XCTFail("fetched again")
        }
        try Data("<rss><channel><item><guid>22</guid></item></channel></rss>".utf8).write(to: file)
        guard case .fetched = await fetcher.fetch(FeedRequest(file, validators: feed.notes.validators)) else {
            return XCTFail("not fetched again")
        }
        let missing = await fetcher.fetch(FeedRequest(folder.appendingPathComponent("missing")))
        XCTAssertEqual(missing.error?.code, .notFound)
        let isFolder = await fetcher.fetch(FeedRequest(folder))
        XCTAssertEqual(isFolder.error?.code, .notFound)
    }
}
