import FerryContainer
import FerryCore

/// How a `WatchLoop` balances promptness against requests, over a remote container. All times are in milliseconds.
package struct RemoteTiming: Hashable, Sendable {
    /// After a commit, how long the database must be quiet before its changes are packed.
    package var quietMilliseconds = 200
    /// The maximum time that changes wait for a quiet database.
    package var gatherMilliseconds = 1000
    /// The least time between two publications.
    package var publicationMilliseconds = 2000
    /// The interval between looks for a minute after news.
    package var newsMilliseconds = 1000
    /// The interval for ten minutes after news, or after a commit here.
    package var activityMilliseconds = 5000
    /// The longest interval at rest, which the interval doubles to, and the longest interval after failures.
    package var restMilliseconds = 60_000
    /// The interval between listings, for each page of the last listing.
    package var listingMilliseconds = 600_000
    /// The longest interval between listings.
    package var longestListingMilliseconds = 86_400_000

    package init() {}

    /// For everything that rclone reaches: each look costs more there.
    package static var rclone: RemoteTiming {
        var timing = RemoteTiming()
        (timing.publicationMilliseconds, timing.newsMilliseconds) = (5000, 5000)
        (timing.activityMilliseconds, timing.restMilliseconds) = (15_000, 120_000)
        timing.listingMilliseconds = 1_800_000
        return timing
    }

    /// The timing that suits all of these places: rclone's, if any is reached by rclone.
    init(suiting places: String...) {
        // A text that is no place is refused by whoever opens it.
        let isByRclone = places.contains { (try? ContainerLocation($0))?.kind == "rclone" }
        self = isByRclone ? .rclone : RemoteTiming()
    }

    /// For an app that hears of news by a push channel, and calls `SyncEngine.lookNow`.
    package static var pushed: RemoteTiming {
        var timing = RemoteTiming()
        (timing.newsMilliseconds, timing.activityMilliseconds, timing.restMilliseconds) = (5000, 900_000, 900_000)
        timing.listingMilliseconds = 86_400_000
        return timing
    }

    /// The interval between listings of so many pages.
    package func listing(pages: Int) -> Int {
        let (product, overflows) = listingMilliseconds.multipliedReportingOverflow(by: max(pages, 1))
        return overflows ? longestListingMilliseconds : min(product, longestListingMilliseconds)
    }
}

/// Says how long to wait before asking a remote container again: briefly after news, longer after activity here, and twice as long each
/// time at rest. A value without a clock.
struct RemoteSchedule: Sendable {
    private static let minute = 60_000
    private static let tenMinutes = 600_000

    private let timing: RemoteTiming
    /// When there was news, and when anything happened, by the caller's clock in milliseconds.
    private var news: Int?
    private var activity: Int?
    /// The interval at rest.
    private var interval: Int

    init(_ timing: RemoteTiming) {
        self.timing = timing
        interval = timing.activityMilliseconds
    }

    /// Records the result of a look.
    /// - Parameters:
    ///   - foundNews: true if anything was sent or received.
    ///   - isAfterCommit: true if somebody may have written to the database.
    ///   - now: in milliseconds by any clock that only goes forward.
    ///   - chance: a random number, for a jitter of a fifth: devices that began together do not ask together.
    /// - Returns: the milliseconds to wait.
    mutating func next(foundNews: Bool, isAfterCommit: Bool, at now: Int, chance: UInt64) -> Int {
        if foundNews { news = now }
        if foundNews || isAfterCommit { activity = now }
        if let news, now - news < Self.minute {
            interval = timing.newsMilliseconds
        } else if let activity, now - activity < Self.tenMinutes {
            interval = timing.activityMilliseconds
        } else {
            interval = min(max(interval, timing.activityMilliseconds) * 2, timing.restMilliseconds)
        }
        // From four fifths to six fifths.
        return interval * 4 / 5 + Int(chance % UInt64(max(interval * 2 / 5, 1)))
    }
}
