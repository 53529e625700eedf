import FerryContainer
import FerryCore
import FerryStore

/// What a pass saw of the other devices.
struct ContainerLook {
    /// The heads that could be read.
    var heads: [DeviceID: Head] = [:]
    /// The devices that have a directory.
    var devices: [DeviceID] = []
    /// Devices whose logs do not have what is next, or not whole, and from where on they can be read again.
    var gaps: [DeviceID: UInt64] = [:]
    /// Devices whose logs go on in a way that cannot be followed here (`LogReader.Batch.abandoned`).
    var abandoned: Set<DeviceID> = []

    /// What devices lack, as their heads say.
    var requests: [MissingRequest] {
        heads.values.filter { !$0.missing.isEmpty }.map { head in
            var known = head.acknowledgements
            known[head.device] = head.position
            return MissingRequest(objects: head.missing, known: VersionVector(known))
        }
    }
}

extension ContainerLook {
    /// Reads the heads of all devices but one.
    init(_ container: Container, except own: DeviceID) throws {
        devices = try container.devices().filter { $0 != own }
        for device in devices {
            do {
                heads[device] = try container.readHead(of: device)
            } catch let error as FerryError where error.concernsOneFile {
                // A device whose head cannot be read counts as one that has acknowledged nothing.
                continue
            }
        }
    }
}

extension Replica {
    /// Keeps this device's part of the container small, now: rolls up small files, publishes a snapshot where the log has
    /// outgrown it, and removes what every active device has. `sync` does the same by itself whenever there is enough to do.
    ///
    /// Nothing that an active device needs is removed. A crash at any step leaves a plan that the next run finishes.
    /// - Parameter isDryRun: tell what would be done, and do nothing.
    /// - Throws: as `sync`.
    public func compact(isDryRun: Bool = false) throws -> CompactionReport {
        try compact(isDryRun: isDryRun, mending: 0)
    }

    /// - Parameter lost: the last changeset of which the files are known to be gone or damaged; 0 if none.
    func compact(isDryRun: Bool = false, mending lost: UInt64) throws -> CompactionReport {
        try lock.withLock {
            let start = environment.clock.milliseconds()
            let container = try openContainer()
            try refreshIdentity()
            if !isDryRun, let renewal = try recognise(container, isThorough: true) { unreported = renewal }
            let look = try ContainerLook(container, except: identity.device)
            let activity = try isDryRun ? presentActivity(look, store.reading()).activity : noteActivity(look).activity
            let compactor = compactor(container, activity)
            var report = try isDryRun ? compactor.rehearse() : compactor.run(isAsked: true, mending: lost)
            let segments = try store.ownSegments()
            report.segments = segments.count
            report.bytes = segments.reduce(0) { $0 + $1.bytes }
            let reading = try store.reading()
            report.heldBackBy = activity.active.filter { heldBack(by: $0, segments, reading).segments > 0 }
                .map(\.record.name)
            report.seconds = Double(environment.clock.milliseconds() - start) / 1000
            return report
        }
    }

    /// Does what is due, at the end of a sync.
    ///
    /// The cost where nothing is due does not grow with the history: it is decided from this device's list of segments,
    /// which compaction keeps to some dozens, from one note, and from the heads that the pass has read anyway. Nothing of
    /// the container is listed or read.
    /// - Parameter isThorough: look if the own files are there, which lists the own directory.
    /// - Returns: `nil` where nothing was due.
    func compactIfDue(
        _ container: Container, _ activity: DeviceActivity, isThorough: Bool
    ) throws -> CompactionReport? {
        var compactor = compactor(container, activity)
        compactor.isThorough = isThorough
        let report = try compactor.run()
        return report.hasNews || !report.skipped.isEmpty ? report : nil
    }

    private func compactor(_ container: Container, _ activity: DeviceActivity) -> Compactor {
        Compactor(
            container: container, store: store, publisher: publisher(container), retention: retention,
            clock: environment.clock, activity: activity,
            snapshots: ContainerSnapshots(
                container: container, store: store, identity: identity, clock: environment.clock),
            countTombstones: store.tombstoneCount, collectTombstones: store.collectTombstones)
    }

    // MARK: Which devices count

    /// Which devices are active as far as a look shows, and what the store does not know of it yet.
    func presentActivity(
        _ look: ContainerLook, _ reading: StoreReading
    ) -> (activity: DeviceActivity, notes: [DeviceRecord]) {
        let records = reading.devices
        let now = environment.clock.milliseconds()
        let notes = DeviceActivity.notes(
            own: identity.device, records: records, heads: look.heads, devices: look.devices, now: now, retention)
        var present = records
        if !notes.isEmpty {
            let news = Dictionary(notes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
            let known = Set(records.map(\.id))
            present = records.map { news[$0.id] ?? $0 } + notes.filter { !known.contains($0.id) }
        }
        return (
            DeviceActivity(own: identity.device, records: present, heads: look.heads, now: now, retention), notes
        )
    }

    /// Writes down what a look shows, where it is news.
    /// - Returns: which devices are active, and what the store knows then.
    func noteActivity(_ look: ContainerLook) throws -> (activity: DeviceActivity, reading: StoreReading) {
        let reading = try store.reading()
        let (activity, notes) = presentActivity(look, reading)
        if notes.isEmpty { return (activity, reading) }
        try store.noteHeard(notes)
        return (activity, try store.reading())
    }

    /// What stays in this device's log for another device alone: segments that it has not replayed and that a snapshot
    /// covers.
    func heldBack(
        by peer: DeviceActivity.Peer, _ segments: [OwnSegment], _ reading: StoreReading
    ) -> (segments: Int, bytes: Int) {
        guard peer.state == .active else { return (0, 0) }
        let covered = Compactor.notes(in: reading).snapshot?.covered ?? 0
        let acknowledged = peer.position(of: identity.device).sequence
        let segments = segments.filter { $0.replacedMilliseconds == nil }.dropLast()
            .filter { $0.last <= covered && $0.last > acknowledged }
        return (segments.count, segments.reduce(0) { $0 + $1.bytes })
    }
}
