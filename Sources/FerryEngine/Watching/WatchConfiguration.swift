import FerryContainer

/// How a `WatchLoop` balances promptness against work. The defaults suit a folder on a local disk, filled by a file
/// syncer, as well as a network folder.
package struct WatchConfiguration: Sendable {
    /// After a commit, how long the database must be quiet before its changes are packed, in milliseconds.
    package var quietMilliseconds = 3
    /// The maximum time that changes wait for a quiet database, in milliseconds.
    package var gatherMilliseconds = 50
    /// After a change of the schema, how long nothing may be written before the loop makes a pass, and the maximum time to wait
    /// for that, in milliseconds: of commits, and of a statement that has the database locked. A migration may run statement by
    /// statement.
    package var schemaRestMilliseconds = 1000
    package var schemaWaitMilliseconds = 10_000
    package var migrationMilliseconds = 60_000
    /// When the loop looks at the container without an event.
    package var poll = PollSchedule()
    /// The interval between looks at every device's files, whatever the heads announce, in milliseconds.
    package var thoroughMilliseconds = 30_000
    /// The first and the longest interval between attempts after a failure, in milliseconds. Events in between bring
    /// the next attempt forward, but never below the first interval.
    package var retryMinimumMilliseconds = 1000
    package var retryMaximumMilliseconds = 8000
    /// How long other processes may lock the database before the loop reports a failure, in milliseconds.
    package var busyMilliseconds = 5000
    /// How long the database's file may be missing or unusable before watching ends, in milliseconds, since the file's
    /// size last changed. A program that replaces the file may delete the former file first, and takes a while to write.
    package var replacementMilliseconds = 3000

    /// In place of the times above, over a remote container.
    package var remote = RemoteTiming()

    /// The interval between checks that the leading process still runs, in milliseconds.
    package var followMilliseconds = 500

    /// True: while a program commits all the time, passes keep a distance of up to 2 seconds (`PassSpacing`). For a process beside
    /// the programs that write. An app's own engine needs none, because the app's writes and the passes take turns.
    package var givesWritersRoom = false

    package init() {}

    /// The same, with times that suit the container's place: rclone is asked more seldom, unless other times were chosen.
    func suiting(_ place: String) -> WatchConfiguration {
        guard remote == RemoteTiming() else { return self }
        var suiting = self
        suiting.remote = RemoteTiming(suiting: place)
        return suiting
    }
}
