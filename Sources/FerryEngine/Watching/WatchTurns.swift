import FerryContainer
import FerryCore
import FerryStore

/// What a `WatchLoop` remembers from turn to turn: when to look again, and what it has told.
struct WatchTurns {
    private let configuration: WatchConfiguration
    /// The time, as the watcher measures it.
    private let now: () -> ContinuousClock.Instant
    /// What is watched now.
    var places: WatchedPlaces?
    /// `Store.dataVersion` at the last look.
    var dataVersion: Int?
    /// Whether trying again is useless.
    private(set) var isOver = false

    private var poll: PollSchedule
    private var nextPoll: ContinuousClock.Instant
    private var lastThorough: ContinuousClock.Instant?
    /// The journal's change is told a moment before the commit can be seen, so the database is looked at again after
    /// 1, 2, 4 … milliseconds.
    private var glance: (at: ContinuousClock.Instant, delay: Int)?
    private static let longestGlanceDelay = 256

    private var hasPassed = false
    private var waiting: [SyncReport.Waiting] = []
    private var failure: FerryError?
    private var failures = 0
    /// The earliest next attempt after a failure, whatever happens meanwhile.
    private var earliestRetry: ContinuousClock.Instant?
    private var busySince: ContinuousClock.Instant?
    private var lostSince: ContinuousClock.Instant?
    private var isAfterEvent = false
    private var fruitlessEvents = 0
    private static let patience = 3

    init(_ configuration: WatchConfiguration, now: @escaping () -> ContinuousClock.Instant) {
        self.configuration = configuration
        self.now = now
        nextPoll = now()
        poll = configuration.poll
    }

    /// How long to wait for an event.
    func timeoutMilliseconds() -> Int {
        let next = min(nextPoll, glance?.at ?? nextPoll)
        return max(now().duration(to: next).wholeMilliseconds + 1, 0)
    }

    var isPollDue: Bool { nextPoll <= now() }

    var isThoroughDue: Bool {
        guard let lastThorough else { return true }
        return lastThorough.duration(to: now()).wholeMilliseconds >= configuration.thoroughMilliseconds
    }

    /// Whether the last events all were about nothing: somebody writes what does not travel, and the next event can wait
    /// for others to come.
    var isFruitless: Bool { fruitlessEvents >= Self.patience }

    /// Whether an attempt failed and the next one is not due. What happens meanwhile is no reason for a pass at once: an
    /// attempt may cause it, and a failing pass would follow upon a failing pass without end.
    var isBackingOff: Bool { failures > 0 && !isPollDue }

    /// Something happened while the next attempt is not due: perhaps what was in its way is mended. It is made as soon as
    /// the first interval after the failure is over.
    mutating func noteEventWhileBackingOff() {
        if let earliestRetry { nextPoll = min(nextPoll, earliestRetry) }
    }

    /// - Parameter isPending: whether what it was about is found already.
    mutating func noteEvent(isPending: Bool) {
        isAfterEvent = true
        glance = isPending ? nil : (now() + .milliseconds(1), 1)
    }

    /// There was nothing yet.
    mutating func glanceLater() {
        guard let delay = glance?.delay, delay < Self.longestGlanceDelay else {
            glance = nil
            return
        }
        glance = (now() + .milliseconds(delay * 2), delay * 2)
    }

    /// - Returns: whether the pass is worth telling.
    mutating func notePass(_ report: SyncReport, isThorough: Bool, eventsAreDelivered: Bool) -> Bool {
        let isNews =
            !hasPassed || report.hasNews || report.renewed != nil || failure != nil || report.waiting != waiting
        fruitlessEvents = report.hasNews || !isAfterEvent ? 0 : fruitlessEvents + 1
        let interval = poll.next(foundNews: report.hasNews || isAfterEvent, eventsAreDelivered: eventsAreDelivered)
        nextPoll = now() + .milliseconds(interval)
        if isThorough { lastThorough = now() }
        hasPassed = true
        isAfterEvent = false
        waiting = report.waiting
        (failure, failures, earliestRetry) = (nil, 0, nil)
        (busySince, lostSince) = (nil, nil)
        return isNews
    }

    // MARK: Failures

    /// Tells a failure that is new, and decides when to try again.
    mutating func noteFailure(_ error: any Error, _ store: Store, _ tell: (SyncEvent) -> Void) {
        let error = Self.understood(error, store)
        glance = nil
        isAfterEvent = false
        if error.code == .busy {
            let since = busySince ?? now()
            busySince = since
            retry(firstMilliseconds: 5)
            // Others may hold the database for a moment: nothing is lost, and nobody need know.
            if since.duration(to: now()).wholeMilliseconds < configuration.busyMilliseconds { return }
        } else if Self.codesOfALostFile.contains(error.code) {
            let since = lostSince ?? now()
            lostSince = since
            // Whoever replaces a file may delete the former one first, and takes a while to write the new one.
            failures = 0
            retry(firstMilliseconds: min(100, configuration.retryMinimumMilliseconds))
            isOver = since.duration(to: now()).wholeMilliseconds >= configuration.replacementMilliseconds
            if !isOver { return }
        } else {
            busySince = nil
            retry(firstMilliseconds: configuration.retryMinimumMilliseconds)
        }
        isOver = isOver || [.storeTooNew, .storeTooOld].contains(error.code)
        let isKnown = isLast(error)
        failure = error
        if !isKnown { tell(.failed(error)) }
    }

    /// The database was opened anew: another connection counts commits anew.
    mutating func noteNewConnection() { dataVersion = nil }

    /// Another file was put in the database's place: nothing that was seen of the former one counts.
    mutating func noteReplacement() {
        lostSince = nil
        nextPoll = now()
        lastThorough = nil
        (failures, earliestRetry) = (0, nil)
    }

    /// Whether an error is the one that was told last and is not mended.
    func isKnown(_ error: any Error, _ store: Store) -> Bool { isLast(Self.understood(error, store)) }

    private func isLast(_ error: FerryError) -> Bool {
        failure.map { $0.code == error.code && $0.message == error.message && $0.path == error.path } ?? false
    }

    /// What a look meets while somebody copies another file over the database's, or puts one in its place.
    private static let codesOfALostFile: Set<FerryError.Code> = [
        .databaseMissing, .databaseReplaced, .databaseCorrupt, .notADatabase, .notTracked,
    ]

    /// Whether the database was not what it must be at the last look: it is opened anew for the next one.
    var isLost: Bool { lostSince != nil }

    private mutating func retry(firstMilliseconds: Int) {
        let doublings = min(failures, 20)
        failures += 1
        let now = now()
        earliestRetry = now + .milliseconds(min(firstMilliseconds, configuration.retryMaximumMilliseconds))
        nextPoll = now + .milliseconds(min(firstMilliseconds << doublings, configuration.retryMaximumMilliseconds))
    }

    private static func understood(_ error: any Error, _ store: Store) -> FerryError {
        guard let error = error as? FerryError else {
            return FerryError(.internalInconsistency, "A pass failed: \(error).", cause: error)
        }
        // Without Ferry's tables SQLite refuses the first statement: somebody made the database leave.
        guard error.code == .database, !isTracked(store) else { return error }
        return FerryError(
            .notTracked, "The database left its container. Nothing is kept in step any more.", cause: error)
    }

    private static func isTracked(_ store: Store) -> Bool {
        do { return try store.identity() != nil } catch { return true }  // not to be known now: it is tried again
    }
}

extension Duration {
    /// Milliseconds, rounded towards zero.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
