import FerryContainer
import FerryCore
import FerryStore

/// The memory of a `WatchLoop` between turns: when to look again, and the reported failure.
///
/// Invariants:
/// - `failure` is the last reported failure, and `nil` after a successful pass.
/// - `earliestRetry` is set exactly while `failures` is above 0.
/// - While `earliestRetry` is set, `nextPoll` is not before `earliestRetry`.
struct WatchTurns {
    private let configuration: WatchConfiguration
    private let random: any RandomSource
    /// The watcher's time.
    private let now: () -> ContinuousClock.Instant
    /// The places watched now.
    var places: WatchedPlaces?
    /// `Store.dataVersion` at the last look.
    var dataVersion: Int?
    /// The pages of a remote container's listing; `nil` for a folder.
    var pageCount: Int?
    /// True if trying again is useless.
    private(set) var isOver = false
    /// True if the database has left its container.
    var hasLeft: Bool { isOver && failure?.code == .notTracked }

    private var poll: PollSchedule
    private var remotePoll: RemoteSchedule
    /// When the instants of `remotePoll` begin, and the last publication.
    private let start: ContinuousClock.Instant
    private var lastPublication: ContinuousClock.Instant?
    /// For a folder: a remote container is written to seldom anyway.
    private var spacing = PassSpacing()
    private var nextPoll: ContinuousClock.Instant
    private var lastThorough: ContinuousClock.Instant?
    /// The journal's change is reported a moment before the commit is visible, so the loop looks at the database again
    /// after 1, 2, 4 … milliseconds.
    private var glance: (at: ContinuousClock.Instant, delay: Int)?
    private static let longestGlanceDelay = 256

    private var hasPassed = false
    private var waiting: [SyncReport.Waiting] = []
    /// How many devices asked to be let in, and why nothing was published, at the last pass.
    private var claims: Int?
    private var lateClaims: Int?
    private var held: String?
    private var failure: FerryError?
    private var failures = 0
    /// The earliest next attempt after a failure, whatever happens in between.
    private var earliestRetry: ContinuousClock.Instant?
    private var busySince: ContinuousClock.Instant?
    private var lostSince: ContinuousClock.Instant?
    /// The unusable file's size as of the last look.
    private var lostFileSize: UInt64?
    private var isAfterEvent = false
    private var fruitlessEvents = 0
    private static let patience = 3

    init(
        _ configuration: WatchConfiguration, random: any RandomSource = SystemRandom(),
        now: @escaping () -> ContinuousClock.Instant
    ) {
        self.configuration = configuration
        self.random = random
        self.now = now
        nextPoll = now()
        poll = configuration.poll
        remotePoll = RemoteSchedule(configuration.remote)
        start = nextPoll
    }

    /// How long a database must be quiet before its changes are packed, and how long they wait for that, in milliseconds.
    var gathering: (quiet: Int, longest: Int) {
        pageCount == nil
            ? (configuration.quietMilliseconds, configuration.gatherMilliseconds)
            : (configuration.remote.quietMilliseconds, configuration.remote.gatherMilliseconds)
    }

    /// Before this instant a remote container is not written to again; `nil`: at any time.
    var earliestPublication: ContinuousClock.Instant? {
        pageCount == nil
            ? nil : lastPublication.map { $0 + .milliseconds(configuration.remote.publicationMilliseconds) }
    }

    /// Before this instant changes for a folder are not packed, because a program commits all the time; `nil`: at any time.
    var earliestPacking: ContinuousClock.Instant? {
        configuration.givesWritersRoom && pageCount == nil ? spacing.earliest : nil
    }

    /// True if the next pass packs what a program has just written.
    private(set) var isAfterCommit = false

    mutating func recordCommit(isPending: Bool) { isAfterCommit = isPending }

    /// Records that nobody wrote before `earliestPacking`.
    mutating func recordFruitlessWait() { spacing.recordFruitlessWait(at: now()) }

    /// The time to wait for an event.
    func timeoutMilliseconds() -> Int {
        let next = min(nextPoll, glance?.at ?? nextPoll)
        return max(now().duration(to: next).wholeMilliseconds + 1, 0)
    }

    var isPollDue: Bool { nextPoll <= now() }

    var isThoroughDue: Bool {
        guard let lastThorough else { return true }
        let interval = pageCount.map { configuration.remote.listing(pages: $0) } ?? configuration.thoroughMilliseconds
        return lastThorough.duration(to: now()).wholeMilliseconds >= interval
    }

    /// True if the last events all brought no news: a program writes local changes only, and the next event can wait
    /// for more.
    var isFruitless: Bool { fruitlessEvents >= Self.patience }

    /// True if an attempt failed and the next attempt is not due. Events in between cause no immediate pass: the
    /// attempt itself may cause an event, and failing passes would follow each other without end.
    var isBackingOff: Bool { failures > 0 && !isPollDue }

    /// Brings the next attempt forward after an event: perhaps the obstacle is gone. The attempt waits for the end of
    /// the first interval after the failure.
    mutating func recordEventWhileBackingOff() {
        if let earliestRetry { nextPoll = min(nextPoll, earliestRetry) }
    }

    /// - Parameter isPending: true if the cause of the event is already found.
    mutating func recordEvent(isPending: Bool) {
        isAfterEvent = true
        glance = isPending ? nil : (now() + .milliseconds(1), 1)
    }

    /// Delays the next look after a look without news.
    mutating func glanceLater() {
        guard let delay = glance?.delay, delay < Self.longestGlanceDelay else {
            glance = nil
            return
        }
        glance = (now() + .milliseconds(delay * 2), delay * 2)
    }

