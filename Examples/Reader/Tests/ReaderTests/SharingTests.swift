import Ferry
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

/// What follows a person from device to device, without a network.
final class SharingTests: ReaderTestCase {
    private let url = "https://example.org/feed"

    func testMarksMeanTheSameArticleOnEveryDevice() throws {
        let mark = ArticleMark.mark(feed: url, guid: "1")
        XCTAssertEqual(mark, "61b0d0a1240a50a08c046b07d1b26431", "it must never change: read articles would be unread")
        XCTAssertNotEqual(mark, ArticleMark.mark(feed: url, guid: "2"))
        XCTAssertNotEqual(mark, ArticleMark.mark(feed: url + "2", guid: "1"))
    }

    func testWhatIsReadOnOneDeviceIsReadOnTheOtherBeforeItFetches() throws {
        let laptop = try firstDevice()
        try laptop.subscribe(url)
        try laptop.importFeed(rss([2, 1]), as: url)
        try laptop.reading().set(.read, true, ArticleQuery())
        try laptop.sync()
        let phone = try joinedDevice()
        XCTAssertEqual(try phone.feeds().map(\.url), [url])
        XCTAssertEqual(try phone.titles(), [], "articles stay on their device")
        try phone.importFeed(rss([3, 2, 1]), as: url)
        var query = ArticleQuery()
        query.unreadOnly = true
        XCTAssertEqual(try phone.titles(query), ["Article 3"])
    }

    func testAFeedThatIsRemovedElsewhereTakesItsArticlesHereToo() throws {
        let laptop = try firstDevice()
        for number in 1...2 { try laptop.subscribe("\(url)\(number)") }
        try laptop.sync()
        let phone = try joinedDevice()
        for number in 1...2 { try phone.importFeed(rss([number]), as: "\(url)\(number)") }
        try phone.save(FetchRecord(url: "\(url)1"))
        try laptop.remove(laptop.feed("\(url)1"))
        try laptop.sync()
        try phone.sync()
        XCTAssertEqual(try phone.titles(), ["Article 2"])
        try assertSound(phone)
        XCTAssertEqual(try phone.pool.read { try FetchRecord.fetchCount($0) }, 0)
    }

    func testDevicesThatSubscribedToTheSameFeedApartHaveItOnce() throws {
        for sharesArticles in [false, true] {
            let laptop = try firstDevice("laptop\(sharesArticles)", sharesArticles: sharesArticles)
            let phone = try Library(path: path("phone\(sharesArticles)"))
            try laptop.subscribe("https://example.org/first")
            try laptop.subscribe(url)
            try laptop.importFeed(rss([1, 2]), as: url)
            try phone.subscribe([.init(url: url), .init(url: "https://example.org/other")])
            try phone.importFeed(rss([2, 3]), as: url)
            try laptop.sync()
            _ = try phone.join(folder: path("shared"), name: "phone")
            try laptop.sync()
            for library in [laptop, phone] {
                XCTAssertEqual(try library.feeds().count, 3)
                try assertSound(library)
            }
            let expected =
                sharesArticles
                ? [["Article 3", "Article 2", "Article 1"], ["Article 3", "Article 2", "Article 1"]]
                : [["Article 2", "Article 1"], ["Article 3", "Article 2"]]
            XCTAssertEqual(try [laptop.titles(), phone.titles()], expected)
            XCTAssertEqual(try phone.articles(ArticleQuery()).map(\.author), expected[1].map { _ in "Ada" })
            try FileManager.default.removeItem(atPath: path("shared"))
        }
    }

    func testSharedArticlesAreFoundBySearchOnTheOtherDevice() throws {
        let laptop = try firstDevice(sharesArticles: true)
        try laptop.subscribe(url)
        try laptop.importFeed(rss([1], text: "zither"), as: url)
        try laptop.sync()
        let phone = try joinedDevice()
        var query = ArticleQuery()
        query.search = "zither"
        XCTAssertEqual(try phone.titles(query), ["Article 1"])
        try laptop.importFeed(rss([1], text: "violin"), as: url)
        try laptop.sync()
        try phone.sync()
        XCTAssertEqual(try phone.titles(query), [])
        query.search = "violin"
        XCTAssertEqual(try phone.titles(query), ["Article 1"])
    }

    /// A person who read 50,000 articles opens the reader on another device.
    func testReadingFiftyThousandArticlesIsOrdinary() throws {
        let count = 50_000
        let laptop = try firstDevice()
        let phone = try joinedDevice()
        let url = url
        try laptop.subscribe(url)
        try laptop.sync()
        try phone.sync()
        for library in [laptop, phone] {
            try library.pool.write { database in
                let feed = try Int64.fetchOne(database, sql: "SELECT id FROM feed")
                for number in 0..<count {
                    try database.cachedStatement(
                        sql: "INSERT INTO article(feed, guid, mark, title, published) VALUES (?, ?, ?, ?, ?)"
                    ).execute(
                        arguments: [
                            feed, "\(number)", ArticleMark.mark(feed: url, guid: "\(number)"), "Article \(number)",
                            number,
                        ])
                }
            }
        }
        XCTAssertEqual(try phone.feeds().map(\.unread), [count])
        func measure<Result>(_ what: String, _ body: () throws -> Result) rethrows -> Result {
            let clock = ContinuousClock()
            var result: Result?
            let time = try clock.measure { result = try body() }
            print("50,000 articles: \(what): \(time)")
            guard let result else { preconditionFailure("the body returned") }
            return result
        }
        XCTAssertEqual(
            try measure("mark all read") { try laptop.reading().set(.read, true, ArticleQuery()) }, count)
        try measure("send") { try laptop.sync() }
        try measure("receive") { try phone.sync() }
        XCTAssertEqual(try measure("feeds with unread counts") { try phone.feeds() }.map(\.unread), [0])
        var query = ArticleQuery()
        query.unreadOnly = true
        XCTAssertEqual(try measure("list unread") { try phone.articles(query) }.count, 0)
        query.unreadOnly = false
        XCTAssertEqual(try measure("list all") { try phone.articles(query) }.count, count)
    }
}
