import FerryContainer
import FerryCore

/// An event of a `CarryLoop`.
public enum CarryEvent: Sendable {
    case started
    /// Something was copied, removed or left behind, or the first look is over.
    case carried(CarryReport)
    /// A place cannot be reached, or the like. The loop tries again.
    case failed(FerryError)
    case stopped
}

/// Keeps two places of a container alike while running (`ferry carry --watch`). Devices with a shared folder and
/// devices with a bucket work together by a single computer with access to both.
///
/// Folders wake the loop by the file system's events, and all places are asked now and then. `run` works on the calling thread; `stop` may be
/// called from any thread.
public final class CarryLoop: Sendable {
    /// The first wait and the longest wait after failures, in milliseconds.
    private static let failureMilliseconds = 1000
    private static let longestFailureMilliseconds = 60_000
    /// The longest wait between looks at two folders, in milliseconds.
    private static let folderMilliseconds = 30_000

    private let carrier: Carrier
    private let onEvent: @Sendable (CarryEvent) -> Void
    private let watcher: any ChangeWatching
    private let timing: RemoteTiming
    private let isStopped = Locked(false)

    /// - Parameter onEvent: called on the loop's thread; the loop waits for the return.
    public convenience init(_ carrier: Carrier, onEvent: @escaping @Sendable (CarryEvent) -> Void) {
        self.init(
            carrier, watcher: ChangeWatcher(), timing: RemoteTiming(suiting: carrier.texts.from, carrier.texts.to),
            onEvent: onEvent)
    }

    package init(
        _ carrier: Carrier, watcher: any ChangeWatching, timing: RemoteTiming,
        onEvent: @escaping @Sendable (CarryEvent) -> Void
    ) {
        self.carrier = carrier
        self.watcher = watcher
        self.timing = timing
        self.onEvent = onEvent
    }

    /// Ends `run`, now or at the later call. Running work is finished, and requests without an answer are ended.
    public func stop() {
        isStopped.withLock { $0 = true }
        watcher.wake()
        carrier.interrupt()
    }

    private var hasToStop: Bool { isStopped.withLock { $0 } }

    /// Carries until `stop`. Call once, from a single thread.
    public func run() {
        onEvent(.started)
        var schedule = RemoteSchedule(timing)
        var (failures, isFirst) = (0, true)
        var lastListing: ContinuousClock.Instant?
        var leftBehind: [CarryReport.LeftBehind] = []
        let start = watcher.now
        while !hasToStop {
            // Watches before looking, so no change falls between.
            watcher.setDirectories(carrier.watchedDirectories())
            var wait: Int
            do {
                let isThorough = lastListing.map { isListingDue($0) } ?? true
                let report = try carrier.carry(isThorough: isThorough)
                if isThorough { lastListing = watcher.now }
                let isNews = isFirst || failures > 0 || report.hasNews || report.leftBehind != leftBehind
                if isNews { onEvent(.carried(report)) }
                (failures, isFirst, leftBehind) = (0, false, report.leftBehind)
                wait = schedule.next(
                    foundNews: report.hasNews, isAfterCommit: false,
                    at: start.duration(to: watcher.now).wholeMilliseconds, chance: carrier.environment.random.next())
                if !carrier.isRemote { wait = watcher.deliversEvents ? Self.folderMilliseconds : min(wait, 8000) }
            } catch {
                if hasToStop, (error as? FerryError)?.code == .busy { break }
                failures += 1
                onEvent(.failed(error as? FerryError ?? FerryError(.inputOutput, "\(error)", cause: error)))
                wait = min(
                    Self.failureMilliseconds << min(failures - 1, 6), Self.longestFailureMilliseconds)
                // The failed attempt may have seen only a part of the files.
                lastListing = nil
            }
            if hasToStop { break }
            if watcher.wait(timeoutMilliseconds: wait) == .changed { gather() }
        }
        onEvent(.stopped)
    }

    private func isListingDue(_ last: ContinuousClock.Instant) -> Bool {
        last.duration(to: watcher.now).wholeMilliseconds >= timing.listing(pages: carrier.pageCount)
    }

    /// Waits until a folder is quiet for a moment, a second at most: files which arrive together are carried together.
    private func gather() {
        let start = watcher.now
        while !hasToStop {
            let remaining = timing.gatherMilliseconds - start.duration(to: watcher.now).wholeMilliseconds
            if remaining <= 0 { return }
            if watcher.wait(timeoutMilliseconds: min(timing.quietMilliseconds, remaining)) == .timedOut { return }
        }
    }
}

extension Carrier {
    /// True if a place has to be asked for news.
    var isRemote: Bool { places.from.answersFromListing || places.to.answersFromListing }

    /// The pages of the larger listing.
    var pageCount: Int { max(places.from.pageCount, places.to.pageCount) }

    /// The folders to watch: each device's, in places that are folders.
    func watchedDirectories() -> [String] {
        CarrySide.allCases.filter { !places[$0].answersFromListing }.flatMap { side in
            // An unreadable folder is no folder to watch; the next carry reports the reason.
            let devices = (try? DeviceFiles.devices(in: places[side])) ?? []
            return (["", DeviceFiles.directory] + devices.flatMap { DeviceFiles.directories(of: $0) })
                .compactMap { places[side].localPath($0) }
        }
    }
}
