import FeedTestServer
import Feeds
import Foundation
import XCTest

/// A server and a cache of its own for each test. Skipped where there is no Python.
class FetchingTestCase: XCTestCase {
    private var startedServer: FeedTestServer?
    private(set) var folder = FileManager.default.temporaryDirectory
    /// What the clock says.
    let today = Date(timeIntervalSince1970: 1_800_000_000)

    override func setUp() async throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("feeds-\(UUID().uuidString)")
        do {
            startedServer = try FeedTestServer()
        } catch let error as FeedTestServer.NoPython {
            throw XCTSkip("\(error)")
        }
    }

    override func tearDown() async throws {
        startedServer?.stop()
        startedServer = nil
        if FileManager.default.fileExists(atPath: folder.path) { try FileManager.default.removeItem(at: folder) }
    }

    var server: FeedTestServer {
        get throws { try XCTUnwrap(startedServer) }
    }

    func fetcher(cacheBytes: Int = 256 << 20, change: (inout FetchLimits) -> Void = { _ in }) throws -> FeedFetcher {
        var limits = FetchLimits()
        change(&limits)
        let today = today
        return FeedFetcher(
            cache: try BodyCache(directory: folder, maximumBytes: cacheBytes), limits: limits,
            userAgent: "TestReader/7 (feed reader)", now: { today })
    }

    /// Fetches one path of the server.
    func fetch(
        _ path: String, with fetcher: FeedFetcher? = nil, validators: FeedValidators? = nil, pages: Int = 1
    ) async throws -> FetchOutcome {
        let request = FeedRequest(try server.url(path), validators: validators, maximumPages: pages)
        return await (try fetcher ?? self.fetcher()).fetch(request)
    }

    /// An RSS document with articles of these GUIDs.
    func rss(_ guids: String..., next: String? = nil) -> String {
        let link = next.map { "<atom:link rel='next' href='\($0)'/>" } ?? ""
        return "<rss xmlns:atom='http://www.w3.org/2005/Atom'><channel><title>T</title>\(link)"
            + guids.map { "<item><guid>\($0)</guid></item>" }.joined() + "</channel></rss>"
    }

    /// The GUIDs on all pages.
    func guids(_ feed: FetchedFeed) throws -> [String] {
        var guids: [String] = []
        for page in feed.pages {
            try FeedParser(page.source).parse { event in
                if case .article(let article) = event { guids.append(article.guid) }
            }
        }
        return guids
    }

    /// The names of the files in the cache's folder.
    func cachedFiles() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path) }
}

extension FetchOutcome {
    /// The feed that was fetched; fails the test for any other outcome.
    func feed(file: StaticString = #filePath, line: UInt = #line) throws -> FetchedFeed {
        guard case .fetched(let feed) = self else {
            XCTFail("not fetched but \(self)", file: file, line: line)
            throw CancellationError()
        }
        return feed
    }

    var isNotModified: Bool { if case .notModified = self { true } else { false } }

    /// The code of a failure; nil for other outcomes.
    var failureCode: FeedError.Code? { if case .failed(let error, _) = self { error.code } else { nil } }
}
