import FeedTestServer
import Feeds
import Foundation
import XCTest

final class PagingTests: FetchingTestCase {
    func testFollowsTheLinksToNextPages() async throws {
        try await server.serve("/1", Route(rss("a", next: "2")))
        try await server.serve("/2", Route(rss("b"), headers: ["Link": "</0>; rel=\"prev\", </3?p=x>; rel=\"next\""]))
        try await server.serve("/3?p=x", Route(#"{"items":[{"id":"c"}],"next_url":"4"}"#))
        try await server.serve(
            "/4", Route("<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>d</id></entry></feed>"))
        let feed = try await fetch("/1", pages: 10).feed()
        XCTAssertEqual(try guids(feed), ["a", "b", "c", "d"])
        XCTAssertNil(feed.nextPage)
        XCTAssertNil(feed.incomplete)
    }

    func testStopsAtTheLimitAndSaysWhatIsNext() async throws {
        for number in 1...9 { try await server.serve("/\(number)", Route(rss("\(number)", next: "/\(number + 1)"))) }
        let feed = try await fetch("/1", pages: 3).feed()
        XCTAssertEqual(try guids(feed), ["1", "2", "3"])
        XCTAssertEqual(feed.nextPage, try server.url("/4"))
        let asked = try await server.requests("/4").count
        XCTAssertEqual(asked, 0)
        let one = try await fetch("/1").feed()
        XCTAssertEqual(one.pages.count, 1)
    }

    func testPagesInACircleAreFetchedOnce() async throws {
        try await server.serve("/1", Route(rss("a", next: "/2")))
        try await server.serve("/2", Route(rss("b", next: "/3")))
        try await server.serve("/3", Route(status: 302, headers: ["Location": "/1"]))
        let feed = try await fetch("/1", pages: 100).feed()
        XCTAssertEqual(try guids(feed), ["a", "b"])
        XCTAssertNil(feed.nextPage)
        try await server.serve("/own", Route(rss("a", next: "/own")))
        let own = try await fetch("/own", pages: 100).feed()
        XCTAssertEqual(own.pages.count, 1)
    }

    func testAPageThatFailsLeavesThoseBeforeIt() async throws {
        try await server.serve("/1", Route(rss("a", next: "/2")))
        try await server.serve("/2", Route(status: 500))
        let feed = try await fetch("/1", pages: 10).feed()
        XCTAssertEqual(try guids(feed), ["a"])
        XCTAssertEqual(feed.incomplete?.code, .server)
        XCTAssertEqual(feed.nextPage, try server.url("/2"))
    }

    func testAPageNeverLeadsToAFileOfThisComputer() async throws {
        let file = folder.appendingPathExtension("xml")
        try Data(rss("secret").utf8).write(to: file)
        defer { XCTAssertNoThrow(try FileManager.default.removeItem(at: file)) }
        try await server.serve("/1", Route(rss("a", next: file.absoluteString)))
        let feed = try await fetch("/1", pages: 10).feed()
        XCTAssertEqual(try guids(feed), ["a"])
    }

    func testAllPagesTogetherHaveALimit() async throws {
        for number in 1...9 { try await server.serve("/\(number)", Route(rss("\(number)", next: "/\(number + 1)"))) }
        let size = rss("1", next: "/2").utf8.count
        let feed = try await fetch("/1", with: try fetcher { $0.maximumTotalBytes = size * 2 + 1 }, pages: 9).feed()
        XCTAssertEqual(feed.pages.count, 2)
        XCTAssertEqual(feed.incomplete?.code, .tooLarge)
    }
}
