import FerryCore
import FerryMerge

/// Deleted rows that a returning device, or one that was copied or restored, keeps because it wrote to them, or to what
/// refers to them, when it did not know of the deletion.
///
/// The others counted it out when they forgot such deletions, so what it wrote means nothing to them. Once it has replayed
/// what there is, it publishes those rows again whole. `ferry_meta` notes from which of its own writes on this concerns,
/// because the deletion may be in a log that is replayed before or after the snapshot.
struct KeptRows {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// Notes that a snapshot was merged which does not know all that this device wrote.
    func note(_ standing: SnapshotStanding) throws {
        let known = standing.snapshot[access.device]
        if known.sequence >= standing.own[access.device].sequence { return }
        let time = Int64(bitPattern: known.time.rawValue)
        try access.meta.set(.returned, min(time, access.meta.integer(.returned) ?? time))
    }

    /// The objects to be published again, by table.
    /// - Parameter time: of this device's last write that everybody knows.
    func find(since time: HybridTime) throws -> [(table: TrackedTable, objects: [ObjectID])] {
        try access.registry.parentsFirst.map { table in
            var ids: [ObjectID] = []
            try access.connection.forEachRow(
                "SELECT object FROM \(table.objectTable) WHERE deleted IS NOT NULL AND shown <> 0 ORDER BY object"
            ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
            let objects = access.objects(of: table.id)
            return (table, try ids.filter { try isKept(objects.load($0), since: time) })
        }
    }

    private func isKept(_ state: ObjectState, since time: HybridTime) -> Bool {
        if HeldBackRows.isHeldBack(state) { return true }
        let registers = state.registers
        // An insertion after the deletion says all that is needed.
        guard registers.isAlive, let inserted = registers.inserted, let deleted = registers.deleted, inserted < deleted
        else { return false }
        return registers.fields.contains { $0.map { $0.device == access.device && $0.time > time } ?? false }
    }

    /// Writes objects as new rows, as of now, with all that this device knows of them.
    func publishAgain(
        _ ids: [ObjectID], _ table: TrackedTable, _ clock: inout HybridClock, _ changes: inout [TableChanges]
    ) throws -> [TouchedObject] {
        var writer = try CapturedWriter(access, table)
        var touched: [TouchedObject] = []
        for id in ids.sorted() { touched.append(try writer.publishAgain(id, &clock)) }
        if !writer.changes.isEmpty { changes.append(writer.changes.changes) }
        return touched
    }
}

extension Store {
    /// Publishes again what this device keeps of rows whose deletion the others may have forgotten while it was away.
    /// Does nothing where no snapshot was merged since it was last done, and the device has the ID that it had then.
    /// - Parameter isLast: whether everything is replayed, so that it need not be done again.
    /// - Returns: whether there is something new to publish.
    public func publishKeptRows(isLast: Bool, seal: SegmentSealer) throws -> Bool {
        guard try read({ try StoreMeta(connection: $0).integer(.returned) }) != nil else { return false }
        return try passing(seal) { work in
            let access = work.access
            let since = HybridTime(rawValue: UInt64(bitPattern: try access.meta.integer(.returned) ?? 0))
            let kept = KeptRows(access)
            var changes: [TableChanges] = []
            try AppTriggers(access).run {
                var written: [TouchedObject] = []
                for (table, objects) in try kept.find(since: since) where !objects.isEmpty {
                    written += try kept.publishAgain(objects, table, &work.clock, &changes)
                    work.touched.insert(table.id)
                }
                try RowMaintenance(access).settle(written)
            }
            try stage(changes, &work, seal)
            if isLast { try access.meta.remove(.returned) }
            return !changes.isEmpty
        }
    }
}
