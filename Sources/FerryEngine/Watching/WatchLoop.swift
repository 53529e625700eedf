import FerryContainer
import FerryCore
import FerryStore
import Foundation

/// Keeps a database in step while running: packs and publishes commits of any process, and replays remote changes. Both
/// happen within milliseconds if the file system reports changes.
///
/// The loop is woken by changes of the database's files, of its journal and of the container's folders. A poll wakes
/// the loop, too: events can be lost, and network folders report none. A wake-up is only a reason to look. A look
/// without news writes nothing, so two devices in step come to rest.
///
/// Several processes may each run a loop for the same database: one leads, and the rest follow. A follower makes no
/// passes, and takes over within a second when the leader ends, for whatever reason. A store with functions of the app
/// (`Store.willCommitReplay`, hooks of columns) never follows, because no other process has these functions.
///
/// `run` works on the calling thread; `stop` may be called from any thread.
package final class WatchLoop: Sendable {
    private let replica: Replica
    private let configuration: WatchConfiguration
    private let onEvent: @Sendable (SyncEvent) -> Void
    private let passes: PassFollower
    private let watcher: any ChangeWatching
    private let leader: LeaderLock
    /// For other programs' writes during a pass; `nil` where no room is given.
    private let gap: WritersGap?
    private let isStopped = Locked(false)

    /// - Parameters:
    ///   - passes: follows each pass, whether it is worth an event or not.
    ///   - onEvent: called on the loop's thread; the loop waits for the return.
    package convenience init(
        _ replica: Replica, configuration: WatchConfiguration = WatchConfiguration(),
        passes: PassFollower = PassFollower(), onEvent: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.init(replica, configuration: configuration, watcher: ChangeWatcher(), passes: passes, onEvent: onEvent)
    }

    /// - Parameter watcher: wakes the loop, and gives the clock for waiting.
    package init(
        _ replica: Replica, configuration: WatchConfiguration, watcher: any ChangeWatching,
        passes: PassFollower = PassFollower(), onEvent: @escaping @Sendable (SyncEvent) -> Void
    ) {
        self.replica = replica
        self.passes = passes
        self.configuration = configuration.suiting(replica.identity.containerPath)
        self.watcher = watcher
        leader = LeaderLock(databasePath: replica.store.path)
        gap = configuration.givesWritersRoom ? WritersGap(ChangeWatcher()) : nil
        let log = EngineLog(database: replica.store.path)
        self.onEvent = { event in
            log.note(event)
            onEvent(event)
        }
    }

    /// Ends `run`, now or when called. May be called from any thread, any number of times. A running pass is finished
    /// first; this call does not wait for the end.
    package func stop() {
        isStopped.withLock { $0 = true }
        watcher.wake()
        // A pass that waits for a storage would take half a minute for each request.
        replica.interruptRequests()
    }

    private var hasToStop: Bool { isStopped.withLock { $0 } }

    /// Watches until `stop`, or until the database can no longer be kept in step. The database may have left its
    /// container, may need a different version of Ferry, or may be damaged. Call once, from a single thread.
    package func run() {
        if !hasToStop {
            onEvent(.started)
            var turns = WatchTurns(
                configuration, random: replica.environment.random, now: { [watcher] in watcher.now })
            follow(&turns)
            if !hasToStop && !turns.isOver { pass(&turns) }
            while !hasToStop && !turns.isOver {
                let reason = watcher.wait(timeoutMilliseconds: turns.timeoutMilliseconds())
                if hasToStop { break }
                // A program that deletes the database's files may delete the lock file, too: then a different process
                // may lead.
                if !leader.isInPlace {
                    leader.release()
                    follow(&turns)
                    if hasToStop || turns.isOver { break }
                }
                turn(reason, &turns)
            }
            // Whoever takes the lead just after the database left makes the lock file anew.
            if turns.hasLeft { leader.removeHeld() }
            leader.release()
        }
        onEvent(.stopped)
    }

    // MARK: Following

    /// Waits while another process leads. If the lock fails for a different reason, reports the failure and tries
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
                turns.recordFailure(error, replica.store, onEvent)
            }
            if hasToStop || turns.isOver { return }
            _ = watcher.wait(timeoutMilliseconds: configuration.followMilliseconds)
        }
    }

    /// Continues with a new file in the database's place, and reports the change.
    /// - Throws: as `Replica.followReplacement`.
    private func lookForReplacement(_ turns: inout WatchTurns) throws {
        let file = try replica.followReplacement(isLost: turns.isLost)
        if case .inPlace = file { return }
        turns.recordNewConnection()
        guard case .another = file else { return }
        turns.recordReplacement()
        onEvent(.reopened)
    }

    /// Reports commits of other connections.
    /// - Returns: true if there were any.
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
                if reason == .changed { turns.recordEventWhileBackingOff() }
                return
            }
            if reason == .timedOut {
                // Only the poll looks at the container. In between, the loop waits for a commit to become visible.
                if !isPending && !turns.isPollDue { return turns.glanceLater() }
            } else {
                turns.recordEvent(isPending: isPending)
            }
            turns.recordCommit(isPending: isPending)
            if isPending { try keepDistance(&turns) }
            if isPending || turns.isFruitless { gather(turns) }
        } catch {
            // A look that fails like the last attempt does not delay the next attempt further.
            if turns.isBackingOff && turns.isKnown(error, replica.store) { return }
            return turns.recordFailure(error, replica.store, onEvent)
        }
        pass(&turns)
    }

    /// Checks the database for changes to pack, and for commits of other connections.
    private func look(_ turns: inout WatchTurns) throws -> Bool {
        try lookForReplacement(&turns)
        if try lookForCommits(&turns) {
            // Somebody may have told the database that its container lies elsewhere now.
            let place = replica.identity.containerPath
            try replica.refreshIdentity()
            if !equalBytes(replica.identity.containerPath, place) { turns.recordNewPlace() }
        }
        return try replica.store.needsPass()
    }

    /// How long a pass that kept its distance waits for the next commit, in milliseconds.
    private static let nextCommitMilliseconds = 100

    /// Waits while a program commits all the time, and then for its next commit: a pass right behind a commit is far from the next.
    private func keepDistance(_ turns: inout WatchTurns) throws {
        guard let earliest = turns.earliestPacking, watcher.now < earliest else { return }
        let version = try replica.store.dataVersion()
        while !hasToStop, watcher.now < earliest {
            _ = watcher.wait(timeoutMilliseconds: watcher.now.duration(to: earliest).wholeMilliseconds + 1)
        }
        if hasToStop { return }
        if try replica.store.dataVersion() == version { return turns.recordFruitlessWait() }
        _ = watcher.wait(timeoutMilliseconds: Self.nextCommitMilliseconds)
    }

    /// Waits until nothing changes for a moment, so that a burst of commits becomes a single segment.
    private func gather(_ turns: WatchTurns) {
        let start = watcher.now
        let (quiet, longest) = turns.gathering
        while !hasToStop {
            let passed = start.duration(to: watcher.now).wholeMilliseconds
            let remaining = longest - passed
            if remaining <= 0 || watcher.wait(timeoutMilliseconds: min(quiet, remaining)) == .timedOut { break }
        }
        // A remote container is not written to more often than so: what is committed meanwhile goes along.
        while !hasToStop, let earliest = turns.earliestPublication, watcher.now < earliest {
            _ = watcher.wait(timeoutMilliseconds: watcher.now.duration(to: earliest).wholeMilliseconds + 1)
        }
    }

    /// Waits while a program migrates the database statement by statement. A table that is there for a moment only, as in
    /// SQLite's twelve steps, never travels then.
    private func restAfterMigration() throws {
        guard try replica.store.hasOtherSchema() else { return }
        let start = watcher.now
        var (quietSince, isLocked) = (start, false)
        var version = try replica.store.dataVersion()
        while !hasToStop {
            let now = watcher.now
            let longest = isLocked ? configuration.migrationMilliseconds : configuration.schemaWaitMilliseconds
            if start.duration(to: now).wholeMilliseconds >= longest { return }
            let remaining = configuration.schemaRestMilliseconds - quietSince.duration(to: now).wholeMilliseconds
            if remaining <= 0 {
                // A statement that copies a table may take minutes.
                isLocked = replica.store.isBeingWritten()
                if !isLocked { return }
                quietSince = now
                continue
            }
            _ = watcher.wait(timeoutMilliseconds: remaining)
            let present = try replica.store.dataVersion()
            if present != version { (version, quietSince) = (present, watcher.now) }
        }
    }

    private func pass(_ turns: inout WatchTurns) {
        var hasSucceeded = false
        defer { passes.ended(hasSucceeded) }
        do {
            try restAfterMigration()
            if hasToStop { return }
            // Watches before looking, so that no change falls between.
            watchDirectories(&turns)
            if turns.dataVersion == nil { turns.dataVersion = try replica.store.dataVersion() }
            let isThorough = turns.isThoroughDue
            let report = try givingRoom(turns) {
                try replica.sync(isThorough: isThorough, progress: passes.progress())
            }
            hasSucceeded = true
            let late = try replica.place().nextLateMilliseconds
            if turns.recordPass(
                report, isThorough: isThorough, eventsAreDelivered: watcher.deliversEvents, lateMilliseconds: late)
            {
                onEvent(.synced(report))
            }
        } catch {
            // `stop` may have ended a request of the pass: that is no failure of the place.
            if hasToStop, (error as? FerryError)?.code == .busy { return }
            turns.recordFailure(error, replica.store, onEvent)
        }
    }

    /// Runs a pass whose transactions fall between the writes of other programs.
    private func givingRoom<Result>(_ turns: WatchTurns, _ body: () throws -> Result) rethrows -> Result {
        guard let gap else { return try body() }
        gap.watch(WatchedPlaces(databaseOf: replica).files)
        gap.give(turns.earliestPacking != nil ? .always : turns.isAfterCommit ? .afterCommit : .none)
        replica.store.beforeWriteLock.withLock { $0 = { [gap] in gap.wait($0) } }
        defer { replica.store.beforeWriteLock.withLock { $0 = nil } }
        return try body()
    }

    private func watchDirectories(_ turns: inout WatchTurns) {
        // The following pass reports why there is no place.
        if let place = try? replica.place(), place.answersFromListing {
            turns.pageCount = place.pageCount
            let places = WatchedPlaces(databaseOf: replica)
            if places == turns.places { return }
            turns.places = places
            return watcher.setDirectories([], files: places.files)
        }
        turns.pageCount = nil
        let container = try? replica.openContainer()  // the following pass reports the reason
        let places = WatchedPlaces(replica, container)
        if places == turns.places { return }
        turns.places = places
        watcher.setDirectories(places.directories(in: container), files: places.files)
    }
}
