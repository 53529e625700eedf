import FerryCore

/// What a `WatchLoop` or a `SyncEngine` tells while it works.
public enum SyncEvent: Sendable {
    /// It watches from now on. The first pass follows, and its `synced` or `failed`, unless `following` comes next.
    case started
    /// Another process, or another loop of this one, keeps the database in step. This one makes no passes of its own,
    /// tells `databaseChanged`, and takes over when the other one ends.
    case following
    /// The one that kept the database in step is gone, and this one does from now on. The first pass follows.
    case leading
    /// Another file was put in the database's place, a backup or a database that was made anew, and this one goes on with
    /// that. A pass follows. What was read before is old.
    case reopened
    /// A pass was made: the first one, one that somebody asked for, the first after a failure, or one that moved
    /// something or found another device's log in another condition.
    case synced(SyncReport)
    /// Another connection, of this process or another, committed to the database: what was read before may be old.
    /// Several commits in quick succession are told once. GRDB's observations hear of this process's own only.
    case databaseChanged
    /// A pass failed for a reason that is new. It is tried again, less and less often and whenever something happens;
    /// the next `synced` says that all is well. Where trying again is useless, `stopped` follows.
    case failed(FerryError)
    /// It watches no more.
    case stopped
}
