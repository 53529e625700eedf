import FerryContainer

/// How a `WatchLoop` balances promptness against work. The defaults suit a folder on a local disk, filled by a file
/// syncer, as well as a network folder.
public struct WatchConfiguration: Sendable {
    /// After a commit, how long the database must be quiet before its changes are packed, in milliseconds.
    public var quietMilliseconds = 3
    /// The maximum time that changes wait for a quiet database, in milliseconds.
    public var gatherMilliseconds = 50
    /// When the loop looks at the container without an event.
    public var poll = PollSchedule()
    /// The interval between looks at every device's files, whatever the heads announce, in milliseconds.
    public var thoroughMilliseconds = 30_000
    /// The first and the longest interval between attempts after a failure, in milliseconds. Events in between bring
    /// the next attempt forward, but never below the first interval.
    public var retryMinimumMilliseconds = 1000
    public var retryMaximumMilliseconds = 8000
    /// How long other processes may lock the database before the loop reports a failure, in milliseconds.
    public var busyMilliseconds = 5000
    /// How long the database's file may be missing or unusable before watching ends, in milliseconds. A program that
    /// replaces the file may delete the former file first.
    public var replacementMilliseconds = 3000

    /// The interval between checks that the leading process still runs, in milliseconds.
    public var followMilliseconds = 500

    public init() {}
}
