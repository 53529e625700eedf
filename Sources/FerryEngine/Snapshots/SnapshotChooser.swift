import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// Decides when a replica reads a snapshot: at the beginning, and if a log begins later than the next changeset, or is
/// damaged. Also chooses the snapshot.
struct SnapshotChooser {
    let replica: Replica
    let container: Container
    /// True if waiting changes may be published; false in a rehearsal.
    var isPublishing = true
    var progress: ProgressHandler?

    private var store: Store { replica.store }
    private var device: DeviceID { replica.identity.device }

    init(replica: Replica, container: Container, isPublishing: Bool = true, progress: ProgressHandler? = nil) {
        self.replica = replica
        self.container = container
        self.isPublishing = isPublishing
        self.progress = progress
    }

    /// Continues with an unfinished snapshot, and begins with a snapshot if no remote changeset is replayed yet.
    func start(_ report: inout SyncReport) throws {
        if let present = try store.snapshotUnderWay() {
            let entries = try SnapshotCatalog(container).entries()
            if let entry = entries.first(where: { $0.device == present.device && $0.checksum == present.manifest }) {
                let problem = try load(entry, &report)
                if problem == nil || Self.concernsDatabase(problem) { return }
            }
            // The snapshot was removed or damaged: a different snapshot, or the logs, must do.
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
        }
        let vector = try store.versionVector()
        guard vector.positions.keys.allSatisfy({ $0 == device }),
            try container.devices().contains(where: { $0 != device })
        else { return }
        let claims = SnapshotClaims(container, own: device, vector[device])
        for entry in try SnapshotCatalog(container).entries() where tellsNews(entry, vector) {
            if try claims.objection(to: entry) != nil { continue }
            let problem = try load(entry, &report)
            if problem == nil || Self.concernsDatabase(problem) { return }
        }
    }

    /// Reads a snapshot that covers removed or damaged parts of devices' logs.
    /// - Parameters:
    ///   - gaps: for each such device the changeset from which the log is readable again.
    ///   - undelivered: the gaps without a file.
    ///   - problems: receives the reasons why suitable snapshots are unreadable.
    /// - Returns: true if a snapshot was read, so the logs hold more to replay.
    func bridge(
        _ gaps: [DeviceID: UInt64], undelivered: Set<DeviceID> = [], _ report: inout SyncReport,
        _ problems: inout [DeviceID: FerryError]
    ) throws -> Bool {
        let vector = try store.versionVector()
        func bridged(_ entry: SnapshotCatalog.Entry) -> [DeviceID] {
            gaps.filter { device, start in
                let end = entry.manifest.vector[device].sequence
                return end + 1 >= start && end > vector[device].sequence
            }.keys.sorted()
        }
        let entries = try SnapshotCatalog(container).entries().filter { !bridged($0).isEmpty }
        // Among snapshots for the same number of gaps, the snapshot with the most changesets comes first.
        let sorted = entries.enumerated().sorted { left, right in
            let (a, b) = (bridged(left.element).count, bridged(right.element).count)
            return a != b ? a > b : left.offset < right.offset
        }
        let claims = SnapshotClaims(container, own: device, vector[device], undelivered: undelivered)
        for (_, entry) in sorted {
            guard let problem = try claims.objection(to: entry) ?? load(entry, &report) else { return true }
            // A problem of the log itself is the better reason.
            for device in bridged(entry) where problems[device]?.code == .logCollected { problems[device] = problem }
        }
        return false
    }

    /// Reads a snapshot into the store.
    /// - Returns: `nil` after reading the whole snapshot; otherwise the reason: a file is damaged or missing, or this
    ///   database cannot take the snapshot.
    func load(_ entry: SnapshotCatalog.Entry, _ report: inout SyncReport) throws -> FerryError? {
        let loader = SnapshotImporter(
            entry, container, store: store, encode: replica.segmentEncoding(for: replica.identity))
        let total = report.replayed.changes + entry.manifest.objects
        tell(report, of: total)
        do {
            try loader.load(entry.manifest, checksum: entry.checksum, of: entry.device) { outcome in
                report.replayed.changes += outcome.replayed
                report.conflicts += outcome.conflicts
                tell(report, of: total)
            }
            return nil
        } catch let error as FerryError where error.concernsOneFile {
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
            return error
        } catch let error as FerryError where Self.isOfWhatItSays(error) {
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
            return FerryError(
                .damagedFile,
                "The snapshot \(entry.name) of its cannot be read in: \(error.message) Other snapshots and the logs are the way "
                    + "on.", device: entry.device, cause: error)
        } catch let error as FerryError where Self.concernsDatabase(error) {
            // Merged chunks are not merged again once this database is ready.
            return error
        } catch let error as FerryError where error.code == .replayHookFailed && isPublishing {
            // The hook's failure must not hold local changes back.
            if try store.needsPass() {
                _ = try store.pass(replaying: [], encode: replica.segmentEncoding(for: replica.identity))
            }
            try replica.publisher(container).publish(&report, progress, total: nil)
            throw error
        }
    }

    private static func concernsDatabase(_ error: FerryError?) -> Bool {
        error.map { [.incompatibleSchema, .unknownPolicy, .missingFunction].contains($0.code) } ?? false
    }

    /// True if an error comes from the snapshot's content: claims of more changesets of this device than exist, or
    /// content unacceptable to any database.
    private static func isOfWhatItSays(_ error: FerryError) -> Bool {
        [.deviceForked, .database, .internalInconsistency].contains(error.code)
    }

    /// - Parameter total: the changes so far and the snapshot's objects.
    private func tell(_ report: SyncReport, of total: Int) {
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: total))
    }

    /// True if a snapshot covers remote changesets not replayed here.
    private func tellsNews(_ entry: SnapshotCatalog.Entry, _ vector: VersionVector) -> Bool {
        entry.manifest.positions.contains { $0.key != device && $0.value.log.sequence > vector[$0.key].sequence }
    }
}
