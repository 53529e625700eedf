import Foundation

/// One article of a feed: an RSS item, an Atom entry or an item of a JSON Feed.
///
/// Links are absolute where the feed's own address is known. What has no field here, or did not fit into one, is in
/// `extensions`: nothing of the article is lost but comments and white space.
public struct ParsedArticle: Sendable, Hashable {
    /// What identifies the article within its feed; `ArticleIdentity` says how it is chosen. Never empty.
    public var guid: String
    /// Where `guid` comes from.
    public var guidSource: ArticleIdentity.Source
    /// Plain text without markup; nil if the article has none.
    public var title: String?
    /// The address of the article's page.
    public var link: String?
    public var authors: [ParsedAuthor]
    public var categories: [ParsedCategory]
    /// When it was published first, as the feed says.
    public var published: Date?
    /// When it was changed last, as the feed says.
    public var updated: Date?
    /// The feed's short form of the article, as HTML. Many feeds have the whole article here and no `content`.
    public var summary: String?
    /// The article itself, as HTML.
    public var content: String?
    public var enclosures: [ParsedEnclosure]
    /// The address of a picture that stands for the article.
    public var image: String?
    /// What relative addresses in `summary` and `content` are relative to.
    public var baseURL: String?
    /// The elements that no field above stands for, in the feed's order, as they were written.
    public var extensions: [FeedElement]

    public init(
        guid: String, guidSource: ArticleIdentity.Source, title: String? = nil, link: String? = nil,
        authors: [ParsedAuthor] = [], categories: [ParsedCategory] = [], published: Date? = nil, updated: Date? = nil,
        summary: String? = nil, content: String? = nil, enclosures: [ParsedEnclosure] = [], image: String? = nil,
        baseURL: String? = nil, extensions: [FeedElement] = []
    ) {
        self.guid = guid
        self.guidSource = guidSource
        self.title = title
        self.link = link
        self.authors = authors
        self.categories = categories
        self.published = published
        self.updated = updated
        self.summary = summary
        self.content = content
        self.enclosures = enclosures
        self.image = image
        self.baseURL = baseURL
        self.extensions = extensions
    }

    /// How many authors, categories and enclosures an article has at most; further elements are extensions.
    static let maximumListCount = 1000

    /// The names of those who wrote it; an address where a name is missing.
    public var authorNames: [String] { authors.map(\.displayName) }

    /// The article as HTML: `content`, or else `summary`.
    public var body: String? { content ?? summary }
}

/// Who wrote an article or keeps a feed. At least one field is set.
public struct ParsedAuthor: Sendable, Hashable, Codable {
    public var name: String?
    public var email: String?
    public var url: String?

    public init(name: String? = nil, email: String? = nil, url: String? = nil) {
        self.name = name
        self.email = email
        self.url = url
    }

    /// The name, or else the mail address, or else the page's address.
    public var displayName: String { name ?? email ?? url ?? "" }
}

/// A category of an article or a feed.
public struct ParsedCategory: Sendable, Hashable, Codable {
    /// The name that identifies it within its scheme.
    public var term: String
    /// What to show instead of `term`.
    public var label: String?
    /// The address or name of the list that the term is from.
    public var scheme: String?

    public init(term: String, label: String? = nil, scheme: String? = nil) {
        self.term = term
        self.label = label
        self.scheme = scheme
    }
}

/// A file that belongs to an article: a podcast's episode, a picture, a film.
public struct ParsedEnclosure: Sendable, Hashable, Codable {
    public var url: String
    /// The media type, as the feed says.
    public var type: String?
    /// The size in bytes, as the feed says.
    public var byteCount: Int?
    public var title: String?
    public var durationSeconds: Double?

    public init(
        url: String, type: String? = nil, byteCount: Int? = nil, title: String? = nil, durationSeconds: Double? = nil
    ) {
        self.url = url
        self.type = type
        self.byteCount = byteCount
        self.title = title
        self.durationSeconds = durationSeconds
    }
}