    /// Records a pass.
    /// - Parameter lateMilliseconds: when a late file of a remote container is asked for again; `nil` without such a file.
    /// - Returns: true if the pass is worth reporting.
    mutating func recordPass(
        _ report: SyncReport, isThorough: Bool, eventsAreDelivered: Bool, lateMilliseconds: Int64? = nil
    ) -> Bool {
        let isNews =
            !hasPassed || report.hasNews || report.renewed != nil || failure != nil || report.waiting != waiting
            || report.admitted != nil || report.copies != nil || report.claims != claims
            || report.lateClaims != lateClaims || report.held != held
        fruitlessEvents = report.hasNews || !isAfterEvent ? 0 : fruitlessEvents + 1
        let interval =
            pageCount == nil
            ? poll.next(foundNews: report.hasNews || isAfterEvent, eventsAreDelivered: eventsAreDelivered)
            : remotePoll.next(
                foundNews: report.hasNews, isAfterCommit: isAfterEvent, at: start.duration(to: now()).wholeMilliseconds,
                chance: random.next())
        // Contents that were left for the next pass are fetched at once.
        let longest = report.documents?.remaining ?? 0 > 0 ? 0 : interval
        nextPoll = now() + .milliseconds(min(longest, lateMilliseconds.map { Int(clamping: $0) } ?? longest))
        if report.published.segments > 0 {
            lastPublication = now()
            spacing.recordPublication(at: now())
        }
        if isThorough { lastThorough = now() }
        hasPassed = true
        isAfterEvent = false
        (waiting, claims, held) = (report.waiting, report.claims, report.held)
        lateClaims = report.lateClaims
        (failure, failures, earliestRetry) = (nil, 0, nil)
        (busySince, lostSince) = (nil, nil)
        return isNews
    }

    // MARK: Failures

    /// Reports a new failure, and decides when to try again.
    mutating func recordFailure(_ error: any Error, _ store: Store, _ tell: (SyncEvent) -> Void) {
        let error = Self.understood(error, store)
        glance = nil
        isAfterEvent = false
        if error.code == .busy {
            let since = busySince ?? now()
            busySince = since
            retry(firstMilliseconds: 5)
            // Another process may hold the database for a moment: nothing is lost, and no report is needed.
            if since.duration(to: now()).wholeMilliseconds < configuration.busyMilliseconds { return }
        } else if Self.codesOfALostFile.contains(error.code) {
            // As long as the file grows, a program is still writing the file.
            let size = store.fileSize
            let since = size == lostFileSize ? lostSince ?? now() : now()
            (lostSince, lostFileSize) = (since, size)
            // A program that replaces the file may delete the former file first, and needs a while to write the new
            // file.
            failures = 0
            retry(firstMilliseconds: min(100, configuration.retryMinimumMilliseconds))
            isOver = since.duration(to: now()).wholeMilliseconds >= configuration.replacementMilliseconds
            if !isOver { return }
        } else {
            busySince = nil
            retry(firstMilliseconds: configuration.retryMinimumMilliseconds)
        }
        isOver = isOver || [.storeTooNew, .storeTooOld, .storeIncomplete].contains(error.code)
        let isKnown = isLast(error)
        failure = error
        if !isKnown { tell(.failed(error)) }
    }

    /// The database was opened again: a new connection counts commits from the start.
    mutating func recordNewConnection() { dataVersion = nil }

    /// A new file is in the database's place: nothing seen of the former file counts.
    mutating func recordReplacement() {
        lostSince = nil
        nextPoll = now()
        lastThorough = nil
        (failures, earliestRetry) = (0, nil)
    }

    /// The container lies elsewhere: nothing seen of the former place counts, and the former obstacle is gone.
    mutating func recordNewPlace() {
        nextPoll = now()
        lastThorough = nil
        (failures, earliestRetry) = (0, nil)
    }

    /// True if an error equals the last reported error, and no pass has succeeded since.
    func isKnown(_ error: any Error, _ store: Store) -> Bool { isLast(Self.understood(error, store)) }

    private func isLast(_ error: FerryError) -> Bool {
        failure.map { $0.code == error.code && $0.message == error.message && $0.path == error.path } ?? false
    }

    /// The errors met while a program copies a file over the database, or replaces the file.
    private static let codesOfALostFile: Set<FerryError.Code> = [
        .databaseMissing, .databaseReplaced, .databaseCorrupt, .notADatabase, .notTracked, .storeIncomplete,
    ]

    /// True if the last look found no usable database: the next look opens the database again.
    var isLost: Bool { lostSince != nil }

    private mutating func retry(firstMilliseconds: Int) {
        let doublings = min(failures, 20)
        let longest = pageCount == nil ? configuration.retryMaximumMilliseconds : configuration.remote.restMilliseconds
        failures += 1
        let now = now()
        earliestRetry = now + .milliseconds(min(firstMilliseconds, longest))
        nextPoll = now + .milliseconds(min(firstMilliseconds << doublings, longest))
    }

    private static func understood(_ error: any Error, _ store: Store) -> FerryError {
        guard let error = error as? FerryError else {
            return FerryError(.internalInconsistency, "A pass failed: \(error).", cause: error)
        }
        // Without Ferry's tables SQLite refuses the first statement: somebody made the database leave.
        guard error.code == .database || error.code == .storeIncomplete, !isTracked(store) else { return error }
        return FerryError(
            .notTracked, "The database left its container. Nothing is kept in step any more.", cause: error)
    }

    private static func isTracked(_ store: Store) -> Bool {
        do { return try store.identity() != nil } catch { return true }  // unknown now: the loop tries again
    }
}

extension Duration {
    /// Milliseconds, rounded towards zero.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
