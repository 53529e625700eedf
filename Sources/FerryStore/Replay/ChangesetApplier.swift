import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Replays remote changesets: merges their registers into the state and projects the rows.
///
/// The caller's transaction has foreign keys and capture off. Changesets are merged object by object, in the order of
/// IDs, whatever their number: many small changesets cost as much as a single large changeset.
struct ChangesetApplier {
    let access: StoreAccess
    private var connection: SQLConnection { access.connection }

    init(_ access: StoreAccess) { self.access = access }

    struct Outcome {
        var changes = 0
        var conflicts = 0
        /// Numbers of tables with possibly changed rows.
        var tables: Set<Int> = []
        /// Objects with a deletion to write again, because a device takes their insertion for a new row (`RepeatedDeletions`).
        var deletionsToRepeat: Set<RowToken> = []
    }

    /// Leaves out insertions and updates of objects without any state: such objects were deleted and collected.
    private func withoutForgotten(_ changes: TableChanges, _ table: TrackedTable) throws -> TableChanges {
        var changes = changes
        try changes.operations.removeAll { operation in
            try operation.kind != .delete
                && access.connection.count(
                    "SELECT EXISTS(SELECT 1 FROM \(table.objectTable) WHERE object = ?)",
                    .blob(operation.object.bytes[...])) == 0
        }
        return changes
    }

    /// Replays changesets, consecutive for each device and following the replayed position.
    /// - Parameters:
    ///   - snapshot: for parts of a snapshot: the relation of snapshot and store. Then no device's position moves.
    ///   - movesPositions: false for this device's own changesets, staged by the caller, and for parts of changesets.
    func apply(
        _ changesets: [Changeset], _ clock: inout HybridClock, from snapshot: SnapshotCoverage? = nil,
        movesPositions: Bool = true
    ) throws -> Outcome {
        var outcome = Outcome()
        let wall = access.clock.milliseconds()
        let conflictsBefore = access.conflicts.recorded
        var work: [Int: [ChangesetPart]] = [:]
        var positions = ReplayedPositions(access)
        for changeset in changesets {
            clock.observe(changeset.time, wallMilliseconds: wall)
            let preceding = snapshot == nil && movesPositions ? try positions.note(changeset) : .zero
            for changes in changeset.tables {
                guard let table = access.registry.table(named: changes.name, changes.identity) else {
                    throw FerryError(.internalInconsistency, "The table \(changes.name) was not entered before replay.")
                }
                let changes = try changeset.isReplayed ? withoutForgotten(changes, table) : changes
                let part = ChangesetPart(changeset, changes, table, after: work[table.id]?.last)
                part.precedingTime = preceding
                work[table.id, default: []].append(part)
                outcome.changes += changes.operations.count
                outcome.tables.insert(table.id)
            }
        }
        try positions.save()
        let arriving = Self.arriving(work.filter { access.registry[$0.key].hasUncheckedReferences })
        let batch = ReplayBatch(arriving: arriving, newKeys: BatchKeyCache(), snapshot: snapshot)
        var touched: [TouchedObject] = []
        var deletions: [[DyingRow]] = []
        for table in access.registry.parentsFirst {
            guard let parts = work[table.id] else { continue }
            let merge = try TableMerge(access, table, parts, of: batch)
            try merge.run()
            touched += merge.touched
            outcome.deletionsToRepeat.formUnion(merge.deletionsToRepeat.map { RowToken(table: table.id, id: $0) })
            deletions.append(merge.deletions)
        }
        // Children are removed before their parents, so a parent finds no child left. (Rows nothing can refer to are
        // gone already.)
        for group in deletions.reversed() { touched += try RowRemoval(access).remove(group) }
        (work, deletions) = ([:], [])
        try RowProjector(access).settle(&touched)
        outcome.conflicts = access.conflicts.recorded - conflictsBefore
        return outcome
    }

    private static func arriving(_ work: [Int: [ChangesetPart]]) -> [Int: Set<ObjectID>] {
        work.mapValues { parts in
            Set(parts.flatMap { $0.operations.filter { $0.kind == .insert }.map(\.object) })
        }
    }
}

/// What the merges of a batch's tables share.
struct ReplayBatch {
    /// Objects the batch inserts into tables referred to by unchecked references, by table.
    let arriving: [Int: Set<ObjectID>]
    let newKeys: BatchKeyCache
    /// For parts of a snapshot: the relation of snapshot and store.
    let snapshot: SnapshotCoverage?
}

/// A changeset's changes to a table, with columns translated into registered numbers.
final class ChangesetPart {
    let device: DeviceID
    let sequence: UInt64
    let context: VersionVector
    /// Sorted by object ID; an object's own in the order of their times.
    let operations: [ObjectOperation]
    /// For each shape, the registry's numbers of its columns.
    let shapes: [[Int]]
    /// The payload kinds of each shape's columns; empty if the changeset has no payloads.
    let payloads: [[PayloadKind?]]
    /// The time of the device's log before the changeset; zero where unknown.
    @exclusivity(unchecked) var precedingTime = HybridTime.zero
    /// The author's columns and shapes.
    private let authors: (columns: [String], shapes: [[Int]])
    /// The values, or their source.
    private let values: [FieldValue]
    private let source: (any ChangeValueSource)?

    /// - Parameter former: a preceding part of the same table, which usually has the same columns.
    init(_ changeset: Changeset, _ changes: TableChanges, _ table: TrackedTable, after former: ChangesetPart? = nil) {
        device = changeset.device
        context = changeset.context
        authors = (changes.columns, changes.shapes)
        operations = changes.operations
        values = changes.values
        source = changes.source
        if let former, former.authors == authors {
            shapes = former.shapes
        } else {
            let numbers = changes.columns.map { table.columnID(travelling: $0) }
            shapes = changes.shapes.map { $0.map { numbers[$0] ?? -1 } }
        }
        sequence = changeset.sequence
        payloads = changes.payloads.isEmpty ? [] : changes.shapes.map { $0.map { changes.payload(of: $0) } }
    }

    /// True for a write that is no later than the log before the changeset (`BackdatedChanges`).
    func isBackdated(_ stamp: Stamp) -> Bool {
        precedingTime.isKnown && stamp.time <= precedingTime && stamp.time.isKnown
    }

    /// True if a device inserted an object, and the author did not know: the author of a deletion does not wait for the device before it
    /// forgets the deletion.
    func isUnaware(of insertion: Stamp?, by device: DeviceID) -> Bool {
        insertion.map { $0.device == device && !context.includes($0) } ?? false
    }

    /// The values of an operation, in the order of its shape's columns.
    func values(of operation: ObjectOperation) -> ArraySlice<FieldValue> {
        let indices = operation.firstValue..<operation.firstValue + shapes[operation.shape].count
        return source?.values(at: indices) ?? values[indices]
    }
}
