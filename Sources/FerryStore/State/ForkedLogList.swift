import FerryCore

/// Logs that two copies of a database wrote under one ID, and of which nothing tells where the branches part: those of which
/// this database wrote one, or took in all (`ferry_meta`, `forked`).
///
/// How far such a log is replayed does not say on which branch: neither a position here nor one in a snapshot tells which of
/// its writes are known (`SnapshotStanding`).
enum ForkedLogList {
    static func add(_ device: DeviceID, _ meta: StoreMeta) throws {
        let known = try all(meta)
        if known.contains(device) { return }
        try meta.set(.forked, json: known.union([device]).map(\.hex).sorted())
    }

    static func all(_ meta: StoreMeta) throws -> Set<DeviceID> {
        let known = try meta.json(.forked, as: [String].self) ?? []
        return Set(known.compactMap { DeviceID($0) })
    }
}
