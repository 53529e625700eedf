import FerryCore

extension Store {
    /// Takes in what several copies of one database published under one ID, in one transaction, and writes it again under
    /// this device's ID: no reader can follow two branches of a log, and their authors may be gone.
    ///
    /// What is there already changes nothing, so it may be done again, and by several devices: each writes the same, as
    /// soon after its own time as can be told from it (`UnsentRewriting`).
    /// - Parameters:
    ///   - branches: all changesets of the log after `position`, whoever wrote them.
    ///   - device: whose log it is; not this device.
    ///   - position: the last changeset that the branches have in common.
    ///   - isForkCertain: whether it is certain that this is where they part.
    ///   - seal: makes segments of what is written again; they wait in the outbox.
    /// - Returns: the number of changes that were written again, and of those that were pending.
    public func takeInBranches(
        _ branches: [Changeset], of device: DeviceID, after position: LogPosition, isForkCertain: Bool = true,
        seal: SegmentSealer
    ) throws -> Int {
        try enter(tablesOf: branches)
        return try passing(seal) { work in
            let access = work.access
            work.touched.formUnion(try Self.merge(branches, of: device, access, &work.clock))
            // Nobody counted this device when deletions of a branch were forgotten that it did not read.
            try access.meta.set(.returned, 0)
            try CountingDevices.begin(access)
            if !isForkCertain { try ForkedLogList.add(device, access.meta) }
            let rewriting = UnsentRewriting(
                access, former: device, PublishedLog(position: position, checksum: nil, isForked: true))
            work.touched.formUnion(try rewriting.run { try stage($0, &work, seal) })
            return work.outcome.packed
        }
    }

    /// Replays all branches of a device's log, and leaves the position in it as it is: that follows one of them.
    /// - Returns: the numbers of the tables whose rows may have changed.
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

    /// Notes that a device's log has several branches and that nothing tells where they part (`ForkedLogList`).
    public func noteForkedLog(_ device: DeviceID) throws {
        // Mostly it is known, and then nothing is written.
        if try read({ try ForkedLogList.all(StoreMeta(connection: $0)).contains(device) }) { return }
        try note { try ForkedLogList.add(device, StoreMeta(connection: $0)) }
    }

    /// The files of a device's log that were there when its branches were looked for last, and the snapshots that were read for
    /// what they hold of them; empty where they never were.
    public func branchesTakenIn(of device: DeviceID) throws -> [String] {
        try read { try Self.branches(StoreMeta(connection: $0))[device.hex] ?? [] }
    }

    /// Notes which files of a device's log were there when its branches were taken in, and which snapshots were read for them.
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
