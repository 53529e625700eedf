import Foundation

/// A feed to fetch, and what is known from the last time.
public struct FeedRequest: Sendable, Hashable {
    /// `http`, `https` or `file`.
    public var url: URL
    /// What the last outcome said. Nothing is fetched if the feed has not changed since. Keep them only once the
    /// articles that came with them are safe.
    public var validators: FeedValidators?
    /// How many pages to fetch at most where the feed says that older articles are on a next one (RFC 5005). 1 does not
    /// look for a next page.
    public var maximumPages: Int

    public init(_ url: URL, validators: FeedValidators? = nil, maximumPages: Int = 1) {
        self.url = url
        self.validators = validators
        self.maximumPages = max(1, maximumPages)
    }
}

/// What a server knows a version of a feed by.
public struct FeedValidators: Sendable, Hashable, Codable {
    /// As the server wrote it, with its quotes.
    public var etag: String?
    /// As the server wrote it.
    public var lastModified: String?

    public init(etag: String? = nil, lastModified: String? = nil) {
        self.etag = etag
        self.lastModified = lastModified
    }
}

/// Limits of fetching.
public struct FetchLimits: Sendable, Hashable {
    /// For the body of each page, after decompression.
    public var maximumBytes = 64 << 20
    /// For all pages of one feed together.
    public var maximumTotalBytes = 256 << 20
    /// For a file that belongs to an article, such as a podcast's episode.
    public var maximumFileBytes = 1 << 30
    /// How many redirects in a row are followed.
    public var maximumRedirects = 10
    /// Until the server begins to answer, connecting included.
    public var connectSeconds = 20.0
    /// Between two pieces of the body.
    public var idleSeconds = 30.0
    /// For one page, its redirects each for itself.
    public var wholeSeconds = 300.0
    /// How many feeds are fetched at the same time.
    public var maximumConcurrent = 6
    /// How many of them from the same host.
    public var maximumConcurrentPerHost = 2

    public init() {}
}
