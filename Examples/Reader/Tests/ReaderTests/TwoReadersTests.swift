import FeedTestServer
import Feeds
import Ferry
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

/// Two readers with two databases, one folder between them, and a web with all that webs have.
final class TwoReadersTests: ServerTestCase {
    func testTwoDevicesShowTheSame() async throws { try await story(sharesArticles: false) }

    func testTwoDevicesShowTheSameWhereArticlesTravelToo() async throws { try await story(sharesArticles: true) }

    private static let goodPaths = ["/news", "/paged", "/moved", "/packed"]
    private static let badPaths = ["/slow", "/failing", "/cut", "/encoding", "/bomb", "/huge", "/missing", "/page"]

    private func story(sharesArticles: Bool) async throws {
        try await serveEverything()
        let laptop = try firstDevice(sharesArticles: sharesArticles)
        try laptop.subscribe((Self.goodPaths + Self.badPaths).map { .init(url: try address($0)) })
        try laptop.sync()
        let phone = try joinedDevice()
        XCTAssertEqual(try phone.feeds().map(\.url), try laptop.feeds().map(\.url))

        // Both fetch for themselves, at the same time; what is wrong with some feeds disturbs no other.
        async let laptopResults = Self.refresh(laptop)
        async let phoneResults = Self.refresh(phone)
        for results in try await [laptopResults, phoneResults] { try check(results) }
        let articles = try laptop.shown().map(\.guid)
        XCTAssertEqual(try phone.shown().map(\.guid), articles)
        try laptop.sync()
        try phone.sync()

        // Nothing new is not transferred again, and every article is there once.
        let again = try await Self.refresh(laptop)
        XCTAssertEqual(again["/news"]?.outcome, .unchanged)
        let news = try await server.requests("/news")
        XCTAssertEqual(news.map(\.status), [200, 200, 304])

        // Each reads something else; then the phone loses sight of the folder, and both go on reading.
        try read(laptop, "/news", ["1", "2"])
        try read(phone, "/news", ["2", "3"])
        try star(phone, "/paged", ["p1"])
        try laptop.sync()
        try FileManager.default.moveItem(atPath: path("shared"), toPath: path("away"))
        try read(phone, "/paged", ["p2"])
        try read(laptop, "/packed", ["1"])
        XCTAssertThrowsError(try phone.sync()) { XCTAssertEqual(($0 as? FerryError)?.code, .containerMissing) }
        try await server.serve("/news", Route(rss(Array(1...7))).with { $0.etag = "\"2\"" })
        let offline = try await Self.refresh(phone)
        XCTAssertEqual(offline["/news"]?.counts.new, 2, "fetching does not need the folder")
        try read(phone, "/news", ["7"])
        try FileManager.default.moveItem(atPath: path("away"), toPath: path("shared"))

        _ = try await Self.refresh(laptop)
        for _ in 0..<2 {
            try phone.sync()
            try laptop.sync()
        }
        let shown = try laptop.shown()
        XCTAssertEqual(try phone.shown(), shown)
        XCTAssertEqual(Set(shown.map { [$0.url, $0.guid] }).count, shown.count, "no article twice")
        let read = shown.filter(\.isRead).map { "\(URL(string: $0.url)?.path ?? "") \($0.guid)" }
        XCTAssertEqual(read, ["/news 1", "/news 2", "/news 3", "/news 7", "/packed 1", "/paged p2"])
        XCTAssertEqual(shown.filter(\.isStarred).map(\.guid), ["p1"])
        for library in [laptop, phone] {
            try assertSound(library)
            let replica = try Replica(library.store)
            XCTAssertEqual(try replica.verify(deep: true).differenceCount, 0)
            let status = try replica.status()
            XCTAssertEqual(status.conflicts, 0, "both wrote the same, or different things")
            XCTAssertEqual(status.hidden, 0)
        }
    }

    /// Good feeds and all that can be wrong with one.
    private func serveEverything() async throws {
        let server = try server
        try await server.serve("/news", Route(rss(Array(1...5))).with { $0.etag = "\"1\"" })
        try await server.serve("/paged", Route(Self.atom("p1", next: "/older")))
        try await server.serve("/older", Route(Self.atom("p2", next: nil)))
        try await server.serve("/moved", Route("", status: 301, headers: ["Location": "/home"]))
        try await server.serve("/home", Route(rss([1, 2], title: "Home")))
        try await server.serve("/packed", Route(rss([1, 2, 3], title: "Packed")).with { $0.encoding = "gzip" })

        try await server.serve("/slow", Route(rss([1])).with { $0.hold = .beforeHead })
        try await server.serve("/failing", Route("oops", status: 500))
        try await server.serve("/cut", Route(rss([1, 2, 3])).with { $0.body = String($0.body.dropLast(120)) })
        try await server.serve(
            "/encoding",
            Route("").with { $0.base64 = Data("<?xml version=\"1.0\" encoding=\"x-nonsense\"?><rss/>".utf8) })
        let bomb = (1...9).map { "<!ENTITY l\($0) \"\(String(repeating: "&l\($0 - 1);", count: 10))\">" }
        try await server.serve(
            "/bomb",
            Route(
                "<!DOCTYPE rss [<!ENTITY l0 \"lol\">\(bomb.joined())]><rss><channel><title>&l9;</title></channel></rss>"
            ))
        try await server.serve("/huge", Route().with { $0.generate = .init(articles: 100, fill: 1_000_000) })
        try await server.serve("/page", Route("<!DOCTYPE html><html><head><title>x</title></head></html>"))
    }

    private static func atom(_ id: String, next: String?) -> String {
        """
        <feed xmlns="http://www.w3.org/2005/Atom"><title>Paged</title><id>x</id>
        \(next.map { "<link rel=\"next\" href=\"\($0)\"/>" } ?? "")
        <entry><id>\(id)</id><title>\(id)</title><updated>2026-01-02T03:04:05Z</updated></entry></feed>
        """
    }

    private func check(_ results: [String: FeedRefresh]) throws {
        XCTAssertEqual(results.count, Self.goodPaths.count + Self.badPaths.count)
        XCTAssertEqual(Self.goodPaths.map { results[$0]?.counts.new }, [5, 2, 2, 3])
        for path in Self.goodPaths { XCTAssertNil(results[path]?.error, path) }
        XCTAssertEqual(results["/moved"]?.movedTo, try address("/home"))
        let codes = Self.badPaths.map { results[$0]?.error?.code }
        XCTAssertEqual(
            codes, [.timedOut, .server, .cutOff, .encoding, .entities, .tooLarge, .notFound, .webPage])
        XCTAssertEqual(results["/cut"]?.counts.new, 2, "what came before the fault stays")
    }

    private func ids(_ library: Library, _ path: String, _ guids: [String]) throws -> [Int64] {
        let url = try address(path)
        return try library.pool.read { database in
            try guids.map { guid in
                try XCTUnwrap(
                    Int64.fetchOne(
                        database,
                        sql: "SELECT article.id FROM article JOIN feed ON feed.id = feed WHERE url = ? AND guid = ?",
                        arguments: [url, guid]), "\(path) \(guid)")
            }
        }
    }

    private func read(_ library: Library, _ path: String, _ guids: [String]) throws {
        try library.reading().set(.read, true, ids(library, path, guids))
    }

    private func star(_ library: Library, _ path: String, _ guids: [String]) throws {
        try library.reading().set(.starred, true, ids(library, path, guids))
    }
}
