import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// A database and its container: everything that the command line does, as synchronous calls.
///
/// Every writing call holds the device's lock, so several processes may have a replica of the same database. An app
/// that stays open uses `SyncEngine`, which calls a replica from a thread of its own.
public final class Replica: Sendable {
    public let store: Store
    let environment: ReplicaEnvironment
    let lock: DeviceLock
    /// How long the container keeps files.
    let retention: RetentionSettings
    private let known: Locked<Known>
    private let heads: HeadCache
    private let quiet: UnchangedLogs
    private let last = UnchangedScan()

    private struct Known {
        var identity: StoreIdentity
        /// A new device ID that no report has mentioned yet.
        var unreported: Renewal?
    }

    /// The device and container of the database. The device changes if the database proves to be a copy.
    public var identity: StoreIdentity { known.withLock { $0.identity } }

    func take(_ identity: StoreIdentity) { known.withLock { $0.identity = identity } }

    /// A new device ID, for the next report.
    var unreported: Renewal? {
        get { known.withLock { $0.unreported } }
        set { known.withLock { $0.unreported = newValue } }
    }

    /// Uses a tracked store.
    /// - Throws: `notTracked`; `storeIncomplete` if somebody dropped a table of Ferry's.
    public convenience init(_ store: Store) throws { try self.init(store, environment: .live) }

    /// Uses a tracked store, and the outside world that is given.
    package init(
        _ store: Store, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        try store.checkOwnTables()
        guard let identity = try store.identity() else { throw Store.untracked(store.path) }
        self.store = store
        known = Locked(Known(identity: identity))
        self.environment = environment
        self.retention = retention
        heads = HeadCache(clock: environment.clock)
        quiet = UnchangedLogs(clock: environment.clock)
        lock = DeviceLock(databasePath: store.path)
    }

    /// Opens the database at a path.
    public convenience init(path: String) throws { try self.init(path: path, environment: .live) }

    /// Opens the database at a path, and uses the outside world that is given.
    package convenience init(
        path: String, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        try self.init(
            Store(path: path, clock: environment.clock, random: environment.random), environment: environment,
            retention: retention)
    }

    func openContainer() throws -> Container {
        try Container.open(
            at: identity.containerPath, expecting: ContainerPin(id: identity.container),
            fileSystem: environment.fileSystem, random: environment.random, heads: heads)
    }

    // MARK: Sync

    /// Makes a pass both ways: reads other devices' logs, packs local changes, replays, and publishes, until nothing is
    /// left to do.
    ///
    /// - Parameter isThorough: true: read every device's files, even if the head announces nothing new.
    /// - Throws:
    ///   - `notTracked` if the database left its container after the replica was made;
    ///   - `containerMissing`, `containerEmpty`, `containerMismatch`: local changes are packed all the same, and wait;
    ///   - `replayHookFailed`: local changes are published all the same;
    ///   - `clockAhead` if this device's clock is beyond the year 5000: nothing is packed before the clock is
    ///     corrected;
    ///   - `busy`, `inputOutput`.
    public func sync(isThorough: Bool = true, progress: ProgressHandler? = nil) throws -> SyncReport {
        try lock.withLock {
            try refreshIdentity()
            if isThorough { try Self.refuseDatabase(at: store.path, inside: identity.containerPath) }
            return try notingFailure {
                try Store.checkClock(environment.clock)
                return try syncLocked(isThorough: isThorough, progress)
            }
        }
    }

