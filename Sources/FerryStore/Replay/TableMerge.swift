import FerryCore
import FerryMerge
import FerrySchema

/// Merges a batch's changes into a table's state, object by object in the order of IDs, and writes the rows on which
/// nothing depends.
///
/// Invariants:
/// - `gathered` holds all operations of consecutive objects, in order: at most `ahead.number` objects, or a single
///   object without `ahead`.
/// - Nothing is written to the table while items wait in `waiting`, except by `waiting`.
final class TableMerge {
    private let parts: [ChangesetPart]
    private let objects: ObjectTable
    private let merging: StateMerge
    private let rows: MergedRows
    /// The bulk insert of new rows; `nil` if not worthwhile, or if rows may concern further rows.
    private let waiting: BulkRowBuffer<Entry>?
    /// Reads states ahead; `nil` if the table was empty, or merging an object may write a different object's state or
    /// row.
    private let ahead: StatePrefetcher?
    private let fastColumns: FastUpdateColumns
    private let fastUpdates: FastUpdates?
    private let fastDeletions: FastDeletions?
    private let references: ReferenceCache
    /// The columns read ahead that hold references.
    @exclusivity(unchecked) private var referringColumns: [Int] = []
    /// The operations to merge next: all operations of some objects.
    @exclusivity(unchecked) private var gathered: [Entry] = []
    @exclusivity(unchecked) private var gatheredObjects = 0
    private let snapshot: SnapshotCoverage?
    /// True if the table was empty, and only this merge adds objects. Targets of unchecked references may get a state
    /// before they are merged.
    private let isNew: Bool
    /// The last object known before; all objects behind are unknown.
    private let lastKnown: ObjectID?

    /// Objects the rules may have to check.
    var touched: [TouchedObject] { rows.touched }
    /// Deleted objects that still have their rows.
    var deletions: [DyingRow] { rows.deletions }
    /// Deleted objects with an insertion that a device without memory of the deletion takes, or will take, for a new row.
    @exclusivity(unchecked) private(set) var deletionsToRepeat: Set<ObjectID> = []
    private let device: DeviceID

    /// An operation's position in the batch.
    private struct Entry {
        var object: ObjectID
        var time: HybridTime
        var part: Int
        var operation: Int
    }

    init(
        _ access: StoreAccess, _ table: TrackedTable, _ parts: [ChangesetPart], of batch: ReplayBatch
    ) throws {
        self.parts = parts
        snapshot = batch.snapshot
        device = access.device
        objects = access.objects(of: table.id)
        merging = StateMerge(access, table)
        isNew = try !table.hasUncheckedReferences && objects.isEmpty()
        references = ReferenceCache(access, table, batch.newKeys)
        // Unchecked references may reserve keys for further objects.
        let isIndependent = !table.hasUncheckedReferences
        rows = try MergedRows(
            access, table, among: .init(dying: DyingObjects(table.isMapped ? parts : []), arriving: batch.arriving),
            references,
            isIndependent: isIndependent)
        // No row is written if all of them wait for a different process.
        let isWaiting = access.waiting.contains(table.id)
        let isWorthwhile = !isWaiting && parts.reduce(0) { $0 + $1.operations.count } >= access.newRowsAtOnce
        waiting = try isWorthwhile ? BulkRowInserter(access, table, references).map { BulkRowBuffer($0) } : nil
        lastKnown = try waiting == nil || isNew ? nil : objects.last()
        fastColumns = FastUpdateColumns(access, table, rows.sensitive)
        fastUpdates =
            snapshot == nil && !isWaiting
            ? FastUpdates(access, table, fastColumns, rows, merging.conflicts) : nil
        let areAnyDeleted = parts.contains { $0.operations.contains { $0.kind == .delete } }
        fastDeletions =
            try snapshot == nil && !isNew && areAnyDeleted ? FastDeletions(deciding: access, table) : nil
        let readsAhead = !isNew && isIndependent && access.fastPaths.contains(.statePrefetch)
        ahead = readsAhead ? StatePrefetcher(objects, atOnce: access.prefetchedStates) : nil
        access.fastPathLog.record(
            .statePrefetch, isTaken: readsAhead,
            otherwise: isNew ? .empty : isIndependent ? .off : .uncheckedReferences)
    }

    func run() throws {
        if parts.count == 1 { try runOnePart() } else { try runSorted() }
        try mergeGathered()
        try waiting?.write { try merge($0) }
        try rows.finish()
        fastDeletions?.finish()
        try merging.conflicts.finish()
    }

    /// A single part is in order already.
    private func runOnePart() throws {
        let operations = parts[0].operations
        for index in operations.indices {
            let (object, time) = (operations[index].object, operations[index].time)
            try gather(Entry(object: object, time: time, part: 0, operation: index))
        }
    }

