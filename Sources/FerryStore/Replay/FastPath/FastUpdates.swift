import FerryCore
import FerryMerge
import FerrySchema

/// Fast path: merges common updates directly into encoded states. The update must be later than the present stamps, and
/// the object's state plain. Its columns concern nothing else, or are references with shown former and new targets
/// (`FastUpdateColumns`). All remaining updates go to `StateMerge` and `MergedRows`, with the same result.
struct FastUpdates {
    private let columns: FastUpdateColumns
    private let references: ReferenceCache
    private let writer: RowWriter
    private let checks: ObjectChecksums
    private let devices: DeviceNumbers
    private let stamps: BulkStampWriter
    private let conflicts: ConflictLog
    private let table: Int
    private let log: FastPathLog

    /// A value lost to a concurrent write.
    private struct Loss {
        var column: Int
        var lost: FieldValue
        var stamp: Stamp
        var kept: FieldValue
    }

    /// Maximum number of columns in a fast update.
    private static let maximumColumns = 32

    /// - Returns: `nil` if merging an object may concern further objects, or columns have policies.
    init?(
        _ access: StoreAccess, _ table: TrackedTable, _ columns: FastUpdateColumns, _ rows: MergedRows,
        _ conflicts: ConflictLog
    ) {
        guard access.fastPaths.contains(.fastUpdates), let stamps = rows.stamps, table.isLocal else {
            let isOff = !access.fastPaths.isSuperset(of: [.fastUpdates, .stampBatches])
            access.fastPathLog.decline(.fastUpdates, isOff ? .off : table.isLocal ? .uncheckedReferences : .shape)
            return nil
        }
        if table.hasColumnPolicies {
            access.fastPathLog.decline(.fastUpdates, .policies)
            return nil
        }
        log = access.fastPathLog
        self.columns = columns
        references = rows.references
        self.stamps = stamps
        writer = access.writer(of: table.id)
        checks = access.objects(of: table.id).checks
        devices = access.devices
        self.conflicts = conflicts
        self.table = table.id
    }

    /// Merges an object's only operation in the batch, and writes row and state.
    /// - Parameter row: the row's local values of the written columns.
    /// - Returns: true if merged; false if nothing was changed.
    func merge(
        _ operation: ObjectOperation, _ part: ChangesetPart, into state: EncodedState, row: ColumnValues
    ) throws -> Bool {
        if let reason = try decline(operation, part, into: state, row: row) {
            log.decline(.fastUpdates, reason)
            return false
        }
        log.count(.fastUpdates)
        return true
    }

    /// Merges an operation, and writes the row and the state.
    /// - Returns: the reason for not merging; `nil` after a merge.
    private func decline(
        _ operation: ObjectOperation, _ part: ChangesetPart, into state: EncodedState, row: ColumnValues
    ) throws -> FastPathDecline? {
        guard operation.kind == .update, part.payloads.isEmpty else { return .operation }
        let shape = part.shapes[operation.shape]
        // Each column is searched among all stamps. For many columns decoding the state costs less.
        if shape.count > Self.maximumColumns { return .shape }
        let values = part.values(of: operation)
        let stamp = Stamp(time: operation.time, device: part.device)
        let author = try devices.number(of: part.device)
        var merged = state
        var written: [(column: Int, value: FieldValue)] = []
        written.reserveCapacity(shape.count)
        var losses: [Loss] = []
        for (place, column) in shape.enumerated() {
            guard column >= 0, let keys = try columns.foreignKeys(of: column), let present = row[column],
                let found = try StateCodec.find(column, in: merged.stamps)
            else { return .column }
            let known = Stamp(time: found.time, device: try devices.device(found.device))
            // Of two values of one time neither author knew the other's, whatever the context says (`StateMerge`).
            if stamp.time <= known.time { return .older }
            let value = values[values.startIndex + place]
            guard value.isStored(by: columns.affinity(of: column)),
                let local = try references.localIfShown(value, column, through: keys),
                let former = try references.portableIfShown(present, column, through: keys)
            else { return .missingTarget }
            if known.device != part.device, value != former, !part.context.includes(known) {
                losses.append(Loss(column: column, lost: former, stamp: known, kept: value))
            }
            merged.check &+= checks.field(state.object, column, stamp, value)
            merged.check &-= checks.field(state.object, column, known, former)
            StateCodec.set(column, to: stamp.time, device: author, in: &merged.stamps, at: found.entry)
            written.append((column, local))
        }
        if written.isEmpty { return .operation }
        if try writer.update(key: state.key, written, of: state.object) != nil { return .refused }
        for loss in losses {
            try conflicts.record(
                .field, of: RowToken(table: table, id: state.object), column: loss.column,
                lost: (loss.lost, loss.stamp),
                kept: (loss.kept, stamp))
        }
        try stamps.save(
            StampUpdate(object: state.object, stamps: merged.stamps, check: merged.check), former: state.check)
        return nil
    }
}
