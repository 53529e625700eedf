import FerryCore
import FerryMerge

/// Merges the changes of a batch into one table's state, object by object in the order of their IDs, and writes the rows
/// that nothing else depends on.
struct TableMerge {
    private let parts: [ChangesetPart]
    private let objects: ObjectTable
    private let merging: StateMerge
    private let rows: MergedRows

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
        _ access: StoreAccess, _ table: TrackedTable, _ parts: [ChangesetPart], arriving: [Int: Set<ObjectID>]
    ) throws {
        self.parts = parts
        objects = access.objects(of: table.id)
        merging = StateMerge(access, table)
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
        entries.sort { left, right in
            if left.object != right.object { return left.object < right.object }
            if left.time != right.time { return left.time < right.time }
            return left.part != right.part ? left.part < right.part : left.operation < right.operation
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
        var merge = ObjectMerge(try objects.load(first.object))
        for entry in entries {
            let part = parts[entry.part]
            try merging.apply(part.changes.operations[entry.operation], part, &merge)
        }
        try rows.write(&merge)
    }
}