    /// Records a failure of the container or clock with its age, for `status`, and throws the failure again.
    private func notingFailure(_ body: () throws -> SyncReport) throws -> SyncReport {
        do {
            return try body()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || error.code == .clockAhead {
            try store.recordFailure(error)
            throw error
        }
    }

    static func isOfTheContainer(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [
            .containerMissing, .containerEmpty, .containerMismatch, .containerTooNew, .damagedFile, .foreignFile,
            .inputOutput, .limitExceeded, .notSealed, .keyMissing,
        ]
        return codes.contains(code)
    }

    private func syncLocked(isThorough: Bool, _ progress: ProgressHandler?) throws -> SyncReport {
        let start = environment.clock.milliseconds()
        let container: Container
        do {
            container = try openContainer()
        } catch {
            // Local changes are packed even while the folder is away. A copy's changes stay pending until the folder is
            // back: only the folder shows what was sent.
            if try !isCopied() && store.needsPass() {
                _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity))
            }
            throw error
        }
        var report = SyncReport()
        if let renewal = try recognise(container, isThorough: isThorough) { unreported = renewal }
        var problems: [DeviceID: FerryError] = [:]
        var names: [DeviceID: String] = [:]
        var look = ContainerView()
        // Devices whose logs this sync refuses. Logs behind them in a full batch are read all the same.
        var refused: [DeviceID: FerryError] = [:]
        var undelivered: Undelivered?
        let snapshots = SnapshotChooser(replica: self, container: container, progress: progress)
        try snapshots.start(&report)
        repeat {
            var isDone = false
            while !isDone {
                isDone = try !pass(
                    container, &report, &problems, &names, &look, &refused, isThorough: isThorough, progress)
                if !isDone { FreedMemory.giveBack() }
            }
            if isThorough { undelivered = try Undelivered(self, look, problems) }
            // If a log begins later, is damaged or does not arrive, a snapshot bridges the gap.
        } while try bridge(look, undelivered, snapshots, &report, &problems)
        if isThorough, look.gaps.isEmpty, try mergeBranches(container, abandoned: look.abandoned) {
            try publisher(container).publish(&report, progress, total: nil)
        }
        let counting = try newlyCounting(look)
        let successors = counting.filter { look.heads[$0].map { $0.predecessor != nil } ?? false }
        if try store.republishRows(
            isLast: look.gaps.isEmpty, counting: counting, successors: successors, requests: look.requests,
            encode: segmentEncoding(for: identity))
        {
            try publisher(container).publish(&report, progress, total: nil)
        }
        if isThorough, look.gaps.isEmpty, try uniteBranches(container, look, &report) {
            try publisher(container).publish(&report, progress, total: nil)
        }
        if try store.willCommitReplay != nil && store.needsPass() {
            // Rows written by the hook are sent at once.
            _ = try pass(container, &report, &problems, &names, &look, &refused, isThorough: isThorough, progress)
        }
        if isThorough, look.gaps.isEmpty { try recordContradiction(look) }
        let (activity, reading) = try recordActivity(look)
        try publisher(container).refreshHead(reading, others: look.heads)
        let isSnapshotDue = try undelivered?.note(container, activity) ?? false
        report.compaction = try compactIfDue(
            container, activity, isThorough: isThorough, isSnapshotDue: isSnapshotDue)
        problems.merge(clocksAhead(reading.vector)) { reason, _ in reason }
        let since = try store.recordStalls(problems, known: reading.waiting)
        if reading.failure != nil { try store.recordFailure(nil) }
        report.waiting = problems.sorted { $0.key < $1.key }.map { device, problem in
            SyncReport.Waiting(
                device: names[device] ?? device.description, reason: problem.message, code: problem.code.rawValue,
                sinceMilliseconds: since[device], file: problem.path)
        }
        let apart = tablesApart(reading)
        report.tablesApart = apart.isEmpty ? nil : apart
        report.waitingTables = reading.waitingTables.isEmpty ? nil : reading.waitingTables
        report.hidden = reading.hidden
        report.renewed = unreported
        unreported = nil
        report.seconds = Double(environment.clock.milliseconds() - start) / 1000
        return report
    }

    /// Updates the list of objects updated and never inserted here.
    /// All are checked if another device replayed the same changesets and has another state: this device may lack
    /// changes that others remember.
    private func recordContradiction(_ look: ContainerView) throws {
        let reading = try store.reading()
        let isContradicted = look.heads.values.contains { head in
            // Mostly the tokens are equal, and nothing needs comparison.
            reading.tables.contains { table in head.digests[table.stateToken].map { $0 != table.state } ?? false }
                && !PeerStanding(reading.vector, reading.tables, hasNotes: false, head).tables.states.isEmpty
        }
        try store.recordUpdatedObjects(isContradicted: isContradicted, atMost: Head.maximumMissing)
    }

    /// Reads, packs, replays and publishes a batch.
    /// - Returns: true if the logs hold more.
    private func pass(
        _ container: Container, _ report: inout SyncReport, _ problems: inout [DeviceID: FerryError],
        _ names: inout [DeviceID: String], _ look: inout ContainerView, _ refused: inout [DeviceID: FerryError],
        isThorough: Bool, _ progress: ProgressHandler?
    ) throws -> Bool {
        let reading = try store.reading()
        var reader = reader(container, reading)
        (reader.quiet, reader.last) = (quiet, last)
        reader.setAside = Set(refused.keys)
        var batch = try reader.read(after: reading.vector, known: reading.checksums, isThorough: isThorough)
        try noteReplayed(&batch.changesets, reading, container)
        problems = batch.problems
        look = ContainerView(
            heads: batch.heads, devices: batch.devices, gaps: batch.gaps, abandoned: batch.abandoned,
            isQuiet: batch.isQuiet)
        names = try recordNames(batch.heads, known: reading.names)
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
        let outcomes: [PassOutcome]
        do {
            outcomes = try LogReplay(self).replay(batch, &refused)
        } catch let error as FerryError where error.code == .replayHookFailed {
            // The hook's failure must not hold local changes back.
            if try store.needsPass() { _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity)) }
            try publisher(container).publish(&report, progress, total: nil)
            throw error
        }
        for outcome in outcomes {
            report.replayed.changes += outcome.replayed
            report.conflicts += outcome.conflicts
        }
        problems.merge(refused) { $1 }
        // Segments of a refused log are no news: otherwise waiting observers would never come to rest.
        for (device, count) in batch.segments where refused[device] == nil { report.replayed.segments += count }
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
        let total = try progress == nil ? nil : store.status(counting: false).outboxChanges + report.published.changes
        try publisher(container).publish(&report, progress, total: total)
        return batch.isFull
    }

    /// The devices whose heads say for the first time that they count this device before forgetting deletions: they
    /// acknowledge this log.
    /// Empty until everything that the heads mention is replayed here, so that deletions forgotten earlier are known
    /// here, too.
    private func newlyCounting(_ look: ContainerView) throws -> Set<DeviceID> {
        let (known, first) = try store.countingDevices()
        if look.heads.keys.allSatisfy({ known.contains($0) }) { return [] }
        let acknowledging = look.heads.filter { device, head in
            !known.contains(device) && (head.acknowledgements[identity.device]?.sequence ?? 0) >= first
        }
        if acknowledging.isEmpty || !look.gaps.isEmpty { return [] }
        let vector = try store.versionVector()
        func isReplayed(_ device: DeviceID, _ position: LogPosition) -> Bool {
            // Changesets unreadable here come from the device's successors.
            position.sequence <= vector[device].sequence || look.abandoned.contains(device)
        }
        guard look.heads.allSatisfy({ isReplayed($0.key, $0.value.position) }) else { return [] }
        return Set(
            acknowledging.filter { $0.value.acknowledgements.allSatisfy { isReplayed($0.key, $0.value) } }.keys)
    }

    /// Devices whose last change is further ahead of this device's clock than the clock follows.
    func clocksAhead(_ vector: VersionVector) -> [DeviceID: FerryError] {
        let latest = environment.clock.milliseconds() + HybridClock.maximumLeadMilliseconds
        return vector.positions.filter { $0.key != identity.device && $0.value.time.milliseconds > latest }.mapValues {
            let days = ($0.time.milliseconds - latest) / HybridClock.maximumLeadMilliseconds + 1
            return FerryError(
                .clockAhead,
                "Its clock is more than \(days == 1 ? "a day" : "\(days) days") ahead of this device's. Its changes win over "
                    + "later ones until it is set right: set the date on that device.")
        }
    }

    /// Makes a reader of the other devices' logs, with this device's knowledge of the devices.
    func reader(_ container: Container, _ reading: StoreSummary) -> LogReader {
        LogReader(
            container: container, device: identity.device, former: reading.formerDevices, ended: endedDevices(reading),
            retired: reading.retired, room: availableBytes)
    }

    /// The free bytes of the database's disk; `nil` if unknown.
    func availableBytes() -> Int? { environment.fileSystem.availableBytes(at: store.path) }

    func publisher(_ container: Container) -> Publisher {
        Publisher(
            container: container, store: store, identity: identity, clock: environment.clock, retention: retention)
    }

    /// Saves the names by which devices present themselves.
    /// - Returns: all known names.
    private func recordNames(_ heads: [DeviceID: Head], known: [DeviceID: String]) throws -> [DeviceID: String] {
        var names = known
        for (device, head) in heads where known[device] != head.deviceName {
            try store.recordName(head.deviceName, of: device)
            names[device] = head.deviceName
        }
        return names
    }

    /// Returns a closure that encodes segments of a device.
    func segmentEncoding(for identity: StoreIdentity) -> SegmentEncoding {
        { changeset, previous in
            let segment = try SegmentEncoder.encode([changeset], container: identity.container, previous: previous)
            return OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence, changes: changeset.operationCount,
                checksum: segment.checksum, bytes: segment.bytes)
        }
    }

    // MARK: Leaving

    /// Stops tracking and removes every trace of Ferry from the database. The app's rows stay; published files stay in
    /// the container for the other devices.
    public func leave() throws -> LeaveReport {
        try lock.withLock {
            let unpublished = try store.unpublishedCount()
            let askers = try store.endTracking()
            lock.remove()
            LeaderLock(databasePath: store.path).remove()
            return LeaveReport(container: identity.containerPath, unpublished: unpublished, askers: askers)
        }
    }

    /// Leaves for a database in which somebody dropped Ferry's tables, or some of them.
    /// - Returns: the numbers of removed triggers and tables, and what to report; `nil` if nothing of Ferry's is left.
    package static func leaveRemains(path: String) throws -> (triggers: Int, tables: Int, report: LeaveReport)? {
        let store = try Store(path: path)
        let lock = DeviceLock(databasePath: path)
        return try lock.withLock {
            guard let (triggers, tables, askers) = try store.removeRemains() else { return nil }
            lock.remove()
            LeaderLock(databasePath: path).remove()
            return (triggers, tables, LeaveReport(container: "", unpublished: 0, askers: askers))
        }
    }
}

extension Store {
    static func untracked(_ path: String) -> FerryError {
        FerryError(
            .notTracked, "The database belongs to no container yet. Run `ferry init` or `ferry join` first.",
            path: path.isEmpty ? nil : path)
    }
}
