import FeedTestServer
import Feeds
import Ferry
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

/// Tests with a real HTTP server on loopback.
class ServerTestCase: ReaderTestCase {
    private var running: FeedTestServer?

    override func setUpWithError() throws {
        try super.setUpWithError()
        do {
            running = try FeedTestServer()
        } catch let error as FeedTestServer.NoPython {
            throw XCTSkip("\(error)")
        }
    }

    override func tearDownWithError() throws {
        running?.stop()
        try super.tearDownWithError()
    }

    var server: FeedTestServer { get throws { try XCTUnwrap(running) } }

    func address(_ path: String) throws -> String { try server.url(path).absoluteString }

    /// Refreshes all feeds.
    /// - Returns: what came of each, by the path of its address.
    @discardableResult
    static func refresh(_ library: Library) async throws -> [String: FeedRefresh] {
        var limits = FetchLimits()
        limits.connectSeconds = 1
        let refresher = try Refresher(library, limits: limits)
        var order: [String] = []
        let results = try await refresher.refresh(
            try library.feeds(), isForced: true, finished: { order.append($0.feed.url) })
        XCTAssertEqual(results.map(\.feed.url), order)
        for result in results { XCTAssertFalse(result.line.contains("\n"), "one line: \(result.line)") }
        return Dictionary(results.map { (URL(string: $0.feed.url)?.path ?? "", $0) }) { first, _ in
            XCTFail("a feed was told twice")
            return first
        }
    }
}

/// What a person sees of all articles, in an order that is the same on every device.
struct ShownArticle: Codable, FetchableRecord, Hashable {
    var url: String
    var guid: String
    var isRead: Bool
    var isStarred: Bool
}

extension Library {
    func shown() throws -> [ShownArticle] {
        try pool.read { database in
            try ShownArticle.fetchAll(
                database,
                sql: """
                    SELECT feed.url, guid,
                        EXISTS(SELECT 1 FROM ferry_kv_member WHERE "set" = 'read' AND member = mark) AS isRead,
                        EXISTS(SELECT 1 FROM ferry_kv_member WHERE "set" = 'starred' AND member = mark) AS isStarred
                    FROM article JOIN feed ON feed.id = article.feed ORDER BY feed.url, guid, article.id
                    """)
        }
    }
}
