import FerryCore

/// How a snapshot that is merged stands to the store.
struct SnapshotStanding {
    /// What the store has replayed, and what the snapshot covers.
    let own: VersionVector
    let snapshot: VersionVector
    /// The last changesets of logs that hold changes of before the ones that precede them (`LateChanges`), as either knows.
    private let late: (own: [DeviceID: UInt64], snapshot: [DeviceID: UInt64])
    /// Logs of which neither position says which writes are known.
    private let forked: Set<DeviceID>

    init(_ access: StoreAccess, _ manifest: SnapshotManifest) throws {
        forked = try ForkedLogList.all(access.meta)
        own = try access.versionVector()
        snapshot = manifest.vector
        late = (try LateChanges.all(access.meta), manifest.lateChanges)
    }

    /// Whether the store has replayed a write that the snapshot tells of.
    func isCovered(_ stamp: Stamp) -> Bool { covers(own, stamp, knownThrough: snapshot, late.snapshot) }

    /// Whether the snapshot knows a write that the store tells of.
    func isKnownToSnapshot(_ stamp: Stamp) -> Bool { covers(snapshot, stamp, knownThrough: own, late.own) }

    /// A log is known up to a time where whoever tells of the write knows of nothing more in it of before that.
    ///
    /// Rows that were there before a `join` have one time, whatever their place in the log: of those only a log that is
    /// known as far as whoever tells of them knows it is known to hold them.
    private func covers(
        _ vector: VersionVector, _ stamp: Stamp, knownThrough other: VersionVector, _ late: [DeviceID: UInt64]
    ) -> Bool {
        if forked.contains(stamp.device) { return false }
        let known = vector[stamp.device].sequence
        if stamp.time.isKnown { return vector.includes(stamp) && known >= late[stamp.device] ?? 0 }
        return known >= max(other[stamp.device].sequence, 1)
    }
}