    private func runSorted() throws {
        var entries: [Entry] = []
        entries.reserveCapacity(parts.reduce(0) { $0 + $1.operations.count })
        for (part, content) in parts.enumerated() {
            for (index, operation) in content.operations.enumerated() {
                entries.append(Entry(object: operation.object, time: operation.time, part: part, operation: index))
            }
        }
        entries.sort { left, right in
            if left.object != right.object { return left.object < right.object }
            if left.time != right.time { return left.time < right.time }
            return left.part != right.part ? left.part < right.part : left.operation < right.operation
        }
        for entry in entries { try gather(entry) }
    }

    /// Adds the next operation, in the order of objects and of their operations.
    private func gather(_ entry: Entry) throws {
        if let last = gathered.last, last.object != entry.object {
            gatheredObjects += 1
            if gatheredObjects == ahead?.number ?? 1 { try mergeGathered() }
        }
        gathered.append(entry)
    }

    private func mergeGathered() throws {
        if let ahead { try expect(gathered, of: ahead) }
        var start = 0
        while start < gathered.count {
            var end = start + 1
            while end < gathered.count, gathered[end].object == gathered[start].object { end += 1 }
            try mergeOrTake(gathered[start..<end])
            start = end
        }
        gathered.removeAll(keepingCapacity: true)
        gatheredObjects = 0
    }

    /// Announces the next objects to merge, and the row values needed: the former values of updated columns, if all
    /// updates have the same columns.
    private func expect(_ entries: [Entry], of ahead: StatePrefetcher) throws {
        var expected: [ObjectID] = []
        expected.reserveCapacity(entries.count)
        var updated: [Int]?
        var isUniform = true
        var areAnyDeleted = false
        for entry in entries {
            let part = parts[entry.part]
            let operation = part.operations[entry.operation]
            // Most inserted objects are unknown.
            if operation.kind == .insert { continue }
            if expected.last != entry.object { expected.append(entry.object) }
            if operation.kind == .delete { areAnyDeleted = true }
            guard operation.kind == .update, isUniform else { continue }
            let columns = part.shapes[operation.shape]
            if let updated { isUniform = updated == columns } else { updated = columns }
        }
        let columns = isUniform ? (updated ?? []).sorted() : []
        let arePlain = try !columns.isEmpty && fastColumns.contain(columns)
        referringColumns = arePlain ? columns.filter { objects.table.columns[$0].reference != nil } : []
        ahead.expect(
            expected, columns: arePlain ? columns : [],
            takesEncoded: arePlain && fastUpdates != nil || areAnyDeleted && fastDeletions != nil)
    }

    /// - Parameter entries: all operations of an object.
    private func mergeOrTake(_ entries: ArraySlice<Entry>) throws {
        if entries.count == 1, let only = entries.first, try take(only) { return }
        try waiting?.write { try merge($0) }
        try merge(entries)
    }

    /// Adds the insertion of an unknown object to the bulk insert.
    /// - Returns: true if added.
    private func take(_ entry: Entry) throws -> Bool {
        let part = parts[entry.part]
        guard let waiting, part.payloads.isEmpty else { return false }
        // Asked first, because most operations on known objects are no insertions, and an operation is a copy.
        if part.operations[entry.operation].kind != .insert { return false }
        let operation = part.operations[entry.operation]
        guard snapshot == nil || !isCovered(entry), try isUnknown(entry.object)
        else { return false }
        let insertion = BulkRowInserter.Insertion(
            object: operation.object, stamp: Stamp(time: operation.time, device: part.device),
            key: operation.key, columns: part.shapes[operation.shape], values: part.values(of: operation))
        return try waiting.take(entry, insertion) { try merge($0) }
    }

    /// True if an object is unknown.
    private func isUnknown(_ object: ObjectID) throws -> Bool {
        if isNew { return true }
        // Targets of unchecked references may be known by now.
        if objects.table.hasUncheckedReferences { return false }
        return try lastKnown.map { $0 < object } ?? false || objects.place(of: object) == nil
    }

    private func merge(_ entry: Entry) throws { try merge([entry]) }

    private func merge(_ entries: ArraySlice<Entry>) throws {
        guard let first = entries.first else { return }
        let known = try ahead?.take(first.object)
        if entries.count == 1, let known, try update(known, first) || delete(known, first) { return }
        var merge = try begin(first.object, known)
        let isKnown = snapshot != nil && merge.state.registers.newest != nil
        var isNews = false
        for entry in entries {
            // An object known to this device and gone was deleted and collected here. Later writes are merged alone, as
            // from a log. Only the author, once informed of the deletion, knows the later of both.
            if isCovered(entry), !isKnown || !carriesParts(entry) { continue }
            let part = parts[entry.part]
            try merging.apply(part.operations[entry.operation], part, &merge)
            isNews = true
        }
        guard isNews else { return }
        if mustRepeatDeletion(merge, entries) { deletionsToRepeat.insert(first.object) }
        try rows.write(&merge)
        waiting?.note(key: merge.state.key.first)
    }

