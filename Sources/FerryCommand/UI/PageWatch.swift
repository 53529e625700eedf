import Ferry
import FerryContainer
import FerryUI

/// Reports news to open pages while the command runs: commits to the database, and files in the container. Without an
/// open page the watch reads nothing.
final class PageWatch: Sendable {
    /// How long changes are gathered before a page is told, in milliseconds.
    private static let gatherMilliseconds = 250
    /// How often the database is asked where no event comes.
    private static let pollMilliseconds = 2000
    /// After so long without news pages look all the same: network folders tell of nothing.
    private static let longestSilence = Duration.seconds(60)
    /// The interval of pings to pages, by which a closed page is noticed.
    private static let pingInterval = Duration.seconds(15)
    /// How often pages are told at most where a look at the container costs requests.
    private static let remoteInterval = Duration.seconds(10)

    private let database: OpenDatabase
    private let events: EventHub
    private let watcher: any ChangeWatching
    private let isStopped = Locked(false)

    init(_ database: OpenDatabase, _ events: EventHub, watcher: any ChangeWatching = ChangeWatcher()) {
        self.database = database
        self.events = events
        self.watcher = watcher
    }

    /// Ends `run`. From any thread.
    func stop() {
        isStopped.withLock { $0 = true }
        watcher.wake()
    }

    private var hasToStop: Bool { isStopped.withLock { $0 } }

    func run() {
        var told = watcher.now
        var pinged = watcher.now
        var isPlaced = false
        var isPending = false
        while !hasToStop {
            if events.hasListeners, !isPlaced {
                let places = database.watchedPlaces()
                watcher.setDirectories(places.directories, files: places.files)
                isPlaced = true
            }
            let reason = watcher.wait(timeoutMilliseconds: Self.pollMilliseconds)
            if hasToStop { return }
            if watcher.now - pinged > Self.pingInterval {
                events.ping()
                pinged = watcher.now
            }
            guard events.hasListeners else { continue }
            if reason == .changed { gather() }
            let silence = watcher.now - told
            isPending = database.hasNews() || reason == .changed || isPending || silence > Self.longestSilence
            guard isPending, !database.isRemote || silence > Self.remoteInterval else { continue }
            events.announce()
            (told, isPending) = (watcher.now, false)
            // A device may have come.
            isPlaced = false
        }
    }

    /// Waits a moment, so a burst of commits gives a single event.
    private func gather() {
        let end = watcher.now + .milliseconds(Self.gatherMilliseconds)
        while !hasToStop, watcher.now < end {
            let rest = (end - watcher.now) / .milliseconds(1)
            _ = watcher.wait(timeoutMilliseconds: Int(rest) + 1)
        }
    }
}
