import FerryCore
import FerryMerge

/// Merges the changes of a batch into one table's state, object by object in the order of their IDs, and writes the rows
/// that nothing else depends on.
struct TableMerge {
    private let parts: [ChangesetPart]
    private let objects: ObjectTable
    private let merging: StateMerge
    private let rows: MergedRows
    private let snapshot: SnapshotStanding?
    /// Whether no object of the table was known before, and none becomes known but by this merge: what references lead to
    /// that no foreign key checks may get a state before it is merged.
    private let isNew: Bool

    /// What the rules may have to look at.
    var touched: [TouchedObject] { rows.touched }
    /// Objects that died and still have their rows.
    var deletions: [TouchedObject] { rows.deletions }

    /// An operation's place in the batch.
    private struct Entry {
        var object: ObjectID
        var time: HybridTime
        var part: Int
        var operation: Int
    }

    init(
        _ access: StoreAccess, _ table: TrackedTable, _ parts: [ChangesetPart], arriving: [Int: Set<ObjectID>],
        from snapshot: SnapshotStanding? = nil
    ) throws {
        self.parts = parts
        self.snapshot = snapshot
        objects = access.objects(of: table.id)
        merging = StateMerge(access, table)
        isNew = try !table.hasUncheckedReferences && objects.isEmpty()
        var dying: Set<ObjectID> = []
        for part in parts where table.isMapped {
            for operation in part.changes.operations where operation.kind == .delete { dying.insert(operation.object) }
        }
        rows = try MergedRows(access, table, dying: dying, arriving: arriving)
    }

    func run() throws {
        var entries: [Entry] = []
        entries.reserveCapacity(parts.reduce(0) { $0 + $1.changes.operations.count })
        for (part, content) in parts.enumerated() {
            for (index, operation) in content.changes.operations.enumerated() {
                entries.append(Entry(object: operation.object, time: operation.time, part: part, operation: index))
            }
        }
        // One part is in order already.
        if parts.count > 1 {
            entries.sort { left, right in
                if left.object != right.object { return left.object < right.object }
                if left.time != right.time { return left.time < right.time }
                return left.part != right.part ? left.part < right.part : left.operation < right.operation
            }
        }
        var start = 0
        while start < entries.count {
            var end = start + 1
            while end < entries.count, entries[end].object == entries[start].object { end += 1 }
            try merge(entries[start..<end])
            start = end
        }
    }

    private func merge(_ entries: ArraySlice<Entry>) throws {
        guard let first = entries.first else { return }
        var merge = ObjectMerge(
            try isNew ? objects.new(first.object) : objects.load(first.object), width: objects.table.columns.count)
        let isKnown = merge.state.registers.newest != nil
        // What this device knows and has no more was deleted and collected here.
        if snapshot != nil, !isKnown, entries.allSatisfy({ isCovered($0) }) { return }
        var isNews = false
        for entry in entries {
            if snapshot != nil, isKnown, isCovered(entry), !carriesParts(entry) { continue }
            let part = parts[entry.part]
            try merging.apply(part.changes.operations[entry.operation], part, &merge)
            isNews = true
        }
        if isNews { try rows.write(&merge) }
    }

    /// Whether an operation of a snapshot is one that this device has replayed.
    private func isCovered(_ entry: Entry) -> Bool {
        guard let snapshot else { return false }
        let part = parts[entry.part]
        return snapshot.isCovered(Stamp(time: part.changes.operations[entry.operation].time, device: part.device))
    }

    /// Whether an operation carries parts of registers, which may tell of other devices' writes too.
    private func carriesParts(_ entry: Entry) -> Bool {
        let part = parts[entry.part]
        if part.payloads.isEmpty { return false }
        return part.payloads[part.changes.operations[entry.operation].shape].contains { $0 != nil }
    }
}
