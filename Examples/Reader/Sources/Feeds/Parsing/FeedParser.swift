import Foundation

/// What `FeedParser` delivers while it reads.
public enum FeedEvent: Sendable {
    /// What the feed says of itself, once, before its first article. Fields that the document has after its articles
    /// are only in the feed that `parse` returns.
    case feed(ParsedFeed)
    case article(ParsedArticle)
    /// Now and then, about every 64 KiB.
    case progress(FeedProgress)
}

/// Reads a feed of any format, one article at a time, in memory that does not grow with the feed.
///
/// It reads RSS 0.9 to 2.0 in XML and in JSON, RSS 1.0 (RDF), Atom 0.3 and 1.0 with the dialect of the iTunes charts, and
/// JSON Feed. The format is found from the content; names of files and media types are not asked. Nothing is ever loaded from
/// elsewhere, and XML entities that a feed defines are not expanded.
///
/// `parse` works synchronously on the calling thread. Articles arrive in the document's order, the newest first by
/// custom. The consumer stops it by throwing.
///
/// Every `FeedError` it throws comes after all articles before the fault were delivered, so that an importer may keep
/// them.
public struct FeedParser {
    /// Limits of one document.
    public struct Limits: Sendable {
        /// For the document, before decoding of characters.
        public var maximumBytes: Int
        /// For one article, and for what the feed says of itself.
        public var maximumArticleBytes: Int

        public init(maximumBytes: Int = 1 << 30, maximumArticleBytes: Int = 16 << 20) {
            self.maximumBytes = maximumBytes
            self.maximumArticleBytes = maximumArticleBytes
        }
    }

    private let source: FeedSource
    private let limits: Limits
    private let skipsArticles: Bool

    /// - Parameter source: a stream among them is used up by one `parse`.
    public init(_ source: FeedSource, limits: Limits = Limits()) {
        self.init(source, limits: limits, skipsArticles: false)
    }

    init(_ source: FeedSource, limits: Limits = Limits(), skipsArticles: Bool) {
        self.source = source
        self.limits = limits
        self.skipsArticles = skipsArticles
    }

    /// Reads the feed to its end.
    /// - Parameter receive: is called with each event in turn. What it throws ends the parsing and is thrown on.
    /// - Returns: all that the feed says of itself, and what had to be mended.
    /// - Throws: `FeedError`, or what `receive` threw.
    @discardableResult
    public func parse(_ receive: (FeedEvent) throws -> Void) throws -> ParsedFeed {
        try withoutActuallyEscaping(receive) { receive in
            let reader = try SourceReader(source, maximumBytes: limits.maximumBytes)
            let text = DecodedText(reader, charset: source.charset) { try receive(.progress($0)) }
            let beginning = try DocumentBeginning(text)
            var feed: ParsedFeed
            switch beginning.kind {
            case .empty:
                throw FeedError(.empty, "there is no feed here: the document is empty; check the address")
            case .webPage:
                throw try WebPage.error(for: beginning, text, documentURL: source.documentURL)
            case .other(let start):
                throw FeedError(
                    .notAFeed, "this is not a feed but something that begins with “\(start)”; check the address")
            case .xml:
                let mapper = XMLFeedMapper(documentURL: source.documentURL, deliver: receive)
                let document = XMLDocumentReader(
                    receiver: mapper, maximumElementBytes: limits.maximumArticleBytes, skipsArticles: skipsArticles)
                let repairs = try document.read(text, beginning: beginning.bytes)
                try mapper.deliverFeed()
                feed = mapper.currentFeed
                feed.repairs += repairs
            case .json:
                let document = JSONFeedReader(
                    documentURL: source.documentURL, maximumValueBytes: limits.maximumArticleBytes,
                    skipsArticles: skipsArticles, deliver: receive)
                feed = try document.read(text, beginning: beginning.bytes)
            }
            feed.repairs += text.repairs
            return feed
        }
    }
}
