import Feeds
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

final class ImportTests: ReaderTestCase {
    private let url = "https://example.org/feed"

    func testArticlesComeWithAuthorAndCategoriesOnce() throws {
        let library = try firstDevice()
        let feed = try library.subscribe(url)
        XCTAssertEqual(try library.importFeed(rss([3, 2, 1]), as: url).new, 3)
        XCTAssertEqual(try library.titles(), ["Article 3", "Article 2", "Article 1"])
        XCTAssertEqual(try library.articles(ArticleQuery()).map(\.author), ["Ada", "Ada", "Ada"])
        try library.pool.read { database in
            XCTAssertEqual(try Int.fetchOne(database, sql: "SELECT count(*) FROM author"), 1)
            XCTAssertEqual(try String.fetchAll(database, sql: "SELECT name FROM category"), ["Music"])
            XCTAssertEqual(try Int.fetchOne(database, sql: "SELECT count(*) FROM article_category"), 3)
        }
        let named = try library.feed("\(feed.id)")
        XCTAssertEqual(named.title, "News")
        XCTAssertEqual(named.site, "https://example.org/")
        XCTAssertEqual(named.unread, 3)
    }

    func testWhatIsTheSameIsNotWrittenAgain() throws {
        let library = try firstDevice(sharesArticles: true)
        try library.subscribe(url)
        try library.importFeed(rss([2, 1]), as: url)
        try library.sync()
        let again = try library.importFeed(rss([2, 1]), as: url)
        XCTAssertEqual(again.unchanged, 2)
        XCTAssertEqual(again.new + again.changed, 0)
        let notes = try library.pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM ferry_pending") }
        XCTAssertEqual(notes, 0, "nothing travels")
        let changed = try library.importFeed(rss([3, 2, 1], text: "corrected"), as: url)
        XCTAssertEqual(changed.new, 1)
        XCTAssertEqual(changed.changed, 2)
        let id = try XCTUnwrap(library.articles(ArticleQuery()).last?.id)
        XCTAssertEqual(try library.article(id).text, "corrected 1")
    }

