import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// The steps of a sync, over a common state. `run` has the steps in order; a throw ends the sync, and the next sync
/// begins anew.
///
/// Invariants:
/// - `view`, `problems` and `names` are those of the last batch read. `problems` has every entry of `refused`.
/// - `report.replayed`, `report.published` and `report.conflicts` count all batches of the sync.
/// - Everything packed by a step is published by the step or its caller.
///
/// Belongs to a thread, under the device's lock.
final class SyncRun {
    private let replica: Replica
    /// In a sealed container with the seal by the present knowledge of the members.
    private var container: Container
    private let isThorough: Bool
    private let progress: ProgressHandler?
    private var report = SyncReport()
    /// Why logs cannot be read or replayed further.
    private var problems: [DeviceID: FerryError] = [:]
    private var names: [DeviceID: String] = [:]
    private var view = ContainerView()
    /// Devices with a log refused by this sync. Logs behind them in a full batch are read all the same.
    private var refused: [DeviceID: FerryError] = [:]
    /// Logs unavailable in the container; `nil` unless the sync is thorough.
    private var undelivered: Undelivered?
    /// True after a reference arrived to a content deleted here.
    private var lacksContents = false
    /// Devices let into a sealed container by this sync.
    private var admitted: [DeviceID] = []
    private let others: OtherWriters
    private var store: Store { replica.store }
    private var publisher: Publisher { replica.publisher(container) }
    private var encoding: SegmentEncoding { replica.segmentEncoding(for: replica.identity) }

    /// - Parameter isThorough: as in `Replica.sync`.
    init(_ replica: Replica, _ container: Container, isThorough: Bool, _ progress: ProgressHandler?) {
        self.replica = replica
        self.container = container
        self.isThorough = isThorough
        self.progress = progress
        others = OtherWriters(replica)
    }

    /// Makes all steps, and reports them.
    /// - Parameter members: the scan of a sealed container's membership; `nil` without a scan.
    func run(_ members: MemberReader.Look?) throws -> SyncReport {
        let lastConflict = try store.lastConflictNumber()
        try recognizeCopy()
        admitted = try replica.fulfilDuties(members, &container)
        // Nothing is sealed while no key may be used.
        if publisher.hold == nil { try replica.renewPacks(container, isThorough: isThorough) }
        repeat { try catchUp() } while try replica.learn(&container, told: view.heads, &admitted)
        try recognizeSetBack()
        try adoptBranches()
        try republish()
        try uniteBranches()
        try packReplayWrites()
        try settleConflicts(after: lastConflict)
        try lookAfterContents()
        try recordContradiction()
        let reading = try refreshHeadAndCompact()
        try reportStalls(reading)
        if reading.hasDocuments {
            if isThorough && publisher.hold == nil { try lookAfterPacks() }
            try replica.fetchWanted(
                container, reading.vector, &report, isThorough: isThorough, maximumBytes: Replica.fetchBytesOfPass)
        }
        return try finish(reading)
    }

    // MARK: Steps

    /// Publishes packs without a waiting segment, such as mended packs, and removes unused files.
    private func lookAfterPacks() throws {
        report.count(published: try publisher.packs.publish())
        try replica.removeUnnamedPacks(container)
        // Packs that the folder has lost were made again.
        try packAndPublish()
        // Another device may have done it: what is replayed by now says so.
        if view.gaps.isEmpty { try replica.renewFormerPacks(container, heads: view.heads, publish: packAndPublish) }
        try replica.removeShelfLitter()
    }

    /// Gives the database a new ID, if the database proves to be a copy.
    private func recognizeCopy() throws {
        guard let renewal = try replica.recognise(container, isThorough: isThorough) else { return }
        try adopt(renewal)
    }

    /// Gives the database a new ID, if devices have read changes of its log that neither the database nor the container has. A
    /// copy's late files are waited for.
    private func recognizeSetBack() throws {
        guard publisher.hold == nil, let setBack = try undelivered?.setBack() else { return }
        try adopt(replica.becomeNewDevice(.restored, container, setBack: setBack))
        try packAndPublish()
    }

    private func adopt(_ renewal: Renewal) throws {
        replica.unreported = renewal
        // The new device seals with new keys.
        if replica.identity.genesis != nil { container = try replica.openContainer() }
    }

