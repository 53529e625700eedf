import Feeds
import Ferry
import Foundation
import GRDB
import XCTest

@testable import ReaderStore

/// A test with a folder of its own, which goes when the test ends.
class ReaderTestCase: XCTestCase {
    private(set) var folder = URL(fileURLWithPath: "/")

    override func setUpWithError() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("reader-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    override func tearDownWithError() throws {
        // Harmless: a database that is just being closed takes its log away itself.
        try? FileManager.default.removeItem(at: folder)  // a temporary folder
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    /// A device that made the shared folder.
    func firstDevice(_ name: String = "laptop", sharesArticles: Bool = false) throws -> Library {
        let library = try Library(path: path(name))
        _ = try library.create(folder: path("shared"), name: name, sharesArticles: sharesArticles, sealing: .open)
        return library
    }

    func joinedDevice(_ name: String = "phone") throws -> Library {
        let library = try Library(path: path(name))
        _ = try library.join(folder: path("shared"), name: name)
        return library
    }

    /// The built command: beside the tests' bundle, or in it, as the system has it.
    func readerExecutable() throws -> URL {
        let bundle = Bundle(for: Self.self).bundleURL
        return try XCTUnwrap(
            [bundle, bundle.deletingLastPathComponent()].map { $0.appendingPathComponent("reader") }
                .first { FileManager.default.isExecutableFile(atPath: $0.path) })
    }

    /// Every reference leads somewhere.
    func assertSound(_ library: Library, file: StaticString = #filePath, line: UInt = #line) throws {
        try library.pool.read { database in
            XCTAssertEqual(
                try Row.fetchAll(database, sql: "PRAGMA foreign_key_check").count, 0, file: file, line: line)
        }
    }
}

extension Library {
    @discardableResult
    func subscribe(_ url: String, title: String? = nil) throws -> Feed {
        try subscribe([OPMLDocument.Entry(url: url, title: title)])
        return try feed(url)
    }

    /// Imports a document as if it had been fetched.
    @discardableResult
    func importFeed(_ document: String, as url: String) throws -> ImportCounts {
        let importer = ArticleImporter(try ImportConnection(path: path), feedURL: url)
        let source = FeedSource(data: Data(document.utf8), documentURL: URL(string: url))
        let feed = try FeedParser(source).parse { event in
            if case .article(let article) = event { try importer.add(article) }
        }
        try importer.flush()
        try importer.describe(feed)
        return importer.counts
    }

    func sync() throws { _ = try Replica(store).sync() }

    func reading() throws -> ReadingState { try ReadingState(self, engine()) }

    /// The titles of a list.
    func titles(_ query: ArticleQuery = ArticleQuery()) throws -> [String] {
        try articles(query).map { $0.title ?? "" }
    }
}

/// An RSS document with articles named after their numbers, the newest first.
func rss(_ numbers: [Int], title: String = "News", text: String = "text", author: String = "Ada") -> String {
    let items = numbers.map { number in
        """
        <item><guid>\(number)</guid><title>Article \(number)</title><description>\(text) \(number)</description>
        <author>\(author)</author><category>Music</category><category>music</category>
        <pubDate>\(String(format: "%02d", 1 + number % 28)) Jan 2026 12:00:00 GMT</pubDate></item>
        """
    }
    return """
        <?xml version="1.0"?><rss version="2.0"><channel><title>\(title)</title><link>https://example.org/</link>
        \(items.joined(separator: "\n"))</channel></rss>
        """
}
