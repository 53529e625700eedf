import FerryContainer
import FerryCore
import FerryStore
import Foundation

/// Keeps a database in step for as long as it runs: packs and publishes what is committed to it, by any process, and
/// replays what other devices publish, within milliseconds where the file system tells of changes.
///
/// What wakes it: changes of the database's files, of its journal and of the container's folders, and a poll, because
/// events can be lost and network folders tell none. A wake-up is only a reason to look. A look that finds nothing
/// writes nothing, so that two devices that are in step come to rest.
///
/// Several processes may each run one for the same database: one leads, and the others follow. A follower makes no passes
/// and takes over within a second when the leader ends, however it ends. A store with functions of the app's
/// (`Store.willCommitReplay`, hooks of columns) never follows, because nobody else has them.
///
/// `run` works on the thread that calls it; `stop` may be called from any.
public final class WatchLoop: Sendable {
    private let replica: Replica
    private let configuration: WatchConfiguration
    private let onEvent: @Sendable (SyncEvent) -> Void
    private let watcher: any ChangeWatching
    private let leader: LeaderLock
    private let isStopped = Locked(false)

    /// - Parameter onEvent: called on the thread that runs the loop, which waits for it.
    public convenience init(
        _ replica: Replica, configuration: WatchConfiguration = WatchConfiguration(),
        onEvent: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.init(replica, configuration: configuration, watcher: ChangeWatcher(), onEvent: onEvent)
    }

    /// - Parameter watcher: what wakes the loop, and the clock by which it waits.
    package init(
        _ replica: Replica, configuration: WatchConfiguration, watcher: any ChangeWatching,
        onEvent: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.replica = replica
        self.configuration = configuration
        self.watcher = watcher
        leader = LeaderLock(databasePath: replica.store.path)
        let log = EngineLog(database: replica.store.path)
        self.onEvent = { event in
            log.note(event)
            onEvent(event)
        }
    }

    /// Ends `run`, now or when it is called. From any thread, any number of times. A pass that is under way is
    /// finished first; this does not wait for it.
    public func stop() {
        isStopped.withLock { $0 = true }
        watcher.wake()
    }

    private var hasToStop: Bool { isStopped.withLock { $0 } }

    /// Watches until `stop`, or until the database cannot be kept in step any more: it belongs to no container or to
    /// another one than at the beginning, a newer Ferry keeps it, or it is damaged. For one thread, once.
    public func run() {
        if !hasToStop {
            onEvent(.started)
            var turns = WatchTurns(configuration, now: { [watcher] in watcher.now })
            follow(&turns)
            if !hasToStop && !turns.isOver { pass(&turns) }
            while !hasToStop && !turns.isOver {
                let reason = watcher.wait(timeoutMilliseconds: turns.timeoutMilliseconds())
                if hasToStop { break }
                // Whoever deletes the database's files may delete the lock's too: then another one may lead.
                if !leader.isInPlace {
                    leader.release()
                    follow(&turns)
                    if hasToStop || turns.isOver { break }
                }
                turn(reason, &turns)
            }
            leader.release()
        }
        onEvent(.stopped)
    }

    // MARK: Following

    /// Waits for as long as another one leads. Where the lock cannot be had for another reason, that is told, and tried
    /// again.
    private func follow(_ turns: inout WatchTurns) {
        var isFollowing = false
        while !hasToStop && !turns.isOver {
            do {
                try lookForReplacement(&turns)
                if try isFollowing && lookForCommits(&turns) { try replica.refreshIdentity() }
                if try leader.acquire() || replica.store.hasHooks {
                    if isFollowing { onEvent(.leading) }
                    return
                }
                if !isFollowing {
                    watcher.setDirectories([], files: WatchedPlaces(databaseOf: replica).files)
                    turns.dataVersion = try replica.store.dataVersion()
                    onEvent(.following)
                    isFollowing = true
                }
            } catch {
                turns.noteFailure(error, replica.store, onEvent)
            }
            if hasToStop || turns.isOver { return }
            _ = watcher.wait(timeoutMilliseconds: configuration.followMilliseconds)
        }
    }

    /// Goes on with another file in the database's place, and tells of it.
    /// - Throws: as `Replica.followReplacement`.
    private func lookForReplacement(_ turns: inout WatchTurns) throws {
        let file = try replica.followReplacement(isLost: turns.isLost)
        if case .inPlace = file { return }
        turns.noteNewConnection()
        guard case .another = file else { return }
        turns.noteReplacement()
        onEvent(.reopened)
    }

    /// Tells commits of others.
    /// - Returns: whether there were any.
    private func lookForCommits(_ turns: inout WatchTurns) throws -> Bool {
        let version = try replica.store.dataVersion()
        defer { turns.dataVersion = version }
        guard let known = turns.dataVersion, known != version else { return false }
        onEvent(.databaseChanged)
        return true
    }

    // MARK: One turn

    private func turn(_ reason: WakeReason, _ turns: inout WatchTurns) {
        do {
            let isPending = try look(&turns)
            if turns.isBackingOff {
                if reason == .changed { turns.noteEventWhileBackingOff() }
                return
            }
            if reason == .timedOut {
                // Only the poll looks at the container; in between it is about a commit that could not be seen yet.
                if !isPending && !turns.isPollDue { return turns.glanceLater() }
            } else {
                turns.noteEvent(isPending: isPending)
            }
            if isPending || turns.isFruitless { gather() }
        } catch {
            // A look that fails as the attempt before it did puts the next one off no further.
            if turns.isBackingOff && turns.isKnown(error, replica.store) { return }
            return turns.noteFailure(error, replica.store, onEvent)
        }
        pass(&turns)
    }

    /// Asks the database whether anything is to be packed, and whether others wrote to it.
    private func look(_ turns: inout WatchTurns) throws -> Bool {
        try lookForReplacement(&turns)
        _ = try lookForCommits(&turns)
        return try replica.store.needsPass()
    }

    /// Waits until nothing changes for a moment, so that a burst of commits becomes one segment.
    private func gather() {
        let start = watcher.now
        while !hasToStop {
            let passed = start.duration(to: watcher.now).wholeMilliseconds
            let remaining = configuration.gatherMilliseconds - passed
            if remaining <= 0 { return }
            if watcher.wait(timeoutMilliseconds: min(configuration.quietMilliseconds, remaining)) == .timedOut {
                return
            }
        }
    }

    private func pass(_ turns: inout WatchTurns) {
        do {
            // First watched and then looked at, so that nothing falls between.
            watchDirectories(&turns)
            if turns.dataVersion == nil { turns.dataVersion = try replica.store.dataVersion() }
            let isThorough = turns.isThoroughDue
            let report = try replica.sync(isThorough: isThorough)
            if turns.notePass(report, isThorough: isThorough, eventsAreDelivered: watcher.deliversEvents) {
                onEvent(.synced(report))
            }
        } catch {
            turns.noteFailure(error, replica.store, onEvent)
        }
    }

    private func watchDirectories(_ turns: inout WatchTurns) {
        let container = try? replica.openContainer()  // the pass that follows says why
        let places = WatchedPlaces(replica, container)
        if places == turns.places { return }
        turns.places = places
        watcher.setDirectories(places.directories(in: container), files: places.files)
    }
}
