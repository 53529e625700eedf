import FerryCore
import FerrySchema

/// Logs written by two copies of a database under the same ID, with an unknown fork position. Lists the logs this
/// database wrote a branch of, or merged all branches of (`ferry_meta`, `forked`).
///
/// The replayed position in such a log does not identify the branch. So neither a position here nor a snapshot's
/// position identifies the known writes of the log (`SnapshotCoverage`).
enum ForkedLogList {
    static func add(_ device: DeviceID, _ meta: MetaTable) throws {
        let known = try all(meta)
        if known.contains(device) { return }
        try meta.set(.forked, json: known.union([device]).map(\.hex).sorted())
    }

    static func all(_ meta: MetaTable) throws -> Set<DeviceID> {
        let known = try meta.json(.forked, as: [String].self) ?? []
        return Set(known.compactMap { DeviceID($0) })
    }
}