    /// Reads, packs, replays and publishes, batch by batch. If a log begins later, is damaged or does not arrive, a
    /// snapshot bridges the gap.
    private func catchUp() throws {
        let snapshots = SnapshotChooser(replica: replica, container: container, progress: progress)
        try snapshots.start(&report)
        repeat {
            while try replayBatch() { FreedMemory.giveBack() }
            if isThorough { undelivered = try Undelivered(replica, view, problems) }
        } while try replica.bridge(view, undelivered, snapshots, &report, &problems)
    }

    /// Merges branches of logs written by two databases under the same ID.
    private func adoptBranches() throws {
        guard isThorough, view.gaps.isEmpty else { return }
        if try replica.mergeBranches(container, abandoned: view.abandoned) { try publish() }
        if view.isQuiet { return }
        if try replica.sendLostBranches(container, view.heads) { try publish() }
    }

    /// Sends rows again to devices that ask for them or may have forgotten them.
    private func republish() throws {
        let counting = try replica.newlyCounting(view)
        let successors = counting.filter { view.heads[$0].map { $0.predecessor != nil } ?? false }
        let hasNews = try store.republishRows(
            isLast: view.gaps.isEmpty, counting: counting, successors: successors, requests: view.requests,
            encode: encoding)
        if hasNews { try publish() }
    }

    /// Resolves differences left by the branches of a forked log.
    private func uniteBranches() throws {
        guard isThorough, view.gaps.isEmpty else { return }
        if try replica.uniteBranches(container, view, &report) { try publish() }
    }

    /// Sends at once what the replay wrote for this device: rows of the app's hook, and defaults that differ from device to device.
    private func packReplayWrites() throws {
        if report.replayed.changes == 0 && store.willCommitReplay == nil { return }
        if try store.needsPass() { _ = try replayBatch() }
    }

    /// Brings back values that lost to unchanged values of a device with the same table rebuilt, and removes conflicts without a loss.
    private func settleConflicts(after number: Int64) throws {
        if report.conflicts == 0 { return }
        let settled = try replica.settleConflicts(after: number, container)
        report.conflicts -= settled.forgotten
        if settled.restored > 0 { try packAndPublish() }
    }

    /// Inserts referenced contents again, and once a day deletes unused contents. Comes before the head with the
    /// acknowledgement of the replay.
    private func lookAfterContents() throws {
        guard publisher.hold == nil, lacksContents || isThorough, try store.hasDocumentTables() else { return }
        try replica.insertContentsAgain(container)
        if isThorough, view.gaps.isEmpty, try replica.isCollectionDue() { try replica.collectContents(container) }
        try packAndPublish()
    }

    /// Packs and publishes changes that a step made.
    private func packAndPublish() throws {
        if try store.needsPass() { _ = try store.pass(replaying: [], encode: encoding) }
        if try !store.outboxSizes().isEmpty { try publish() }
    }

    /// Updates the list of objects updated and never inserted here. All objects are checked if a device with the same
    /// changesets has a different state: this device may lack changes remembered there.
    private func recordContradiction() throws {
        guard isThorough, view.gaps.isEmpty else { return }
        let reading = try store.reading()
        let isContradicted = view.heads.values.contains { head in
            // Mostly the tokens are equal, and nothing needs comparison.
            reading.tables.contains { table in head.digests[table.stateToken].map { $0 != table.state } ?? false }
                && !PeerStanding(reading.vector, reading.tables, hasNotes: false, head).tables.states.isEmpty
        }
        try store.recordUpdatedObjects(isContradicted: isContradicted, atMost: Head.maximumMissing)
    }

    /// Publishes the replayed positions in the head, and compacts this device's files if due.
    /// - Returns: the store's knowledge.
    private func refreshHeadAndCompact() throws -> StoreSummary {
        let (activity, reading) = try replica.recordActivity(view)
        let hold = publisher.hold
        if hold == nil {
            try replica.acceptLogs(&container, reading, told: view.heads, isThorough: isThorough)
            if isThorough && !view.isQuiet { try replica.handEpochsOn(&container, heads: view.heads) }
        }
        var headWriter = publisher
        headWriter.defersAcknowledgements = container.answersFromListing && !isThorough
        try headWriter.refreshHead(reading, others: view.heads)
        let isSnapshotDue = try undelivered?.note(container, activity) ?? false
        if hold == nil {
            report.compaction = try replica.compactIfDue(
                container, activity, isThorough: isThorough, isSnapshotDue: isSnapshotDue)
        }
        if hold == nil && isThorough { try replica.removeOwnFormerFiles(container, reading, heads: view.heads) }
        let differing = replica.disagreements(view.heads, with: try replica.membershipOfPass())
        problems.merge(differing) { reason, _ in reason }
        if isThorough && !view.isQuiet {
            replica.memory.forkedViews = replica.forkedViews(view.heads, reading, abandoned: view.abandoned)
        }
        problems.merge(replica.memory.forkedViews) { reason, _ in reason }
        problems.merge(replica.withheldLogs(view.heads, reading)) { reason, _ in reason }
        // For want of a record the device's further files may be unreadable.
        problems.merge(replica.memory.damagedRecords) { $1 }
        report.held = hold?.message
        return reading
    }

