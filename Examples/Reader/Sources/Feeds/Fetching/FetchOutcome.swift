import Foundation

/// What came of fetching a feed. Fetching never throws: every end is one of these.
public enum FetchOutcome: Sendable {
    /// The feed is there: its pages are to be parsed, in this order.
    case fetched(FetchedFeed)
    /// It has not changed since the validators of the request; nothing was transferred.
    case notModified(FetchNotes)
    /// The server says that it is gone for good: do not ask again.
    case gone(FeedError, FetchNotes)
    /// It could not be fetched. `FeedError.isTemporary` tells whether it may go well by itself later.
    case failed(FeedError, FetchNotes)

    /// What the server said besides.
    public var notes: FetchNotes {
        switch self {
        case .fetched(let feed): feed.notes
        case .notModified(let notes), .gone(_, let notes), .failed(_, let notes): notes
        }
    }

    /// What went wrong, if something did; pages that are missing are not asked here, see `FetchedFeed.incomplete`.
    public var error: FeedError? {
        switch self {
        case .fetched, .notModified: nil
        case .gone(let error, _), .failed(let error, _): error
        }
    }
}

/// What a server said besides the feed.
public struct FetchNotes: Sendable, Hashable {
    /// The feed has moved there for good: fetch it from there from now on, once what is there was parsed as a feed. Only
    /// where the feed was found.
    public var movedTo: URL?
    /// Do not fetch again before, because the server says so (`Retry-After`, or `Cache-Control: max-age`). At most a
    /// week from now, whatever it says.
    public var notBefore: Date?
    /// For the next request.
    public var validators: FeedValidators?

    public init(movedTo: URL? = nil, notBefore: Date? = nil, validators: FeedValidators? = nil) {
        self.movedTo = movedTo
        self.notBefore = notBefore
        self.validators = validators
    }
}

/// A feed that was fetched.
public struct FetchedFeed: Sendable {
    /// At least one; the newest articles are on the first.
    public var pages: [FetchedPage]
    public var notes: FetchNotes
    /// The page after the last that was fetched, if there is one: the request's or a size limit ended there.
    public var nextPage: URL?
    /// Why a page after the first could not be fetched. The pages before it are good.
    public var incomplete: FeedError?
}

/// A page of a feed, as a file.
public struct FetchedPage: Sendable {
    /// Where it was found after all redirects.
    public var url: URL
    /// The encoding that the server named.
    public var charset: String?
    /// The file with its bytes; it stays as long as this value is kept.
    public var body: FeedBody

    /// What to give to `FeedParser`.
    public var source: FeedSource { FeedSource(file: body.file, documentURL: url, charset: charset) }
}

/// A file with the body of a page. A cache removes its files when it needs the room, but not while somebody keeps this.
public final class FeedBody: Sendable {
    public let file: URL
    public let byteCount: Int
    private let onRelease: @Sendable () -> Void

    init(file: URL, byteCount: Int, onRelease: @escaping @Sendable () -> Void = {}) {
        self.file = file
        self.byteCount = byteCount
        self.onRelease = onRelease
    }

    deinit { onRelease() }
}
