import Feeds
import Foundation

/// What came of refreshing one feed.
public struct FeedRefresh: Sendable, Hashable {
    public enum Outcome: Sendable, Hashable {
        /// It was imported to its end.
        case imported(ImportCounts)
        /// It was imported as far as it could be read; why no further.
        case partly(ImportCounts, FeedError)
        /// The server says that nothing is new.
        case unchanged
        /// It was not fetched, because the server asked not to before this time.
        case notYet(Date)
        case failed(FeedError)
    }

    public var feed: Feed
    public var outcome: Outcome
    /// The feed has moved for good. Its articles' marks hang on the address that is subscribed to, so that stays until a
    /// person subscribes to the new one.
    public var movedTo: String?

    /// What went wrong; nil if nothing did.
    public var error: FeedError? {
        switch outcome {
        case .partly(_, let error), .failed(let error): error
        case .imported, .unchanged, .notYet: nil
        }
    }

    public var counts: ImportCounts {
        switch outcome {
        case .imported(let counts), .partly(let counts, _): counts
        case .unchanged, .notYet, .failed: ImportCounts()
        }
    }

    /// One line, with the feed's name.
    public var line: String {
        let news =
            switch outcome {
            case .imported(let counts): Self.text(counts)
            case .partly(let counts, let error): "\(Self.text(counts)), then: \(error.message)"
            case .unchanged: "nothing new"
            case .notYet(let date):
                "the server asks not to come before \(date.formatted(.iso8601)); name the feed to do so"
            case .failed(let error): error.message
            }
        let moved = movedTo.map { "; it has moved: subscribe to \($0)" } ?? ""
        return "\(feed.name): \(news)\(moved)"
    }

    private static func text(_ counts: ImportCounts) -> String {
        if counts.new == 0 && counts.changed == 0 { return "nothing new" }
        return "\(counts.new) new" + (counts.changed > 0 ? ", \(counts.changed) changed" : "")
    }
}

/// Where the import of one feed stands.
public struct RefreshProgress: Sendable {
    public var feed: Feed
    public var counts: ImportCounts
    /// Of the page that is being read.
    public var bytesDone: Int
    public var bytesTotal: Int?
}
