import FerryContainer

/// How a `WatchLoop` balances promptness against work. The defaults suit a folder on a local disk, which a file syncer
/// fills, as well as a network folder.
public struct WatchConfiguration: Sendable {
    /// After a commit, how long the database must be quiet before its changes are packed, in milliseconds.
    public var quietMilliseconds = 3
    /// The longest that changes wait for the database to become quiet, in milliseconds.
    public var gatherMilliseconds = 50
    /// When to look at the container although nothing was told.
    public var poll = PollSchedule()
    /// How often to look at every device's files, whatever its head announces, in milliseconds.
    public var thoroughMilliseconds = 30_000
    /// The first and the longest interval between attempts after a failure, in milliseconds. What happens meanwhile
    /// brings the next attempt forward, and never below the first interval.
    public var retryMinimumMilliseconds = 1000
    public var retryMaximumMilliseconds = 8000
    /// How long the database may be locked by others before that is told as a failure, in milliseconds.
    public var busyMilliseconds = 5000
    /// How long the database's file may be missing, or be one that will not do, before watching ends, in milliseconds:
    /// whoever replaces it may delete the former file first.
    public var replacementMilliseconds = 3000

    /// How often to look whether the process that keeps the database in step is still there, in milliseconds.
    public var followMilliseconds = 500

    public init() {}
}
