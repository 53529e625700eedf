import FerryCore
import FerryMerge
import FerrySchema

/// Loads chunks into a store without objects. States are written as they come, in the order of their IDs, without
/// lookups. Rows on which nothing depends are written too; the rules do the rest.
struct BulkSnapshotLoad {
    let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// - Throws: `damagedFile` for an unreadable register.
    func load(_ chunks: [SnapshotChunk]) throws -> ChangesetApplier.Outcome {
        var outcome = ChangesetApplier.Outcome()
        let conflictsBefore = access.conflicts.recorded
        let byTable = Dictionary(grouping: chunks) { access.registry.table(named: $0.table, $0.identity)?.id ?? -1 }
        var arriving: [Int: Set<ObjectID>] = [:]
        for (number, chunks) in byTable where access.registry.tables[number]?.hasUncheckedReferences ?? false {
            arriving[number] = Set(chunks.flatMap(\.objects).filter { $0.inserted != nil }.map(\.id))
        }
        let newKeys = BatchKeyCache()
        var touched: [TouchedObject] = []
        for table in access.registry.parentsFirst {
            guard let chunks = byTable[table.id] else { continue }
            let references = ReferenceCache(access, table, newKeys)
            let rows = try MergedRows(access, table, among: .init(arriving: arriving), references)
            let waiting = try BulkRowInserter(access, table, references).map { BulkRowBuffer<SnapshotChunk.Object>($0) }
            for chunk in chunks {
                try write(chunk, table, rows, waiting)
                outcome.changes += chunk.objects.count
            }
            outcome.tables.insert(table.id)
            touched += rows.touched
        }
        try RowProjector(access).settle(touched)
        outcome.conflicts = access.conflicts.recorded - conflictsBefore
        return outcome
    }

    private func write(
        _ chunk: SnapshotChunk, _ table: TrackedTable, _ rows: MergedRows,
        _ waiting: BulkRowBuffer<SnapshotChunk.Object>?
    ) throws {
        let columns = chunk.columns.map { table.columnID(travelling: $0.name) }
        // Registers with more than a value are left to `merge`, like unknown columns.
        let plain = chunk.shapes.map { $0.map { chunk.columns[$0].isRegister ? -1 : columns[$0] ?? -1 } }
        func writeAlone(_ object: SnapshotChunk.Object) throws {
            var merge = try merge(object, of: chunk, table, columns)
            try rows.write(&merge)
            waiting?.note(key: merge.state.key.first)
        }
        for object in chunk.objects {
            if let waiting, let insertion = Self.insertion(object, of: chunk, plain[object.shape]),
                try waiting.take(object, insertion, writeAlone: writeAlone)
            {
                continue
            }
            try waiting?.write(alone: writeAlone)
            try writeAlone(object)
        }
        try waiting?.write(alone: writeAlone)
    }

    /// An object inserted once and not written since; `nil` for any different object.
    private static func insertion(
        _ object: SnapshotChunk.Object, of chunk: SnapshotChunk, _ columns: [Int]
    ) -> BulkRowInserter.Insertion? {
        guard let inserted = object.inserted, object.deleted == nil, object.earlierDeletions.isEmpty else { return nil }
        let cells = chunk.cells(of: object)
        guard cells.allSatisfy({ $0.stamp == inserted }) else { return nil }
        return BulkRowInserter.Insertion(
            object: object.id, stamp: inserted, key: object.key, columns: columns, values: cells.map(\.content)[...])
    }

    private func merge(
        _ object: SnapshotChunk.Object, of chunk: SnapshotChunk, _ table: TrackedTable, _ columns: [Int?]
    ) throws -> ObjectMerge {
        let objects = access.objects(of: table.id)
        // The target of unchecked references may have a key already.
        var merge = ObjectMerge(
            table.hasUncheckedReferences ? try objects.load(object.id) : objects.new(object.id),
            width: table.columns.count)
        var fields: [Stamp?] = Array(repeating: nil, count: table.columns.count)
        for (place, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
            guard let column = columns[place] else { continue }
            fields[column] = cell.stamp
            let policy = table.columns[column].policy
            guard chunk.columns[place].isRegister || policy != .lastWriterWins else {
                merge.won[column] = cell.content
                continue
            }
            var register = ColumnRegister(plain: StampedValue(cell.stamp, cell.content))
            if chunk.columns[place].isRegister { register = try SnapshotOperations.register(cell) }
            merge.state.keep(register, column, policy, newest: cell.stamp)
            merge.won[column] =
                register.shown(under: policy, access.hooks.function(for: policy)) ?? register.plain?.value
        }
        merge.state.registers = ObjectRegisters(
            inserted: object.inserted, deleted: object.deleted, earlierDeletions: object.earlierDeletions,
            fields: fields)
        merge.state.registers.deletionWins = table.deletionWins
        if object.inserted != nil, let key = object.key {
            merge.state.givenKey = key
            merge.state.kept.key = key
        }
        return merge
    }
}
