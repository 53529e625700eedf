import FerryContainer
import FerryCore
import FerryLog
import FerryStore
import Foundation

/// One database and the container that it belongs to: everything that the command line does, as synchronous calls.
///
/// Every call that writes holds the device's lock, so that several processes may have a replica of one database.
/// An app that stays open uses `SyncEngine`, which calls this from a thread of its own.
public final class Replica: Sendable {
    public let store: Store
    let environment: ReplicaEnvironment
    let lock: DeviceLock
    /// How long things are kept in the container.
    let retention: RetentionSettings
    private let known: Locked<Known>
    private let heads: HeadCache
    private let quiet: QuietLogs
    private let last = QuietLook()

    private struct Known {
        var identity: StoreIdentity
        /// A new device ID that no report has told of yet.
        var unreported: Renewal?
    }

    /// Which device and container the database belongs to. The device changes where the database proves to be a copy.
    public var identity: StoreIdentity { known.withLock { $0.identity } }

    func take(_ identity: StoreIdentity) { known.withLock { $0.identity = identity } }

    /// A new device ID that the next report tells of.
    var unreported: Renewal? {
        get { known.withLock { $0.unreported } }
        set { known.withLock { $0.unreported = newValue } }
    }

    /// Uses a tracked store.
    /// - Throws: `notTracked`.
    public init(
        _ store: Store, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        guard let identity = try store.identity() else { throw Store.untracked(store.path) }
        self.store = store
        known = Locked(Known(identity: identity))
        self.environment = environment
        self.retention = retention
        heads = HeadCache(clock: environment.clock)
        quiet = QuietLogs(clock: environment.clock)
        lock = DeviceLock(databasePath: store.path)
    }

    /// Opens the database at a path.
    public convenience init(
        path: String, environment: ReplicaEnvironment = .live, retention: RetentionSettings = RetentionSettings()
    ) throws {
        try self.init(
            Store(path: path, clock: environment.clock, random: environment.random), environment: environment,
            retention: retention)
    }

    func openContainer() throws -> Container {
        try Container.open(
            at: identity.containerPath, expecting: identity.container, fileSystem: environment.fileSystem,
            random: environment.random, heads: heads)
    }

    // MARK: Sync

    /// One pass both ways: reads the others' logs, packs local changes, replays, and publishes, until nothing is left
    /// to do.
    ///
    /// - Parameter isThorough: look at every device's files even where its head announces nothing new.
    /// - Throws: `notTracked` where the database left its container since the replica was made; `containerMissing`,
    ///   `containerEmpty`, `containerMismatch` (local changes are packed all the same and
    ///   wait); `replayHookFailed` (local changes are published all the same); `busy`; `inputOutput`; `clockAhead` where this
    ///   device's clock is beyond the year 5000 (nothing is packed before it is set right).
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

    /// What the container refuses is kept with its age, for `status`.
    private func notingFailure(_ body: () throws -> SyncReport) throws -> SyncReport {
        do {
            return try body()
        } catch let error as FerryError where Self.isOfTheContainer(error.code) || error.code == .clockAhead {
            try store.noteFailure(error)
            throw error
        }
    }

    static func isOfTheContainer(_ code: FerryError.Code) -> Bool {
        let codes: [FerryError.Code] = [
            .containerMissing, .containerEmpty, .containerMismatch, .containerTooNew, .damagedFile, .foreignFile,
            .inputOutput, .limitExceeded,
        ]
        return codes.contains(code)
    }

