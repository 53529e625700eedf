import Feeds
import Foundation
import XCTest

final class JSONFeedTests: XCTestCase {
    func testReadsFeedAndItems() throws {
        let parsed = parse(
            #"""
            {"version": "https://jsonfeed.org/version/1.1", "title": "Log \u00e9\ud83d\ude00\"", "home_page_url": "/",
             "feed_url": "feed.json", "next_url": "feed.json?p=2", "description": "a < b", "language": "en", "expired": false,
             "authors": [{"name": "Ann", "url": "https://ann.example"}], "_own": {"a": [1, null, {"b": "c"}]},
             "items": [
               {"id": 7, "url": "one", "title": "One", "content_html": "<p>x</p>", "content_text": "x", "summary": "s & t",
                "image": "i.png", "date_published": "2026-11-20T10:00:00+01:00", "date_modified": "sometime",
                "tags": ["a", "b"], "authors": [{"name": "Bob", "avatar": "b.png"}],
                "attachments": [{"url": "a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 10, "duration_in_seconds": 2.5}],
                "_mine": {"k": true}},
               {"external_url": "https://x.example/2", "content_text": "line\nnext"},
               {"title": "only a title"}
             ],
             "icon": "late.png"}
            """#)
        XCTAssertNil(parsed.error)
        let feed = try XCTUnwrap(parsed.feed)
        XCTAssertEqual(feed.format, FeedFormat(.json, version: "1.1"))
        XCTAssertEqual(feed.title, "Log é😀\"")
        XCTAssertEqual(feed.summary, "a &lt; b")
        XCTAssertEqual(
            [feed.link, feed.selfURL, feed.nextURL, feed.image],
            [
                "https://example.org/", "https://example.org/blog/feed.json", "https://example.org/blog/feed.json?p=2",
                "https://example.org/blog/late.png",
            ])
        XCTAssertNil(parsed.announcedFeed?.image, "it comes after the articles")
        XCTAssertEqual(feed.extensions.map(\.name), ["expired", "_own"])
        XCTAssertEqual(feed.extensions[1].first("a")?.elements.last?.first("b")?.text, "c")

        let first = try XCTUnwrap(parsed.articles.first)
        XCTAssertEqual(first.guid, "7")
        XCTAssertEqual(first.link, "https://example.org/blog/one")
        XCTAssertEqual([first.content, first.summary], ["<p>x</p>", "s &amp; t"])
        XCTAssertEqual(first.published, try date("2026-11-20T09:00:00Z"))
        XCTAssertEqual(first.categories.map(\.term), ["a", "b"])
        XCTAssertEqual(first.authorNames, ["Bob"])
        XCTAssertEqual(
            first.enclosures,
            [
                ParsedEnclosure(
                    url: "https://example.org/blog/a.mp3", type: "audio/mpeg", byteCount: 10, durationSeconds: 2.5)
            ])
        XCTAssertEqual(first.extensions.map(\.name), ["date_modified", "authors", "_mine", "content_text"])
        XCTAssertEqual(parsed.articles[1].guid, "https://x.example/2")
        XCTAssertEqual(parsed.articles[1].link, "https://x.example/2")
        XCTAssertEqual(parsed.articles[1].content, "line<br>\nnext")
        XCTAssertEqual(parsed.articles[2].guidSource, .hash)
    }

    func testItemsMayComeFirst() throws {
        let parsed = parse(#"{"items":[{"id":"1"}],"version":"https://jsonfeed.org/version/1","title":"T"}"#)
        XCTAssertEqual(parsed.articles.map(\.guid), ["1"])
        XCTAssertNil(parsed.announcedFeed?.title)
        XCTAssertEqual(parsed.feed?.title, "T")
    }

    func testACutOffFeedDeliversTheItemsBeforeTheCut() {
        let parsed = parse(#"{"title":"T","items":[{"id":"1"},{"id":"2"},{"id":"3"#)
        XCTAssertEqual(parsed.articles.map(\.guid), ["1", "2"])
        XCTAssertEqual(parsed.error?.code, .cutOff)
    }

    func testFaultsAreNamedByTheirPlace() {
        let parsed = parse(#"{"items":[{"id":"1"},{"id":x}]}"#)
        XCTAssertEqual(parsed.articles.map(\.guid), ["1"])
        XCTAssertEqual(parsed.error?.code, .malformed)
        XCTAssertEqual(parsed.error?.message, "the feed is not well-formed JSON at byte 27; tell its publisher")
    }

    func testReadsRSSInJSON() throws {
        let parsed = parse(
            #"""
            {"rss": {"version": "2.0", "channel": {
                "title": "Ferries &amp; Boats", "link": "https://example.org/", "description": "About ships",
                "language": "en-us", "lastBuildDate": "Sun, 22 Nov 2026 10:00:00 GMT", "ttl": 90,
                "cloud": {"domain": "rpc.example.org", "port": 80}, "image": {"url": "/logo.png", "title": "F"},
                "item": [
                    {"title": "Swan", "link": "/2026/swan", "pubDate": "Sat, 21 Nov 2026 09:30:00 EST",
                     "description": "<p>In short</p>", "author": "bob@example.org (Bob)", "dc:creator": "Carol",
                     "guid": {"isPermaLink": false, "#value": "swan-1"}, "category": ["Ships", {"domain": "d", "#value": "News"}],
                     "enclosure": {"url": "https://example.org/swan.mp3", "length": 12345, "type": "audio/mpeg"},
                     "comments": "https://example.org/c"},
                    {"guid": "https://example.org/second", "description": "no title"}
                ]}}}
            """#)
        XCTAssertNil(parsed.error)
        let feed = try XCTUnwrap(parsed.feed)
        XCTAssertEqual(feed.format, FeedFormat(.rss, version: "2.0"))
        XCTAssertEqual([feed.title, feed.link, feed.language], ["Ferries & Boats", "https://example.org/", "en-us"])
        XCTAssertEqual(feed.minutesToLive, 90)
        XCTAssertEqual(feed.image, "https://example.org/logo.png")
        XCTAssertEqual(feed.extensions.map(\.name), ["cloud"])
        XCTAssertEqual(feed.extensions[0].attribute("port"), "80")
        XCTAssertEqual(parsed.announcedFeed, feed)
        let article = try XCTUnwrap(parsed.articles.first)
        XCTAssertEqual(
            [article.guid, article.title, article.link], ["swan-1", "Swan", "https://example.org/2026/swan"])
        XCTAssertEqual(article.published, try date("2026-11-21T14:30:00Z"))
        XCTAssertEqual(article.authorNames, ["Bob", "Carol"])
        XCTAssertEqual(
            article.categories, [ParsedCategory(term: "Ships"), ParsedCategory(term: "News", scheme: "d")])
        XCTAssertEqual(
            article.enclosures,
            [ParsedEnclosure(url: "https://example.org/swan.mp3", type: "audio/mpeg", byteCount: 12345)])
        XCTAssertEqual(article.extensions.map(\.name), ["comments"])
        XCTAssertEqual(parsed.articles.map(\.guid), ["swan-1", "https://example.org/second"])
    }

    func testRSSInJSONIsTheSameInAnyOrder() throws {
        let parsed = parse(
            #"{"rss":{"channel":{"item":{"guid":"one","title":"1"},"title":"T"},"version":"2.0"}}"#)
        XCTAssertEqual(parsed.articles.map(\.guid), ["one"])
        XCTAssertEqual(parsed.feed?.title, "T")
        XCTAssertEqual(parsed.feed?.format, FeedFormat(.rss, version: "2.0"))
        XCTAssertEqual(parse(#"{"rss":{"version":"2.0"}}"#).error?.code, .notAFeed)
        XCTAssertEqual(parse(#"{"rss":7}"#).error?.code, .notAFeed)
        let cut = parse(#"{"rss":{"channel":{"title":"T","item":[{"guid":"1"},{"guid":"2"#)
        XCTAssertEqual(cut.articles.map(\.guid), ["1"])
        XCTAssertEqual(cut.error?.code, .cutOff)
    }

    func testOtherJSONIsNoFeed() {
        XCTAssertEqual(parse(#"{"a": [1, 2]}"#).error?.code, .notAFeed)
        XCTAssertEqual(parse("{}").error?.code, .notAFeed)
        XCTAssertEqual(parse(#"[{"id":"1"}]"#).error?.code, .notAFeed)
    }

    func testNestingWithoutEndIsAnError() {
        let deep = String(repeating: "[", count: 100_000)
        XCTAssertEqual(parse(#"{"items":[{"id":"1"},\#(deep)"#).error?.code, .cutOff)
        let closed = deep + String(repeating: "]", count: 100_000)
        XCTAssertEqual(parse(#"{"items":[{"id":"1"},\#(closed)]}"#).error?.code, .malformed)
    }

    func testAnItemLargerThanTheLimitIsAnError() {
        let long = String(repeating: "x", count: 300_000)
        let parsed = parse(
            #"{"items":[{"id":"1"},{"id":"\#(long)"}]}"#, limits: .init(maximumArticleBytes: 100_000))
        XCTAssertEqual(parsed.articles.count, 1)
        XCTAssertEqual(parsed.error?.code, .tooLarge)
    }
}
