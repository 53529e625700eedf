import Foundation

/// What a feed says of itself.
public struct ParsedFeed: Sendable, Hashable {
    public var format: FeedFormat
    /// Plain text without markup.
    public var title: String?
    /// The address of the site that the feed belongs to.
    public var link: String?
    /// The address that the feed says it has; it may be wrong, fetch from the one that worked.
    public var selfURL: String?
    /// Where the next page with older articles is (RFC 5005's `rel="next"`, JSON Feed's `next_url`).
    public var nextURL: String?
    /// What the feed is about, as HTML.
    public var summary: String?
    /// A language tag, as the feed writes it.
    public var language: String?
    public var authors: [ParsedAuthor]
    public var categories: [ParsedCategory]
    /// The address of the feed's picture.
    public var image: String?
    /// When the feed changed last, as it says.
    public var updated: Date?
    public var copyright: String?
    public var generator: String?
    /// How long the feed asks readers to wait before they look again (`ttl`, or the syndication module's period).
    public var minutesToLive: Int?
    /// The elements that no field above stands for, as they were written.
    public var extensions: [FeedElement]
    /// What had to be mended to read the feed, a sentence each. Empty for a feed without faults.
    public var repairs: [String]

    public init(format: FeedFormat) {
        self.format = format
        authors = []
        categories = []
        extensions = []
        repairs = []
    }
}

/// The format of a feed, found from its content.
public struct FeedFormat: Sendable, Hashable, CustomStringConvertible {
    public enum Kind: String, Sendable, Hashable, Codable {
        case rss, atom, rdf, json
    }

    public var kind: Kind
    /// As the feed writes it, "2.0" for example; nil if it does not say.
    public var version: String?

    public init(_ kind: Kind, version: String? = nil) {
        self.kind = kind
        self.version = version
    }

    /// A name to show, "RSS 2.0" for example.
    public var description: String {
        let name =
            switch kind {
            case .rss: "RSS"
            case .atom: "Atom"
            case .rdf: "RSS (RDF)"
            case .json: "JSON Feed"
            }
        return version.map { "\(name) \($0)" } ?? name
    }
}

/// A feed that a web page offers.
public struct FeedLink: Sendable, Hashable, Codable {
    public var url: String
    public var title: String?

    public init(url: String, title: String? = nil) {
        self.url = url
        self.title = title
    }
}