    func testOfTwoArticlesWithOneGUIDTheFirstCounts() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        let document = rss([1], text: "newer").replacing(
            "</channel>", with: "<item><guid>1</guid><title>Older</title></item></channel>")
        for _ in 0..<2 {
            try library.importFeed(document, as: url)
            XCTAssertEqual(try library.titles(), ["Article 1"])
        }
    }

    func testMoreThanOneBatchArrivesWhole() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        let count = 2 * ArticleImporter.batchSize + 7
        XCTAssertEqual(try library.importFeed(rss(Array(1...count)), as: url).new, count)
        XCTAssertEqual(try library.feed(url).articles, count)
    }

    func testWhatWasCommittedStaysWhereTheFeedIsRemovedMeanwhile() throws {
        let library = try firstDevice()
        let feed = try library.subscribe(url)
        let importer = ArticleImporter(try ImportConnection(path: library.path), feedURL: url)
        try importer.add(ParsedArticle(guid: "1", guidSource: .declared))
        try importer.flush()
        try library.remove(feed)
        try importer.add(ParsedArticle(guid: "2", guidSource: .declared))
        XCTAssertThrowsError(try importer.flush()) { XCTAssertEqual(($0 as? ReaderError)?.code, .nothingFound) }
        XCTAssertEqual(try library.titles(), [])
    }

    /// Authors that others joined or removed between two batches are looked up anew.
    func testRememberedNamesAreForgottenWhenOthersWrite() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        let importer = ArticleImporter(try ImportConnection(path: library.path), feedURL: url)
        func article(_ guid: String) -> ParsedArticle {
            ParsedArticle(guid: guid, guidSource: .declared, authors: [ParsedAuthor(name: "Ada")])
        }
        try importer.add(article("1"))
        try importer.flush()
        try library.pool.write { try $0.execute(sql: "DELETE FROM author; INSERT INTO author VALUES (77, 'Ada')") }
        try importer.add(article("2"))
        try importer.flush()
        try library.pool.read { database in
            XCTAssertEqual(
                try Int?.fetchAll(database, sql: "SELECT author FROM article ORDER BY guid"), [nil, 77])
        }
    }

    func testWhatIsNotUnderstoodIsKept() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        let document = rss([1]).replacing(
            "<guid>", with: "<mood>merry</mood><enclosure url=\"https://example.org/1.mp3\" type=\"audio/mpeg\"/><guid>"
        )
        try library.importFeed(document, as: url)
        let id = try XCTUnwrap(library.articles(ArticleQuery()).first?.id)
        let article = try library.article(id)
        XCTAssertEqual(try article.enclosures().map(\.url), ["https://example.org/1.mp3"])
        let extras = try ArticleExtras(json: XCTUnwrap(article.extensions))
        XCTAssertEqual(extras.elements?.first?.name, "mood")
        XCTAssertEqual(extras.elements?.first?.text, "merry")
    }

    func testSearchFindsWhatIsThereAndNothingElse() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        try library.importFeed(rss([1, 2], text: "&lt;b class='loud'&gt;Éclair&lt;/b&gt;"), as: url)
        var query = ArticleQuery()
        query.search = "ecl"
        XCTAssertEqual(try library.articles(query).count, 2, "without accents, by the beginning of a word")
        query.search = "loud"
        XCTAssertEqual(try library.titles(query), [], "markup is not searched")
        try library.importFeed(rss([1], text: "changed"), as: url)
        query.search = "eclair"
        XCTAssertEqual(try library.titles(query), ["Article 2"])
        query.search = "changed 1"
        XCTAssertEqual(try library.titles(query), ["Article 1"])
        try library.remove(library.feed(url))
        XCTAssertEqual(try library.titles(query), [])
    }

    func testListsAreNarrowedAndOrdered() throws {
        let library = try firstDevice()
        try library.subscribe(url)
        try library.subscribe("https://example.org/other", title: "Other")
        try library.importFeed(rss([1, 2, 3]), as: url)
        try library.importFeed(rss([4]), as: "https://example.org/other")
        let reading = try library.reading()
        let ids = try library.articles(ArticleQuery()).map(\.id)
        XCTAssertEqual(try library.titles(), ["Article 4", "Article 3", "Article 2", "Article 1"])
        XCTAssertEqual(try reading.set(.read, true, [ids[0], ids[2]]), 2)
        XCTAssertEqual(try reading.set(.read, true, [ids[0]]), 0)
        XCTAssertEqual(try reading.set(.starred, true, [ids[1]]), 1)
        var query = ArticleQuery()
        query.unreadOnly = true
        query.sort = .oldest
        XCTAssertEqual(try library.titles(query), ["Article 1", "Article 3"])
        query = ArticleQuery()
        query.starredOnly = true
        XCTAssertEqual(try library.titles(query), ["Article 3"])
        query = ArticleQuery()
        query.group = .feed
        query.limit = 3
        XCTAssertEqual(try library.articles(query).map(\.section), ["News", "News", "News"])
        query.group = .day
        XCTAssertEqual(try library.articles(query).count, 3)
        query = ArticleQuery()
        query.category = "MUSIC"
        query.feed = try library.feed("Other").id
        XCTAssertEqual(try library.titles(query), ["Article 4"])
        XCTAssertEqual(try library.feeds().map(\.unread), [2, 0])
    }

    func testAReaderWithoutASharedFolderSaysWhatToDo() throws {
        let library = try Library(path: path("alone"))
        XCTAssertThrowsError(try library.engine()) { error in
            XCTAssertEqual((error as? ReaderError)?.code, .notSetUp)
            XCTAssertTrue("\(error)".contains("reader init"))
        }
    }
}