    private func syncLocked(isThorough: Bool, _ progress: ProgressHandler?) throws -> SyncReport {
        let start = environment.clock.milliseconds()
        let container: Container
        do {
            container = try openContainer()
        } catch {
            // Local changes are safe and ordered even while the folder is away. Those of a copy stay notes until the
            // folder is back: only there can be seen what was sent already.
            if try !isCopied() && store.needsPass() { _ = try store.pass(replaying: [], seal: sealer(for: identity)) }
            throw error
        }
        var report = SyncReport()
        if let renewal = try recognise(container, isThorough: isThorough) { unreported = renewal }
        var problems: [DeviceID: FerryError] = [:]
        var names: [DeviceID: String] = [:]
        var look = ContainerLook()
        // Devices whose logs are refused by this sync: what is behind them in a full batch comes all the same.
        var refused: [DeviceID: FerryError] = [:]
        let snapshots = SnapshotReading(replica: self, container: container, progress: progress)
        try snapshots.start(&report)
        repeat {
            var isDone = false
            while !isDone {
                isDone = try !pass(
                    container, &report, &problems, &names, &look, &refused, isThorough: isThorough, progress)
                if !isDone { FreedMemory.giveBack() }
            }
            // Where a log begins later, or is damaged, a snapshot is the way on.
        } while try !look.gaps.isEmpty && snapshots.bridge(look.gaps, &report, &problems)
        if isThorough, look.gaps.isEmpty, try takeInBranches(container, abandoned: look.abandoned) {
            try publisher(container).publish(&report, progress, total: nil)
        }
        let counting = try newlyCounting(look)
        let successors = counting.filter { look.heads[$0].map { $0.predecessor != nil } ?? false }
        if try store.publishKeptRows(
            isLast: look.gaps.isEmpty, counting: counting, successors: successors, requests: look.requests,
            seal: sealer(for: identity))
        {
            try publisher(container).publish(&report, progress, total: nil)
        }
        if isThorough, look.gaps.isEmpty, try uniteBranches(container, look, &report) {
            try publisher(container).publish(&report, progress, total: nil)
        }
        if try store.willCommitReplay != nil && store.needsPass() {
            // What the hook wrote goes out at once.
            _ = try pass(container, &report, &problems, &names, &look, &refused, isThorough: isThorough, progress)
        }
        if isThorough, look.gaps.isEmpty { try noteContradiction(look) }
        let (activity, reading) = try noteActivity(look)
        try publisher(container).refreshHead(reading, others: look.heads)
        report.compaction = try compactIfDue(container, activity, isThorough: isThorough)
        problems.merge(clocksAhead(reading.vector)) { reason, _ in reason }
        let since = try store.noteWaiting(problems, known: reading.waiting)
        if reading.failure != nil { try store.noteFailure(nil) }
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

    /// Where another device has replayed the same and holds another state, this one may lack what others remember.
    private func noteContradiction(_ look: ContainerLook) throws {
        let reading = try store.reading()
        let isContradicted = look.heads.values.contains { head in
            // Mostly they are the same, and then nothing need be compared.
            reading.tables.contains { table in head.digests[table.stateToken].map { $0 != table.state } ?? false }
                && !PeerStanding(reading.vector, reading.tables, hasNotes: false, head).tables.states.isEmpty
        }
        try store.noteUpdatedObjects(isContradicted: isContradicted, atMost: Head.maximumMissing)
    }

    /// - Returns: whether there is more to read.
    private func pass(
        _ container: Container, _ report: inout SyncReport, _ problems: inout [DeviceID: FerryError],
        _ names: inout [DeviceID: String], _ look: inout ContainerLook, _ refused: inout [DeviceID: FerryError],
        isThorough: Bool, _ progress: ProgressHandler?
    ) throws -> Bool {
        let reading = try store.reading()
        var reader = reader(container, reading)
        (reader.quiet, reader.last) = (quiet, last)
        reader.setAside = Set(refused.keys)
        let batch = try reader.read(after: reading.vector, known: reading.checksums, isThorough: isThorough)
        problems = batch.problems
        look = ContainerLook(
            heads: batch.heads, devices: batch.devices, gaps: batch.gaps, abandoned: batch.abandoned)
        names = try noteNames(batch.heads, known: reading.names)
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
        let outcomes: [PassOutcome]
        do {
            outcomes = try LogReplay(self).replay(batch, &refused)
        } catch let error as FerryError where error.code == .replayHookFailed {
            // Local changes are not the hook's business.
            if try store.needsPass() { _ = try store.pass(replaying: [], seal: sealer(for: identity)) }
            try publisher(container).publish(&report, progress, total: nil)
            throw error
        }
        for outcome in outcomes {
            report.replayed.changes += outcome.replayed
            report.conflicts += outcome.conflicts
        }
        problems.merge(refused) { $1 }
        // Of a log that is refused nothing is news, or those who wait for news would never come to rest.
        for (device, count) in batch.segments where refused[device] == nil { report.replayed.segments += count }
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
        let total = try progress == nil ? nil : store.status(counting: false).outboxChanges + report.published.changes
        try publisher(container).publish(&report, progress, total: total)
        return batch.isFull
    }

    /// The devices whose heads say for the first time that they count this one when they forget deletions: they acknowledge
    /// its log. Told once all that heads speak of is replayed here, so that what was forgotten before is known here too.
    private func newlyCounting(_ look: ContainerLook) throws -> Set<DeviceID> {
        let (known, first) = try store.countingDevices()
        if look.heads.keys.allSatisfy({ known.contains($0) }) { return [] }
        let acknowledging = look.heads.filter { device, head in
            !known.contains(device) && (head.acknowledgements[identity.device]?.sequence ?? 0) >= first
        }
        if acknowledging.isEmpty || !look.gaps.isEmpty { return [] }
        let vector = try store.versionVector()
        func isReplayed(_ device: DeviceID, _ position: LogPosition) -> Bool {
            // What cannot be read here comes from its successors.
            position.sequence <= vector[device].sequence || look.abandoned.contains(device)
        }
        guard look.heads.allSatisfy({ isReplayed($0.key, $0.value.position) }) else { return [] }
        return Set(
            acknowledging.filter { $0.value.acknowledgements.allSatisfy { isReplayed($0.key, $0.value) } }.keys)
    }

    /// Devices whose last change is further ahead of this device's clock than that follows.
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

    /// Reads the others' logs as this device knows them.
    func reader(_ container: Container, _ reading: StoreReading) -> LogReader {
        LogReader(
            container: container, device: identity.device, former: reading.formerDevices, ended: endedDevices(reading),
            retired: reading.retired, room: availableBytes)
    }

    /// What the disk of the database has left, where that is known.
    func availableBytes() -> Int? { environment.fileSystem.availableBytes(at: store.path) }

    func publisher(_ container: Container) -> Publisher {
        Publisher(
            container: container, store: store, identity: identity, clock: environment.clock, retention: retention)
    }

    /// Keeps the names by which devices present themselves.
    /// - Returns: all that are known.
    private func noteNames(_ heads: [DeviceID: Head], known: [DeviceID: String]) throws -> [DeviceID: String] {
        var names = known
        for (device, head) in heads where known[device] != head.deviceName {
            try store.noteName(head.deviceName, of: device)
            names[device] = head.deviceName
        }
        return names
    }

    /// Makes segments for a device.
    func sealer(for identity: StoreIdentity) -> SegmentSealer {
        { changeset, previous in
            let segment = try SegmentEncoder.encode([changeset], container: identity.container, previous: previous)
            return OutboxEntry(
                first: segment.firstSequence, last: segment.lastSequence, changes: changeset.operationCount,
                checksum: segment.checksum, bytes: segment.bytes)
        }
    }

    // MARK: Leaving

    /// Stops tracking and removes every trace of Ferry's from the database. The app's rows stay; what this device
    /// published stays in the container for the others.
    public func leave() throws -> LeaveReport {
        try lock.withLock {
            let unpublished = try store.unpublishedCount()
            let askers = try store.endTracking()
            lock.remove()
            LeaderLock(databasePath: store.path).remove()
            return LeaveReport(container: identity.containerPath, unpublished: unpublished, askers: askers)
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
