import FerryCore

/// The relation of a merged snapshot to the store.
struct SnapshotCoverage {
    /// The position replayed by the store, and the position covered by the snapshot.
    let own: VersionVector
    let snapshot: VersionVector
    /// The last backdated changesets of logs (`BackdatedChanges`), as known to each side.
    private let late: (own: [DeviceID: UInt64], snapshot: [DeviceID: UInt64])
    /// Logs in which neither position determines the known writes.
    private let forked: Set<DeviceID>

    init(_ access: StoreAccess, _ manifest: SnapshotManifest) throws {
        forked = try ForkedLogList.all(access.meta)
        own = try access.versionVector()
        snapshot = manifest.vector
        late = (try BackdatedChanges.all(access.meta), manifest.lateChanges)
    }

    /// True if the store has replayed a write in the snapshot.
    func isCovered(_ stamp: Stamp) -> Bool { covers(own, stamp, knownThrough: snapshot, late.snapshot) }

    /// True if the snapshot covers a write in the store.
    func isKnownToSnapshot(_ stamp: Stamp) -> Bool { covers(snapshot, stamp, knownThrough: own, late.own) }

    /// True if `vector` covers a stamp. A log is known up to a time if the other side knows of nothing older still to
    /// come.
    ///
    /// Pre-existing rows share a time, whatever their place in the log. They are covered only by a log known as far as
    /// the other side knows the log.
    private func covers(
        _ vector: VersionVector, _ stamp: Stamp, knownThrough other: VersionVector, _ late: [DeviceID: UInt64]
    ) -> Bool {
        if forked.contains(stamp.device) { return false }
        let known = vector[stamp.device].sequence
        if stamp.time.isKnown { return vector.includes(stamp) && known >= late[stamp.device] ?? 0 }
        return known >= max(other[stamp.device].sequence, 1)
    }
}
