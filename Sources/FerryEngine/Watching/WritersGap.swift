import FerryContainer
import FerryStore

/// Finds the moment behind a commit of another program: far from the program's next one, if the program writes all the time. A
/// program without a busy timeout fails where its write meets a transaction of Ferry.
///
/// A pass has several transactions. The loop begins the pass behind a commit, and this waits before each of the others.
final class WritersGap: Sendable {
    /// How long a transaction waits for a commit, in milliseconds: a little longer than a program takes that writes twenty times a
    /// second.
    static let longestMilliseconds = 60
    /// How long nothing happens to the database's files when a commit is over, and how long a commit may take, in milliseconds.
    static let quietMilliseconds = 4
    static let commitMilliseconds = 40
    /// How long SQLite waits between two attempts to begin a transaction, after some tens of milliseconds.
    static let retryMilliseconds = 25
    /// How long after its commit a program's next write is waited for: a little longer than a program takes that writes a hundred
    /// times a second.
    static let nextWriteMilliseconds = 15

    /// Whom a pass gives room.
    enum Room: Sendable {
        /// Nobody: nobody wrote.
        case none
        /// A program that wrote a moment ago, and perhaps writes again: notes wait.
        case afterCommit
        /// A program that writes all the time: everything waits.
        case always
    }

    private let watcher: any ChangeWatching
    private let room = Locked(Room.none)

    /// - Parameter watcher: watches nothing else.
    init(_ watcher: any ChangeWatching) { self.watcher = watcher }

    /// Watches the files of a database.
    func watch(_ files: [String]) { watcher.setDirectories([], files: files) }

    func give(_ room: Room) { self.room.withLock { $0 = room } }

    /// Waits for another program's commit; not at all where none is to be expected.
    func wait(_ urgency: WriteUrgency) {
        switch (room.withLock { $0 }, urgency) {
        case (.none, _), (.afterCommit, .pass): return
        case (.afterCommit, .note), (.always, _): break
        }
        forgetEvents()
        if watcher.wait(timeoutMilliseconds: Self.longestMilliseconds) == .timedOut { return }
        let start = watcher.now
        while watcher.wait(timeoutMilliseconds: Self.quietMilliseconds) != .timedOut {
            if start.duration(to: watcher.now).wholeMilliseconds >= Self.commitMilliseconds { return }
        }
    }

    /// Leaves the database to programs that wait for the end of a transaction of some 70 ms, and to what they write next.
    ///
    /// Nothing tells that a program waits, or wakes the program. SQLite tries again 25 ms after its last attempt then
    /// (https://sqlite.org/c3ref/busy_timeout.html, `sqliteDefaultBusyCallback`).
    /// - Parameter afterCommit: true if a program has committed since that transaction.
    func letIn(afterCommit: Bool) {
        forgetEvents()
        if !afterCommit, watcher.wait(timeoutMilliseconds: Self.retryMilliseconds) == .timedOut { return }
        let start = watcher.now
        var left = Self.nextWriteMilliseconds
        while left > 0, watcher.wait(timeoutMilliseconds: left) != .timedOut {
            left = Self.nextWriteMilliseconds - start.duration(to: watcher.now).wholeMilliseconds
        }
    }

    /// What happened before, such as Ferry's own last transaction, is no commit to wait for.
    private func forgetEvents() {
        while watcher.wait(timeoutMilliseconds: 0) != .timedOut {}
    }
}
