import FerryCore
import FerryMerge

/// An object that a replay merges: its state before and now, and what the merge changed of it.
struct ObjectMerge {
    var state: ObjectState
    let before: ObjectState
    /// Values won in this batch, by column.
    var won: FieldValues = [:]
    /// Columns under a policy of which the batch changed the stamp alone.
    var stamped: Set<Int> = []

    init(_ before: ObjectState) {
        state = before
        self.before = before
    }
}

/// Merges operations of other devices into an object's registers, and keeps what concurrent writes lost.
struct StateMerge {
    private let table: TrackedTable
    private let reader: RowReader
    private let conflicts: ConflictLog
    private let contexts: ContextLog
    private let travelling: Travelling
    private let registers: RegisterMerge

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.table = table
        reader = access.reader(of: table.id)
        conflicts = ConflictLog(access)
        contexts = ContextLog(access)
        travelling = Travelling(access)
        registers = RegisterMerge(table: table, hooks: access.hooks, conflicts: conflicts)
    }

    /// Takes one operation of a changeset into account.
    func apply(_ operation: Operation, _ part: ChangesetPart, _ merge: inout ObjectMerge) throws {
        let stamp = Stamp(time: operation.time, device: part.device)
        let wasAlive = merge.state.registers.isAlive
        let formerDeletion = merge.state.registers.deleted
        switch operation.kind {
        case .delete:
            let newest = merge.state.registers.newestWrite
            merge.state.registers.mergeDeletion(stamp)
            if let newest { try noteDeletion(stamp, newest, part, wasAlive: wasAlive, merge) }
            return
        case .insert:
            let isNewest = merge.state.registers.inserted.map { $0 < stamp } ?? true
            merge.state.registers.mergeInsertion(stamp)
            if isNewest, let key = operation.key {
                merge.state.givenKey = key
                if !merge.before.shown.hasRow { merge.state.kept.key = key }
            }
        case .update:
            break
        }
        let values = part.changes.values(of: operation)
        for (place, (column, value)) in zip(part.shapes[operation.shape], values).enumerated() where column >= 0 {
            let payload = part.payloads.isEmpty ? nil : part.payloads[operation.shape][place]
            // Asked first, because most tables have nothing of it.
            if table.hasColumnPolicies || payload != nil || !merge.state.policies.isEmpty,
                registers.concerns(column, payload, merge.state)
            {
                let written = try RegisterMerge.written(value, payload, at: stamp, part)
                try mergeRegister(written, column, at: stamp, part, &merge)
                continue
            }
            let known = merge.state.registers.stamp(of: column)
            // Read before the merge forgets it; only a conflict or a tie needs it.
            var isConflict = false
            var former: FieldValue?
            if let known {
                isConflict = try known.device != part.device && isConcurrent(stamp, part, with: known)
                if isConflict || known == stamp { former = try present(column, merge) }
            }
            let wins = merge.state.registers.mergeField(column, stamp, value: value, present: former)
            if isConflict, let known, let former, former != value {
                let other = (value: Optional(former), stamp: known)
                let this = (value: Optional(value), stamp: stamp)
                try conflicts.record(
                    .field, table: table.id, object: operation.object, column: column, lost: wins ? other : this,
                    kept: wins ? this : other)
            }
            if wins { merge.won[column] = value }
        }
        if let deletion = formerDeletion, deletion.device != part.device, !part.context.includes(deletion) {
            try noteWriteAgainst(deletion, stamp, operation.object, merge)
        }
    }

    /// Merges an operation on a column whose present policy, or whose past, asks for more than a stamp and a value.
    private func mergeRegister(
        _ written: WrittenValue, _ column: Int, at stamp: Stamp, _ part: ChangesetPart, _ merge: inout ObjectMerge
    ) throws {
        let known = merge.state.registers.stamp(of: column)
        let isMet = try known.map { try $0.device != part.device && isConcurrent(stamp, part, with: $0) } ?? false
        let present = try known == nil ? nil : self.present(column, merge)
        let shown = try registers.merge(
            written, column, at: stamp, present: present, isConcurrent: isMet, &merge.state)
        if let shown {
            merge.won[column] = shown
        } else if merge.won[column] == nil, merge.state.registers.stamp(of: column) != known {
            merge.stamped.insert(column)
        }
    }

    /// Whether two writes were made without knowledge of each other.
    private func isConcurrent(_ stamp: Stamp, _ part: ChangesetPart, with known: Stamp) throws -> Bool {
        if part.context.includes(known) { return false }
        // What arrives late may have been known to what overwrote it.
        return try known < stamp || !contexts.knew(known, of: stamp)
    }

    private func present(_ column: Int, _ merge: ObjectMerge) throws -> FieldValue? {
        if let value = merge.won[column] ?? merge.state.kept.fields[column] { return value }
        guard merge.before.shown.hasRow, table.isLocal else { return nil }
        guard let value = try reader.read(merge.before.key)?[column] else { return nil }
        return try travelling.value(value, table.columns[column])
    }

    /// A deletion arrived: it or the writes that it had not seen have lost.
    private func noteDeletion(
        _ deletion: Stamp, _ newest: Stamp, _ part: ChangesetPart, wasAlive: Bool, _ merge: ObjectMerge
    ) throws {
        guard newest.device != part.device, !part.context.includes(newest) else { return }
        let object = merge.state.object
        if merge.state.registers.isAlive {
            if try newest < deletion || !contexts.knew(newest, of: deletion) {
                try conflicts.record(
                    .revived, table: table.id, object: object, column: nil, lost: (nil, deletion), kept: (nil, newest))
            }
        } else if wasAlive {
            try conflicts.record(
                .deleted, table: table.id, object: object, column: nil, lost: (nil, newest), kept: (nil, deletion))
        }
    }

    /// A write arrived whose author had not seen the object's deletion.
    private func noteWriteAgainst(
        _ deletion: Stamp, _ write: Stamp, _ object: ObjectID, _ merge: ObjectMerge
    ) throws {
        if write < deletion || merge.state.registers.deletionWins && !merge.state.registers.isAlive {
            if try contexts.knew(deletion, of: write) { return }
            try conflicts.record(
                .deleted, table: table.id, object: object, column: nil, lost: (nil, write), kept: (nil, deletion))
        } else {
            try conflicts.record(
                .revived, table: table.id, object: object, column: nil, lost: (nil, deletion), kept: (nil, write))
        }
    }
}
