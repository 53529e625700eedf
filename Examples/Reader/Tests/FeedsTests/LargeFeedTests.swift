import FeedTestServer
import Feeds
import Foundation
import XCTest

final class LargeFeedTests: FetchingTestCase {
    func testASizeLimitStrikesWhileAFeedOf100MegabytesIsSent() async throws {
        try await server.serve("/large", Route().with { $0.generate = Route.Generated(articles: 100_000) })
        let outcome = try await fetch("/large", with: try fetcher { $0.maximumBytes = 10 << 20 })
        XCTAssertEqual(outcome.failureCode, .tooLarge)
        XCTAssertEqual(
            outcome.error?.message, "the feed from 127.0.0.1 is larger than 10 MiB; raise the limit if it may be")
        XCTAssertEqual(try cachedFiles(), [])
    }

    func testTheSizeLimitCountsDecompressedBytes() async throws {
        try await server.serve(
            "/bomb",
            Route().with {
                $0.zeros = 20_000_000
                $0.encoding = "gzip"
            })
        let bomb = try await fetch("/bomb", with: try fetcher { $0.maximumBytes = 1_000_000 })
        XCTAssertEqual(bomb.failureCode, .tooLarge)
        try await server.serve(
            "/streamed",
            Route().with {
                $0.generate = Route.Generated(articles: 5000)
                $0.encoding = "gzip"
            })
        let streamed = try await fetch("/streamed", with: try fetcher { $0.maximumBytes = 1_000_000 })
        XCTAssertEqual(streamed.failureCode, .tooLarge)
    }

    func testALengthOverTheLimitIsRefusedBeforeTheBodyComes() async throws {
        try await server.serve(
            "/claims",
            Route(rss("1")).with {
                $0.contentLength = 2_000_000
                $0.hold = .inBody
            })
        let outcome = try await fetch("/claims", with: try fetcher { $0.maximumBytes = 1_000_000 })
        XCTAssertEqual(outcome.failureCode, .tooLarge)
        try await server.release("/claims")
    }

    func testCompressedFeedsAreDecompressed() async throws {
        for encoding in ["gzip", "deflate"] {
            try await server.serve("/\(encoding)", Route(rss("1", "2")).with { $0.encoding = encoding })
            let feed = try await fetch("/\(encoding)").feed()
            XCTAssertEqual(try guids(feed), ["1", "2"], encoding)
            XCTAssertEqual(feed.pages.first?.body.byteCount, rss("1", "2").utf8.count, encoding)
        }
        try await server.serve("/broken", Route(rss("1"), headers: ["Content-Encoding": "gzip"]))
        let broken = try await fetch("/broken")
        XCTAssertNotNil(broken.error)
    }

    func testParses20000ArticlesOneByOne() async throws {
        try await server.serve("/many", Route().with { $0.generate = Route.Generated(articles: 20_000) })
        let feed = try await fetch("/many").feed()
        let source = try XCTUnwrap(feed.pages.first?.source)
        var count = 0
        var last = FeedProgress()
        var stepsBetweenArticles = 0
        try FeedParser(source).parse { event in
            switch event {
            case .article(let article):
                XCTAssertEqual(article.guid, "\(count)")
                count += 1
            case .progress(let progress):
                XCTAssertGreaterThanOrEqual(progress.bytesDone, last.bytesDone)
                last = progress
                if count > 0, count < 20_000 { stepsBetweenArticles += 1 }
            case .feed(let feed): XCTAssertEqual(feed.title, "Generated")
            }
        }
        XCTAssertEqual(count, 20_000)
        XCTAssertEqual(last.bytesDone, feed.pages[0].body.byteCount)
        XCTAssertEqual(last.bytesTotal, last.bytesDone)
        XCTAssertGreaterThan(stepsBetweenArticles, 200, "articles arrive while the file is being read")
    }

    func testTheConsumerStopsTheParserByThrowing() throws {
        struct Enough: Error {}
        let text = rss("1", "2", "3")
        for document in [text, #"{"items":[{"id":"1"},{"id":"2"},{"id":"3"}]}"#] {
            var count = 0
            let parser = FeedParser(FeedSource(data: Data(document.utf8)))
            XCTAssertThrowsError(
                try parser.parse { event in
                    guard case .article = event else { return }
                    count += 1
                    if count == 2 { throw Enough() }
                }
            ) { XCTAssertTrue($0 is Enough) }
            XCTAssertEqual(count, 2)
        }
    }
}
