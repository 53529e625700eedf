import FerryCore
import FerrySQL
import FerrySchema

extension StoreSession {
    /// Merges what several copies of a database published under the same ID, and writes everything again under this
    /// device's ID.
    /// - Returns: the number of packed changes.
    func mergeBranches(
        _ branches: [Changeset], of device: DeviceID, after position: LogPosition, isForkCertain: Bool
    ) throws -> Int {
        touched.formUnion(try merge(branches, of: device))
        // Nobody counted this device when deletions of an unread branch were forgotten.
        try access.meta.set(.returned, 0)
        try MemberAcknowledgements.begin(access)
        if !isForkCertain { try ForkedLogList.add(device, access.meta) }
        let rewriting = try UnpublishedRestamping(
            access, former: device, PublishedLog(position: position, checksum: nil, isForked: true))
        touched.formUnion(try rewriting.run { try stage($0) })
        return outcome.packed
    }

    /// Replays all branches of a device's log, and restores the position in the log: the position follows a single
    /// branch.
    /// - Returns: the numbers of tables with possibly changed rows.
    func merge(_ branches: [Changeset], of device: DeviceID) throws -> Set<Int> {
        let devices = DeviceTable(access.connection)
        let former = try devices.end(of: device)
        let merged = try AppTriggerSandbox(access).run { try ChangesetApplier(access).apply(branches, &clock) }
        try devices.set(former ?? .init(), of: device)
        return merged.tables
    }
}

/// The merged files and snapshots of logs with several branches (`ferry_meta`).
struct MergedBranches {
    private let meta: MetaTable

    init(_ connection: SQLConnection) { meta = MetaTable(connection: connection) }

    private func all() throws -> [String: [String]] { try meta.json(.branches) ?? [:] }

    /// The merged files and snapshots of a device's log; empty without any.
    func names(of device: DeviceID) throws -> [String] { try all()[device.hex] ?? [] }

    func set(_ names: [String], of device: DeviceID) throws {
        var known = try all()
        known[device.hex] = names
        try meta.set(.branches, json: known)
    }
}