    /// Merges an object's only operation by the fast path.
    /// - Returns: false if the general path is needed.
    private func update(_ known: StatePrefetcher.Known, _ entry: Entry) throws -> Bool {
        guard let fastUpdates, case .plain(let state) = known.state else { return false }
        let part = parts[entry.part]
        if part.operations[entry.operation].kind == .delete { return false }
        let operation = part.operations[entry.operation]
        guard try fastUpdates.merge(operation, part, into: state, row: known.row) else { return false }
        waiting?.note(key: state.key.first)
        return true
    }

    /// Merges an object's only operation by the fast path for deletions. The row goes at once, or after the merge of the
    /// batch if rows may refer to the row.
    /// - Returns: false if the general path is needed.
    private func delete(_ known: StatePrefetcher.Known, _ entry: Entry) throws -> Bool {
        guard let fastDeletions, case .plain(let state) = known.state else { return false }
        let part = parts[entry.part]
        let operation = part.operations[entry.operation]
        guard operation.kind == .delete else { return false }
        let deletion = Stamp(time: operation.time, device: part.device)
        guard try fastDeletions.takes(state, deletion, part) else { return false }
        if objects.table.incoming.isEmpty { return try fastDeletions.remove(state, deletion) }
        rows.delete(state, deletion)
        return true
    }

    /// True if the deletion of an object must be written again, behind an insertion that some device reads without the deletion:
    /// - The author of an older insertion had replayed the deletion, and has forgotten the deletion since.
    /// - The author of the deletion may have forgotten the deletion before this device's insertion arrives there: the author did not
    ///   know this device's insertion.
    private func mustRepeatDeletion(_ merge: ObjectMerge, _ entries: ArraySlice<Entry>) -> Bool {
        guard let deleted = merge.state.registers.deleted, !merge.state.registers.isAlive else { return false }
        if deleted == merge.before.registers.deleted {
            return entries.contains { isInsertion($0, inSpiteOf: deleted) }
        }
        guard let inserted = merge.before.registers.inserted, deleted.device != device else { return false }
        let deletion = entries.first { parts[$0.part].device == deleted.device && $0.time == deleted.time }
        return deletion.map { parts[$0.part].isUnaware(of: inserted, by: device) } ?? false
    }

    /// True for an insertion older than a deletion, of a device that has replayed the deletion.
    private func isInsertion(_ entry: Entry, inSpiteOf deletion: Stamp) -> Bool {
        let part = parts[entry.part]
        return part.operations[entry.operation].kind == .insert && entry.time < deletion.time
            && (part.device == deletion.device || part.context.includes(deletion))
    }

    private func begin(_ object: ObjectID, _ known: StatePrefetcher.Known?) throws -> ObjectMerge {
        let width = objects.table.columns.count
        if isNew { return ObjectMerge(objects.new(object), width: width) }
        guard let known else { return ObjectMerge(try objects.load(object), width: width) }
        var former = known.row
        for column in referringColumns {
            if let local = former[column] { former[column] = try references.portable(local, column) }
        }
        return ObjectMerge(try objects.state(of: known), former: former, width: width)
    }

    /// True if this device has replayed a snapshot's operation.
    private func isCovered(_ entry: Entry) -> Bool {
        guard let snapshot else { return false }
        let part = parts[entry.part]
        return snapshot.isCovered(Stamp(time: part.operations[entry.operation].time, device: part.device))
    }

    /// True if an operation carries parts of registers: they may contain further devices' writes.
    private func carriesParts(_ entry: Entry) -> Bool {
        let part = parts[entry.part]
        if part.payloads.isEmpty { return false }
        return part.payloads[part.operations[entry.operation].shape].contains { $0 != nil }
    }
}

/// The objects deleted by a batch. Few batches ask for them.
final class DyingObjects {
    private let parts: [ChangesetPart]
    private lazy var objects: Set<ObjectID> = {
        var objects: Set<ObjectID> = []
        for part in parts {
            for operation in part.operations where operation.kind == .delete { objects.insert(operation.object) }
        }
        return objects
    }()

    init(_ parts: [ChangesetPart]) { self.parts = parts }

    var areAny: Bool { !parts.isEmpty && !objects.isEmpty }

    func contains(_ object: ObjectID) -> Bool { objects.contains(object) }
}
