import FerryCore

/// An event of a `WatchLoop` or a `SyncEngine`.
public enum SyncEvent: Sendable {
    /// Watching begins. The first pass follows with `synced` or `failed`, unless `following` comes next.
    case started
    /// A different process or loop keeps the database in step. This loop makes no passes, reports `databaseChanged`,
    /// and takes over when the leader ends.
    case following
    /// The former leader is gone, and this loop keeps the database in step from now on. The first pass follows.
    case leading
    /// A new file is in the database's place, a backup or a new database, and the loop continues with the new file. A
    /// pass follows. Results read before are outdated.
    case reopened
    /// A pass was made: the first pass, a requested pass, or the first pass after a failure. Or the pass moved changes,
    /// gave the database a new device ID, or found the state of a remote log changed.
    case synced(SyncReport)
    /// A connection besides the loop's own, of any process, committed to the database: results read before may be
    /// outdated. Several commits in quick succession are reported once. GRDB's observations see only commits of this
    /// process.
    case databaseChanged
    /// A pass failed for a new reason. The loop tries again, less and less often and after every event; the next
    /// `synced` reports success. If trying again is useless, `stopped` follows.
    case failed(FerryError)
    /// Watching has ended.
    case stopped
}
