import Feeds
import Foundation
import XCTest

/// What came of parsing a document, up to its end or its error.
struct Parsed {
    var events: [FeedEvent] = []
    var feed: ParsedFeed?
    var error: FeedError?

    var articles: [ParsedArticle] {
        events.compactMap { event in
            if case .article(let article) = event { article } else { nil }
        }
    }

    /// The feed's fields that came before the articles.
    var announcedFeed: ParsedFeed? {
        for case .feed(let feed) in events { return feed }
        return nil
    }

    var titles: [String?] { articles.map(\.title) }
}

/// Parses bytes from memory. Errors that are no `FeedError` fail the test.
func parse(
    bytes: [UInt8], from address: String? = "https://example.org/blog/feed", charset: String? = nil,
    limits: FeedParser.Limits = .init(), file: StaticString = #filePath, line: UInt = #line
) -> Parsed {
    var parsed = Parsed()
    let source = FeedSource(data: Data(bytes), documentURL: address.flatMap { URL(string: $0) }, charset: charset)
    do {
        parsed.feed = try FeedParser(source, limits: limits).parse { parsed.events.append($0) }
    } catch let error as FeedError {
        parsed.error = error
        XCTAssertFalse(error.message.isEmpty, file: file, line: line)
        XCTAssertFalse(error.message.contains(where: \.isNewline), "errors are one line", file: file, line: line)
    } catch {
        XCTFail("threw \(error)", file: file, line: line)
    }
    return parsed
}

/// Parses a text as UTF-8.
func parse(
    _ text: String, from address: String? = "https://example.org/blog/feed", charset: String? = nil,
    limits: FeedParser.Limits = .init(), file: StaticString = #filePath, line: UInt = #line
) -> Parsed {
    parse(bytes: Array(text.utf8), from: address, charset: charset, limits: limits, file: file, line: line)
}

/// A date by its seconds since 1970.
func date(_ iso: String) throws -> Date {
    try Date(iso, strategy: .iso8601)
}
