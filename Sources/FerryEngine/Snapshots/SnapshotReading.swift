import FerryContainer
import FerryCore
import FerryLog
import FerryStore

/// When a replica reads a snapshot, and which: at its beginning, and where a log begins later than what is next, or is damaged.
struct SnapshotReading {
    let replica: Replica
    let container: Container
    /// Whether what waits here may be published; not in a rehearsal.
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

    /// Goes on with a snapshot that an earlier attempt did not finish, and begins with one where nothing of other devices
    /// is replayed yet.
    func start(_ report: inout SyncReport) throws {
        if let present = try store.snapshotUnderWay() {
            let entries = try SnapshotShelf(container).entries()
            if let entry = entries.first(where: { $0.device == present.device && $0.checksum == present.manifest }) {
                let problem = try load(entry, &report)
                if problem == nil || Self.concernsDatabase(problem) { return }
            }
            // Superseded and removed, or damaged since: another one, or the logs, are the way on.
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
        }
        let vector = try store.versionVector()
        guard vector.positions.keys.allSatisfy({ $0 == device }),
            try container.devices().contains(where: { $0 != device })
        else { return }
        let claims = SnapshotClaims(container, own: device, vector[device])
        for entry in try SnapshotShelf(container).entries() where tellsNews(entry, vector) {
            if try claims.objection(to: entry) != nil { continue }
            let problem = try load(entry, &report)
            if problem == nil || Self.concernsDatabase(problem) { return }
        }
    }

    /// Reads a snapshot in that covers what devices' logs do not have any more, or have damaged.
    /// - Parameters:
    ///   - gaps: for each such device the number from which its log could be read on.
    ///   - problems: told why a snapshot that would do cannot be read.
    /// - Returns: whether one was read, so that there is more to replay.
    func bridge(
        _ gaps: [DeviceID: UInt64], _ report: inout SyncReport, _ problems: inout [DeviceID: FerryError]
    ) throws -> Bool {
        let vector = try store.versionVector()
        func bridged(_ entry: SnapshotShelf.Entry) -> [DeviceID] {
            gaps.filter { device, start in
                let end = entry.manifest.vector[device].sequence
                return end + 1 >= start && end > vector[device].sequence
            }.keys.sorted()
        }
        let entries = try SnapshotShelf(container).entries().filter { !bridged($0).isEmpty }
        // Among those that bridge as many gaps the one that covers most comes first.
        let sorted = entries.enumerated().sorted { left, right in
            let (a, b) = (bridged(left.element).count, bridged(right.element).count)
            return a != b ? a > b : left.offset < right.offset
        }
        let claims = SnapshotClaims(container, own: device, vector[device])
        for (_, entry) in sorted {
            guard let problem = try claims.objection(to: entry) ?? load(entry, &report) else { return true }
            // What is wrong with a log itself is the better reason.
            for device in bridged(entry) where problems[device]?.code == .logCollected { problems[device] = problem }
        }
        return false
    }

    /// Reads a snapshot in.
    /// - Returns: `nil` where all of it was read, otherwise why not: a file of it is damaged or gone, or this database
    ///   cannot take it.
    func load(_ entry: SnapshotShelf.Entry, _ report: inout SyncReport) throws -> FerryError? {
        let loader = SnapshotLoader(entry, container, store: store, seal: replica.sealer(for: replica.identity))
        tell(report)
        do {
            try loader.load(entry.manifest, checksum: entry.checksum, of: entry.device) { outcome in
                report.replayed.changes += outcome.replayed
                report.conflicts += outcome.conflicts
                tell(report)
            }
            return nil
        } catch let error as FerryError where error.concernsOneFile || error.code == .fileNotThereYet {
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
            return error
        } catch let error as FerryError where Self.isOfWhatItSays(error) {
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
            return FerryError(
                .damagedFile,
                "The snapshot \(entry.name) of its cannot be read in: \(error.message) Other snapshots and the logs are the way "
                    + "on.", device: entry.device, cause: error)
        } catch let error as FerryError where Self.concernsDatabase(error) {
            // What was merged so far is not merged again when this database is ready.
            return error
        } catch let error as FerryError where error.code == .replayHookFailed && isPublishing {
            // Local changes are not the hook's business.
            if try store.needsPass() {
                _ = try store.pass(replaying: [], seal: replica.sealer(for: replica.identity))
            }
            try replica.publisher(container).publish(&report, progress, total: nil)
            throw error
        }
    }

    private static func concernsDatabase(_ error: FerryError?) -> Bool {
        error.map { [.incompatibleSchema, .unknownPolicy, .missingFunction].contains($0.code) } ?? false
    }

    /// Whether an error comes of what a snapshot says: it claims more of this device than there is, or what no database can hold.
    private static func isOfWhatItSays(_ error: FerryError) -> Bool {
        [.deviceForked, .database, .internalInconsistency].contains(error.code)
    }

    private func tell(_ report: SyncReport) {
        progress?(SyncProgress(phase: .replaying, completed: report.replayed.changes, total: nil))
    }

    /// Whether a snapshot covers anything of other devices that is not replayed.
    private func tellsNews(_ entry: SnapshotShelf.Entry, _ vector: VersionVector) -> Bool {
        entry.manifest.positions.contains { $0.key != device && $0.value.log.sequence > vector[$0.key].sequence }
    }
}
