import FeedTestServer
import Feeds
import Ferry
import Foundation
import GRDB
import Synchronization
import XCTest

@testable import ReaderStore

final class RefreshTests: ServerTestCase {
    /// What a server knows a feed by is remembered only once all of the feed is in.
    func testAFeedThatWasCutOffIsFetchedWholeTheNextTime() async throws {
        let server = try server
        let whole = rss(Array(1...10))
        try await server.serve(
            "/feed", Route(String(whole.prefix(whole.count / 2))).with { $0.etag = "\"a\"" },
            Route(whole).with { $0.etag = "\"a\"" })
        let library = try firstDevice()
        try library.subscribe([.init(url: try address("/feed"))])
        let first = try await Self.refresh(library)["/feed"]
        XCTAssertEqual(first?.error?.code, .cutOff)
        XCTAssertNotNil(try library.feed("/feed").problem)
        let second = try await Self.refresh(library)["/feed"]
        XCTAssertNil(second?.error)
        XCTAssertEqual(second?.counts.all, 10)
        XCTAssertEqual((first?.counts.new ?? 0) + (second?.counts.new ?? 0), 10)
        XCTAssertNil(try library.feed("/feed").problem)
        let third = try await Self.refresh(library)["/feed"]
        XCTAssertEqual(third?.outcome, .unchanged)
        let conditions = try await server.requests("/feed").map { $0.header("If-None-Match") }
        XCTAssertEqual(conditions, [nil, nil, "\"a\""])
    }

    func testAnImportThatIsCancelledLeavesWhatIsInAndGoesOnLater() async throws {
        let server = try server
        let count = 20_000
        try await server.serve(
            "/feed",
            Route().with {
                $0.generate = .init(articles: count, fill: 100)
                $0.etag = "\"a\""
            })
        let library = try firstDevice()
        try library.subscribe([.init(url: try address("/feed"))])
        let hasArticles = AsyncStream<Void>.makeStream()
        let work = Task {
            _ = try await Refresher(library).refresh(
                library.feeds(),
                progress: { progress in if progress.counts.new > 0 { hasArticles.continuation.yield() } })
        }
        for await _ in hasArticles.stream { break }
        work.cancel()
        let result = await work.result
        XCTAssertThrowsError(try result.get()) { XCTAssertTrue($0 is CancellationError, "\($0)") }
        let arrived = try library.feed("/feed").articles
        XCTAssertGreaterThan(arrived, 0)
        XCTAssertLessThan(arrived, count)
        XCTAssertEqual(arrived % ArticleImporter.batchSize, 0, "whole batches")
        let rest = try await Self.refresh(library)["/feed"]
        XCTAssertEqual(rest?.counts.new, count - arrived)
        XCTAssertEqual(rest?.counts.unchanged, arrived)
        let statuses = try await server.requests("/feed").map(\.status)
        XCTAssertEqual(statuses, [200, 200])
    }

    func testAFeedThatIsSubscribedToAgainIsFetchedAnew() async throws {
        try await server.serve("/feed", Route(rss([1])).with { $0.etag = "\"a\"" })
        let library = try firstDevice()
        for _ in 0..<2 {
            try library.subscribe([.init(url: try address("/feed"))])
            let result = try await Self.refresh(library)["/feed"]
            XCTAssertEqual(result?.counts.new, 1)
            try library.remove(library.feed("/feed"))
        }
    }

    func testAServerThatAsksToBeLeftAloneIs() async throws {
        let server = try server
        try await server.serve("/feed", Route("", status: 429, headers: ["Retry-After": "3600"]), Route(rss([1])))
        let library = try firstDevice()
        try library.subscribe([.init(url: try address("/feed"))])
        let refresher = try Refresher(library)
        let first = try await refresher.refresh(library.feeds())
        XCTAssertEqual(first.first?.error?.code, .tooManyRequests)
        let second = try await refresher.refresh(library.feeds())
        guard case .notYet? = second.first?.outcome else { return XCTFail("\(second)") }
        let count = try await server.requests("/feed").count
        XCTAssertEqual(count, 1)
        let third = try await refresher.refresh(library.feeds(), isForced: true)
        XCTAssertEqual(third.first?.counts.new, 1)
    }

    /// Whoever reads waits for one batch at most: while a feed is being imported, marks are set and lists are read.
    func testPeopleReadAndMarkWhileAFeedIsImported() async throws {
        try await server.serve("/feed", Route().with { $0.generate = .init(articles: 5000, fill: 100) })
        let library = try firstDevice()
        try library.subscribe([.init(url: try address("/feed"))])
        let reading = try library.reading()
        let marked = Mutex(0)
        _ = try await Refresher(library).refresh(
            library.feeds(),
            progress: { progress in
                guard progress.counts.new > 0 else { return }
                do {
                    var query = ArticleQuery()
                    query.unreadOnly = true
                    query.limit = 1
                    let article = try XCTUnwrap(library.articles(query).first)
                    let count = try reading.set(.read, true, [article.id])
                    marked.withLock { $0 += count }
                } catch {
                    XCTFail("\(error)")
                }
            })
        let feed = try library.feed("/feed")
        XCTAssertEqual(feed.articles, 5000)
        XCTAssertGreaterThan(marked.withLock(\.self), 0)
        XCTAssertEqual(feed.articles - feed.unread, marked.withLock(\.self))
    }

    /// The list on one device's screen follows what is read on the other.
    func testAListFollowsTheOtherDevice() async throws {
        try await server.serve("/feed", Route(rss([1, 2, 3])))
        let laptop = try firstDevice()
        try laptop.subscribe([.init(url: try address("/feed"))])
        try laptop.sync()
        let phone = try joinedDevice()
        try await Self.refresh(laptop)
        try await Self.refresh(phone)
        let engine = try phone.engine()
        engine.start()
        let isRead = expectation(description: "the list has one article left")
        let list = Task {
            var query = ArticleQuery()
            query.unreadOnly = true
            let request = query.request
            let results = try LiveResults<ArticleLine>(in: phone.pool, key: ["id"]) { _ in request }
            for try await delivery in results.deliveries where delivery.count == 1 {
                let title = try await delivery.records(in: 0..<1)[0]?.title
                XCTAssertEqual(title, "Article 1")
                isRead.fulfill()
                return
            }
        }
        let ids = try laptop.articles(ArticleQuery()).map(\.id)
        try laptop.reading().set(.read, true, Array(ids.prefix(2)))
        try laptop.sync()
        await fulfillment(of: [isRead], timeout: 60)
        list.cancel()
        await engine.stop()
    }
}