    /// Saves and reports the reasons of waiting logs, and forgets the last sync's failure.
    private func reportStalls(_ reading: StoreSummary) throws {
        problems.merge(replica.clocksAhead(reading)) { reason, _ in reason }
        let since = try store.recordStalls(problems, known: reading.waiting)
        if reading.failure != nil { try store.recordFailure(nil) }
        report.waiting = problems.sorted { $0.key < $1.key }.map { device, problem in
            SyncReport.Waiting(
                device: names[device] ?? device.description, reason: problem.message, code: problem.code.rawValue,
                sinceMilliseconds: since[device], file: problem.path)
        }
    }

    /// Completes the report.
    private func finish(_ reading: StoreSummary) throws -> SyncReport {
        let apart = try replica.tablesApart(reading)
        report.tablesApart = apart.isEmpty ? nil : apart
        report.waitingTables = reading.waitingTables.isEmpty ? nil : reading.waitingTables
        report.hidden = reading.hidden
        let claims = replica.identity.genesis == nil ? 0 : replica.memory.claims.count
        if claims > 0 { report.claims = claims }
        let late = replica.identity.genesis == nil ? 0 : replica.memory.lateClaims
        if late > 0 { report.lateClaims = late }
        report.copies = try newCopies()
        if !admitted.isEmpty { report.admitted = admitted.sorted().map(\.description) }
        report.renewed = replica.unreported
        replica.unreported = nil
        return report
    }

    /// The copies of further members, admitted to a sealed container since the last report; `nil` without any.
    private func newCopies() throws -> [AdmittedCopy]? {
        let news = replica.memory.takeCopies()
        guard !news.isEmpty, let membership = try replica.membershipOfPass() else { return nil }
        let copies = membership.roster.copies(named: names) { device, _ in
            news.contains(device) && device != membership.device
        }
        return copies.isEmpty ? nil : copies
    }

    // MARK: A batch

    /// Reads, packs, replays and publishes a batch.
    /// - Returns: true if the logs hold more.
    private func replayBatch() throws -> Bool {
        let reading = try store.reading()
        var reader = try replica.reader(container, reading)
        (reader.quiet, reader.last) = (replica.quiet, replica.last)
        reader.setAside = Set(refused.keys)
        var batch = try reader.read(after: reading.vector, known: reading.checksums, isThorough: isThorough)
        try replica.noteReplayed(&batch.changesets, reading, container)
        problems = batch.problems
        view = ContainerView(
            heads: batch.heads, devices: batch.devices, gaps: batch.gaps, abandoned: batch.abandoned,
            isQuiet: batch.isQuiet)
        names = try replica.recordNames(batch.heads, known: reading.names)
        reportProgress()
        for outcome in try replay(batch) {
            report.replayed.changes += outcome.replayed
            report.conflicts += outcome.conflicts
            if outcome.lacksContents { lacksContents = true }
        }
        problems.merge(refused) { $1 }
        // Segments of a refused log are no news: otherwise waiting observers would never come to rest.
        for (device, count) in batch.segments where refused[device] == nil { report.replayed.segments += count }
        reportProgress()
        let total = try progress == nil ? nil : store.waitingChanges().outbox + report.published.changes
        try publish(total: total)
        return batch.isFull
    }

    private func replay(_ batch: LogReader.Batch) throws -> [PassOutcome] {
        do {
            return try LogReplay(replica, beside: others).replay(batch, &refused)
        } catch let error as FerryError where error.code == .replayHookFailed {
            // The hook's failure must not hold local changes back.
            if try store.needsPass() { _ = try store.pass(replaying: [], encode: encoding) }
            try publish()
            throw error
        }
    }

    private func reportProgress() {
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
    }

    /// Publishes everything packed.
    /// - Parameter total: the number of changes to publish; `nil` if unknown.
    private func publish(total: Int? = nil) throws { try publisher.publish(&report, progress, total: total) }
}
