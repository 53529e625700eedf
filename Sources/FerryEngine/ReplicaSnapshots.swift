import FerryContainer
import FerryCore
import FerryLog
import FerryStore

extension Replica {
    /// Goes on with a snapshot that an earlier attempt did not finish, and begins with one where nothing of other devices
    /// is replayed yet.
    func startFromSnapshot(_ container: Container, _ report: inout SyncReport, _ progress: ProgressHandler?) throws {
        if let present = try store.snapshotUnderWay() {
            let entries = try SnapshotShelf(container).entries()
            if let entry = entries.first(where: { $0.device == present.device && $0.checksum == present.manifest }),
                try load(entry, container, &report, progress)
            {
                return
            }
            // Superseded and removed, or damaged since: another one, or the logs, are the way on.
            try store.abandonSnapshot()
        }
        let vector = try store.versionVector()
        guard vector.positions.keys.allSatisfy({ $0 == identity.device }),
            try container.devices().contains(where: { $0 != identity.device })
        else { return }
        for entry in try SnapshotShelf(container).entries() where Self.tellsNews(entry, vector, identity.device) {
            if try load(entry, container, &report, progress) { return }
        }
    }

    /// Reads a snapshot in that covers what devices' logs do not have any more.
    /// - Parameter collected: for each device whose log begins later, the number of its first changeset there.
    /// - Returns: whether one was read, so that there is more to replay.
    func bridge(
        _ collected: [DeviceID: UInt64], _ container: Container, _ report: inout SyncReport,
        _ progress: ProgressHandler?
    ) throws -> Bool {
        let vector = try store.versionVector()
        func bridged(_ entry: SnapshotShelf.Entry) -> Int {
            collected.filter { device, start in
                let end = entry.manifest.vector[device].sequence
                return end + 1 >= start && end > vector[device].sequence
            }.count
        }
        let entries = try SnapshotShelf(container).entries().filter { bridged($0) > 0 }
        // The order of those that bridge as many gaps stays: the one that covers most first.
        for entry in entries.enumerated().sorted(by: { left, right in
            let (a, b) = (bridged(left.element), bridged(right.element))
            return a != b ? a > b : left.offset < right.offset
        }) {
            if try load(entry.element, container, &report, progress) { return true }
        }
        return false
    }

    /// - Returns: whether all of it was read: not where a file of it is damaged or gone.
    private func load(
        _ entry: SnapshotShelf.Entry, _ container: Container, _ report: inout SyncReport, _ progress: ProgressHandler?
    ) throws -> Bool {
        let loader = SnapshotLoader(entry, container, store: store, seal: sealer(for: identity))
        progress?(Progress(phase: .replaying, completed: report.replayed.changes, total: nil))
        do {
            try loader.load(entry.manifest, checksum: entry.checksum, of: entry.device) { outcome in
                report.replayed.changes += outcome.replayed
                report.conflicts += outcome.conflicts
                progress?(Progress(phase: .replaying, completed: report.replayed.changes, total: nil))
            }
            return true
        } catch let error as FerryError where SnapshotShelf.concernsOneFile(error) || error.code == .fileNotThereYet {
            if try store.snapshotUnderWay() != nil { try store.abandonSnapshot() }
            return false
        }
    }

    /// Whether a snapshot covers anything of other devices that is not replayed.
    private static func tellsNews(
        _ entry: SnapshotShelf.Entry, _ vector: VersionVector, _ device: DeviceID
    ) -> Bool {
        entry.manifest.positions.contains { $0.key != device && $0.value.log.sequence > vector[$0.key].sequence }
    }
}
