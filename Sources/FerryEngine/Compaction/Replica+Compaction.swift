import FerryContainer
import FerryCore
import FerryStore

/// A pass's view of the other devices.
struct ContainerView {
    /// The readable heads.
    var heads: [DeviceID: Head] = [:]
    /// The devices with a directory in the container.
    var devices: [DeviceID] = []
    /// Devices whose next changeset is missing or incomplete, and the changeset from which the log is readable again.
    var gaps: [DeviceID: UInt64] = [:]
    /// Devices whose logs continue on a branch unreadable here (`LogReader.Batch.abandoned`).
    var abandoned: Set<DeviceID> = []
    /// Whether all looks as it did when it was looked at last (`UnchangedScan`).
    var isQuiet = false

    /// The objects that devices lack, by their heads.
    var requests: [MissingRequest] {
        heads.values.filter { !$0.missing.isEmpty }.map { head in
            var known = head.acknowledgements
            known[head.device] = head.position
            return MissingRequest(objects: head.missing, known: VersionVector(known))
        }
    }
}

extension ContainerView {
    /// Reads the heads of all devices except `own`.
    init(_ container: Container, except own: DeviceID) throws {
        devices = try container.devices().filter { $0 != own }
        try container.forEachHead(of: devices) { device, head in
            do {
                heads[device] = try head.get()
            } catch let error as FerryError where error.concernsOneFile {
                // A device with an unreadable head counts as a device without acknowledgements.
                return
            }
        }
    }
}

extension Replica {
    /// Compacts this device's part of the container now: joins small files, publishes a due snapshot, and removes files
    /// that every active device has. `sync` does the same when due.
    ///
    /// Nothing that an active device needs is removed. After a crash at any step, the next run finishes the plan.
    /// - Parameter isDryRun: true: only report the steps.
    /// - Throws: as `sync`.
    package func compact(isDryRun: Bool = false) throws -> CompactionReport {
        try compact(isDryRun: isDryRun, mending: 0)
    }

    /// Compacts after a loss of files.
    /// - Parameter lost: the last changeset with a file known to be lost or damaged; 0 if none.
    func compact(isDryRun: Bool = false, mending lost: UInt64) throws -> CompactionReport {
        try lock.withLock {
            let start = environment.clock.milliseconds()
            let container = try openContainerAfresh()
            try refreshIdentity()
            if !isDryRun, let renewal = try recognise(container, isThorough: true) { unreported = renewal }
            let look = try ContainerView(container, except: identity.device)
            let activity =
                try isDryRun ? presentActivity(look, store.reading()).activity : recordActivity(look).activity
            let compactor = compactor(container, activity)
            var report = try isDryRun ? compactor.rehearse() : compactor.run(isAsked: true, mending: lost)
            let segments = try store.ownSegments()
            report.segments = segments.count
            report.bytes = segments.reduce(0) { $0 + $1.bytes }
            let reading = try store.reading()
            report.heldBackBy = activity.active.filter { heldBack(by: $0, segments, reading).segments > 0 }
                .map(\.record.name)
            report.durationMilliseconds = environment.clock.milliseconds() - start
            return report
        }
    }

    /// Performs due steps at the end of a sync.
    ///
    /// Without due steps the cost does not grow with history. The decision needs this device's list of segments (some
    /// dozens, thanks to compaction), a note, and the heads just read. The container is neither listed nor read.
    /// - Parameters:
    ///   - isThorough: true: check that own files are present, by listing the own directory.
    ///   - isSnapshotDue: true: a snapshot must publish changes that other devices lack.
    /// - Returns: `nil` if nothing was due.
    func compactIfDue(
        _ container: Container, _ activity: DeviceActivity, isThorough: Bool, isSnapshotDue: Bool
    ) throws -> CompactionReport? {
        var compactor = compactor(container, activity)
        compactor.isThorough = isThorough
        compactor.isSnapshotDue = isSnapshotDue
        let report = try compactor.run()
        return report.hasNews || !report.skipped.isEmpty ? report : nil
    }

    private func compactor(_ container: Container, _ activity: DeviceActivity) -> Compactor {
        Compactor(
            container: container, store: store, publisher: publisher(container), retention: retention,
            clock: environment.clock, activity: activity,
            snapshots: ContainerSnapshots(
                container: container, store: store, identity: identity, clock: environment.clock,
                largeValues: environment.largeValues),
            countTombstones: store.tombstoneCount, collectTombstones: store.collectTombstones)
    }

    // MARK: Which devices count

    /// Returns which devices are active by a look at the container, and the news for the store.
    func presentActivity(
        _ look: ContainerView, _ reading: StoreSummary
    ) throws -> (activity: DeviceActivity, notes: [DeviceRecord]) {
        let records = reading.devices
        let now = environment.clock.milliseconds()
        let notes = DeviceActivity.notes(
            own: identity.device, records: records, .init(heads: look.heads, devices: look.devices, now: now), retention
        )
        var present = records
        if !notes.isEmpty {
            let news = Dictionary(notes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            let known = Set(records.map(\.id))
            present = records.map { news[$0.id] ?? $0 } + notes.filter { !known.contains($0.id) }
        }
        // Nothing is kept for a device that is out.
        let gone = try devicesThatAreOut()
        let out = present.filter { gone.contains($0.id) }
        if !out.isEmpty { present.removeAll { gone.contains($0.id) } }
        var activity = DeviceActivity(own: identity.device, records: present, heads: look.heads, now: now, retention)
        activity.remembersDeletions = try mayBeRemoved(by: out, activity, reading, now)
        return (activity, notes)
    }

    /// True if this device may be removed without knowing it: by a member that was removed lately, at the same time, or by silent
    /// members where no other member is heard. Then this device's log may not count, and after its return (`ferry enrol`) the device
    /// must be able to send its deletions again.
    private func mayBeRemoved(
        by out: [DeviceRecord], _ activity: DeviceActivity, _ reading: StoreSummary, _ now: Int64
    ) throws -> Bool {
        let isAlone = activity.active.isEmpty && activity.peers.contains { $0.state == .silent }
        if out.isEmpty && !isAlone { return false }
        guard let removed = try rosterWithKey()?.removed else { return false }
        if isAlone { return true }
        let former = supersededDevices(reading)
        return out.contains { record in
            record.heardMilliseconds != nil && removed[record.id] != nil && !former.contains(record.id)
                && !DeviceActivity.isSilent(record, now, retention)
        }
    }

    /// Saves the news of a look at the container.
    /// - Returns: the active devices, and the store's knowledge afterwards.
    func recordActivity(_ look: ContainerView) throws -> (activity: DeviceActivity, reading: StoreSummary) {
        let reading = try store.reading()
        let (activity, notes) = try presentActivity(look, reading)
        if notes.isEmpty { return (activity, reading) }
        try store.recordLastSeen(notes)
        return (activity, try store.reading())
    }

    /// Segments of this device's log that stay for a single device: a snapshot covers these segments, and the device
    /// has not replayed them.
    func heldBack(
        by peer: DeviceActivity.Peer, _ segments: [OwnSegment], _ reading: StoreSummary
    ) -> (segments: Int, bytes: Int) {
        guard peer.state == .active else { return (0, 0) }
        let covered = Compactor.notes(in: reading).snapshot?.covered ?? 0
        let acknowledged = peer.position(of: identity.device).sequence
        let segments = segments.filter { $0.replacedMilliseconds == nil }.dropLast()
            .filter { $0.last <= covered && $0.last > acknowledged }
        return (segments.count, segments.reduce(0) { $0 + $1.bytes })
    }
}
