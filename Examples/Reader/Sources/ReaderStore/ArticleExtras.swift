import Feeds
import Foundation

/// What an article has beyond the columns of its table: kept as JSON, so that a later version finds what this one did not
/// ask for.
public struct ArticleExtras: Codable, Sendable, Hashable {
    /// All authors with all that is known of them, unless a name of one is all there is.
    public var authors: [ParsedAuthor]?
    public var enclosures: [ParsedEnclosure]?
    public var image: String?
    /// What relative addresses in the article are relative to.
    public var baseURL: String?
    /// Elements that the reader did not understand.
    public var elements: [FeedElement]?

    init(_ article: ParsedArticle) {
        let isOneName = article.authors.count == 1 && article.authors == [ParsedAuthor(name: article.authors[0].name)]
        authors = article.authors.isEmpty || isOneName ? nil : article.authors
        enclosures = article.enclosures.isEmpty ? nil : article.enclosures
        image = article.image
        baseURL = article.baseURL
        elements = article.extensions.isEmpty ? nil : article.extensions
    }

    private var isEmpty: Bool {
        authors == nil && enclosures == nil && image == nil && baseURL == nil && elements == nil
    }

    /// JSON with sorted keys, the same on every device; nil where there is nothing.
    func json() throws -> String? {
        if isEmpty { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    public init(json: String) throws { self = try JSONDecoder().decode(Self.self, from: Data(json.utf8)) }
}
