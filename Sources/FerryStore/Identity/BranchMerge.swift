import FerryCore

extension Store {
    /// Merges what several copies of a database published under the same ID, in a single transaction, and writes
    /// everything again under this device's ID. No reader can follow two branches of a log, and the authors of the
    /// branches may be gone.
    ///
    /// Known changes have no effect. So the merge may be repeated, also by several devices: each writes the same
    /// changes, at times just after the original times (`UnsentRewriting`).
    /// - Parameters:
    ///   - branches: all changesets of the log after `position`, by any author.
    ///   - device: the log's device; never this device.
    ///   - position: the last common changeset of the branches.
    ///   - isForkCertain: true if the branches certainly part there.
    ///   - seal: encodes the repeated changes as segments; these wait in the outbox.
    /// - Returns: the number of repeated and of pending changes.
    public func takeInBranches(
        _ branches: [Changeset], of device: DeviceID, after position: LogPosition, isForkCertain: Bool = true,
        seal: SegmentSealer
    ) throws -> Int {
        try enter(tablesOf: branches)
        return try passing(seal) { work in
            let access = work.access
            work.touched.formUnion(try Self.merge(branches, of: device, access, &work.clock))
            // Nobody counted this device when deletions of an unread branch were forgotten.
            try access.meta.set(.returned, 0)
            try CountingDevices.begin(access)
            if !isForkCertain { try ForkedLogList.add(device, access.meta) }
            let rewriting = UnsentRewriting(
                access, former: device, PublishedLog(position: position, checksum: nil, isForked: true))
            work.touched.formUnion(try rewriting.run { try stage($0, &work, seal) })
            return work.outcome.packed
        }
    }

    /// Replays all branches of a device's log, and restores the position in the log: the position follows a single
    /// branch.
    /// - Returns: the numbers of tables with possibly changed rows.
    static func merge(
        _ branches: [Changeset], of device: DeviceID, _ access: StoreAccess, _ clock: inout HybridClock
    ) throws -> Set<Int> {
        let id = FieldValue.blob(device.bytes[...])
        let former = try access.connection.rows("SELECT sequence, time, checksum FROM ferry_device WHERE id = ?", id)
        let merged = try AppTriggers(access).run { try ChangesetApplier(access).apply(branches, &clock) }
        try access.connection.execute(
            "UPDATE ferry_device SET sequence = ?, time = ?, checksum = ? WHERE id = ?",
            former.first.map { Array($0) + [id] } ?? [.integer(0), .integer(0), .null, id])
        return merged.tables
    }

    /// Records a device's log as having branches with an unknown fork position (`ForkedLogList`).
    public func noteForkedLog(_ device: DeviceID) throws {
        // Usually the log is known already, and nothing is written.
        if try read({ try ForkedLogList.all(StoreMeta(connection: $0)).contains(device) }) { return }
        try note { try ForkedLogList.add(device, StoreMeta(connection: $0)) }
    }

    /// The files of a device's log present at the last search for branches, and the snapshots read for them; empty
    /// before the first search.
    public func branchesTakenIn(of device: DeviceID) throws -> [String] {
        try read { try Self.branches(StoreMeta(connection: $0))[device.hex] ?? [] }
    }

    /// Records the files of a device's log present when its branches were merged, and the snapshots read for them.
    public func noteBranchesTakenIn(_ names: [String], of device: DeviceID) throws {
        try note { connection in
            let meta = StoreMeta(connection: connection)
            var known = try Self.branches(meta)
            known[device.hex] = names
            try meta.set(.branches, json: known)
        }
    }

    private static func branches(_ meta: StoreMeta) throws -> [String: [String]] {
        try meta.json(.branches) ?? [:]
    }
}
