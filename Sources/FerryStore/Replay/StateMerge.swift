import FerryCore
import FerryMerge
import FerrySchema

/// An object merged by a replay: its state before and now, and the changes.
struct ObjectMerge {
    var state: ObjectState
    let before: ObjectState
    /// Winning values of this batch, by column.
    var won: ColumnValues
    /// The row's portable values read so far, by column. The row shows former values until written.
    var former: ColumnValues
    /// Columns under a policy with only a changed stamp.
    var stamped: Set<Int> = []

    /// - Parameters:
    ///   - former: known values of the row.
    ///   - width: the number of the table's columns.
    init(_ before: ObjectState, former: ColumnValues = [:], width: Int) {
        state = before
        self.before = before
        won = ColumnValues(width: width)
        self.former = former
    }

    /// The deletion, if the batch did nothing but delete the object for the first time.
    var onlyDeletion: Stamp? {
        guard before.registers.deleted == nil, let stamp = state.registers.deleted, won.isEmpty, stamped.isEmpty,
            state.policies.isEmpty, before.policies.isEmpty, state.kept == before.kept,
            state.givenKey == before.givenKey
        else { return nil }
        var deleted = before.registers
        deleted.mergeDeletion(stamp)
        return deleted == state.registers ? stamp : nil
    }
}

/// Merges remote operations into an object's registers, and records the losses of concurrent writes.
struct StateMerge {
    private let table: TrackedTable
    private let reader: RowReader
    /// Collects losing values. Call `finish()` after the last merge.
    let conflicts: ConflictLog
    private let contexts: ContextLog
    private let translator: ReferenceTranslator
    private let registers: PolicyRegisterMerge
    private let access: StoreAccess

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.table = table
        self.access = access
        reader = access.reader(of: table.id)
        conflicts = ConflictLog(gatheringIn: access.conflicts, atOnce: access.newRowsAtOnce)
        contexts = access.contexts
        translator = ReferenceTranslator(access)
        registers = PolicyRegisterMerge(table: table, hooks: access.hooks, conflicts: conflicts)
    }

    /// Merges an operation of a changeset.
    func apply(_ operation: ObjectOperation, _ part: ChangesetPart, _ merge: inout ObjectMerge) throws {
        let stamp = Stamp(time: operation.time, device: part.device)
        let formerDeletion = merge.state.registers.deleted
        // An insertion may forget the original of a repeated deletion.
        let original = merge.state.registers.original(of: formerDeletion)
        let formerFloor = merge.state.registers.floor
        switch operation.kind {
        case .delete:
            let newest = merge.state.registers.newestWrite
            let wasAlive = merge.state.registers.isAlive
            merge.state.registers.mergeDeletion(stamp)
            if let floor = merge.state.registers.floor, floor != formerFloor {
                try forget(before: floor, operation, part, &merge)
            }
            let isRepeated =
                formerDeletion.map { ObjectRegisters.isRepetition(stamp.time, of: $0.time) } ?? false
            if let newest, !isRepeated { try recordDeletion(stamp, newest, part, wasAlive: wasAlive, merge) }
            return
        case .insert where merge.state.hasLostValues(after: stamp):
            // The values are lost here, and this older insertion cannot bring them back. So the row stays "not here", and devices with the
            // values publish them again if the row is needed (`UnresolvedObjects`).
            break
        case .insert:
            let isNewest = merge.state.registers.inserted.map { $0 < stamp } ?? true
            merge.state.registers.mergeInsertion(stamp)
            if let floor = merge.state.registers.floor, floor != formerFloor {
                try forget(before: floor, operation, part, &merge)
            }
            if isNewest, let key = operation.key {
                merge.state.givenKey = key
                if !merge.before.shown.hasRow { merge.state.kept.key = key }
            }
        case .update:
            break
        }
        try mergeValues(of: operation, at: stamp, part, &merge)
        if let original, original.device != part.device, !part.context.includes(original) {
            try recordWriteAgainst(original, stamp, operation.object, merge)
        }
    }

    /// Merges the operation's values.
    private func mergeValues(
        of operation: ObjectOperation, at stamp: Stamp, _ part: ChangesetPart, _ merge: inout ObjectMerge
    ) throws {
        let values = part.values(of: operation)
        // True before the deletion the object's present life followed.
        let isVoid = merge.state.registers.floor.map { stamp < $0 } ?? false
        let shape = part.shapes[operation.shape]
        for place in shape.indices where shape[place] >= 0 {
            let (column, value) = (shape[place], values[values.startIndex + place])
            let payload = part.payloads.isEmpty ? nil : part.payloads[operation.shape][place]
            // Asked first, because most tables need nothing of this.
            if table.hasColumnPolicies || payload != nil || !merge.state.policies.isEmpty,
                registers.concerns(column, payload, merge.state)
            {
                let written = try PolicyRegisterMerge.written(value, payload, at: stamp, part)
                let isExtreme = payload == .maximum || payload == .minimum
                if isVoid, try !isExtreme || isKnown(stamp, to: merge.state.registers.inserted, part) {
                    try recordVoid(written.ownValue, stamp, column, part, &merge)
                    continue
                }
                try mergeRegister(written, column, at: stamp, part, &merge)
                continue
            }
            let known = merge.state.registers.stamp(of: column)
            if isVoid, known == nil {
                try recordVoid(value, stamp, column, part, &merge)
                continue
            }
            // Read before the merge forgets the value; only a conflict or a tie needs the value.
            var isConflict = false
            var former: FieldValue?
            if let known {
                isConflict = try known.device != part.device && isConcurrent(stamp, part, with: known)
                if isConflict || known == stamp { former = try present(column, &merge) }
            }
            let wins = merge.state.registers.mergeField(column, stamp, value: value, present: former)
            if isConflict, let known, let former, former != value {
                let other = (value: Optional(former), stamp: known)
                let this = (value: Optional(value), stamp: stamp)
                try conflicts.record(
                    .field, of: RowToken(table: table.id, id: operation.object), column: column,
                    lost: wins ? other : this,
                    kept: wins ? this : other)
            }
            if wins { merge.won[column] = value }
        }
    }

    /// Forgets fields written before the deletion the object's present life followed. Fields of the operation overtake
    /// them anyway.
    private func forget(
        before floor: Stamp, _ operation: ObjectOperation, _ part: ChangesetPart, _ merge: inout ObjectMerge
    ) throws {
        let written = operation.kind == .delete ? [] : plainColumns(of: operation, part, merge)
        for (column, stamp) in merge.state.registers.fields.enumerated() {
            guard let stamp else { continue }
            let former = try self.present(column, &merge)
            if var register = merge.state.policies[column] {
                try register.forget(before: floor) { try isKnown($0, to: merge.state.registers.inserted, part) }
                let policy = table.columns[column].policy
                if !register.isEmpty {
                    merge.state.keep(register, column, policy, newest: stamp)
                    let shown = register.shown(under: policy, access.hooks.function(for: policy))
                    if let shown, shown != former { merge.won[column] = shown }
                    continue
                }
            } else if floor < stamp || written.contains(column) {
                continue
            }
            merge.state.forget(column)
            merge.won[column] = nil
            merge.stamped.remove(column)
            try recordVoid(former, stamp, column, part, &merge)
            if floor < stamp {
                // Parts based on older values are removed too. The fact of the write stays, as if the write arrived
                // later.
                merge.state.registers.mergeWrite(column, stamp)
                merge.state.policies[column] = ColumnRegister()
            }
            // The row shows the value of a row inserted without the column.
            guard merge.before.shown.hasRow, table.isLocal, table.columns[column].isLocal,
                !table.keyColumnIDs.contains(column)
            else { continue }
            merge.won[column] = try access.defaultValue(of: table.columns[column]) ?? .null
        }
    }

    /// The columns in which an operation writes values that replace what was there.
    private func plainColumns(of operation: ObjectOperation, _ part: ChangesetPart, _ merge: ObjectMerge) -> [Int] {
        part.shapes[operation.shape].enumerated().compactMap { place, column in
            let payload = part.payloads.isEmpty ? nil : part.payloads[operation.shape][place]
            return column < 0 || registers.concerns(column, payload, merge.state) ? nil : column
        }
    }

    /// True if the insertion of the object's present life knew of a write.
    private func isKnown(_ stamp: Stamp, to insertion: Stamp?, _ part: ChangesetPart) throws -> Bool {
        guard let inserted = insertion else { return false }
        if inserted.device == part.device, part.context.includes(stamp) { return true }
        return try contexts.knew(inserted, of: stamp)
    }

    /// Records a value lost to a deletion followed by an insertion without the column.
    private func recordVoid(
        _ value: FieldValue?, _ stamp: Stamp, _ column: Int, _ part: ChangesetPart, _ merge: inout ObjectMerge
    ) throws {
        guard let value, let inserted = merge.state.registers.inserted, stamp.device != inserted.device,
            !part.context.includes(stamp)
        else { return }
        let known = merge.state.registers.stamp(of: column)
        let kept = try known == nil ? nil : present(column, &merge)
        guard kept != value else { return }
        guard try stamp.device == part.device || !contexts.knew(inserted, of: stamp) else { return }
        try conflicts.record(
            .field, of: RowToken(table: table.id, id: merge.state.object), column: column, lost: (value, stamp),
            kept: (kept, known ?? inserted))
    }

    /// Merges an operation on a column with a register, because of a present or past policy.
    private func mergeRegister(
        _ written: WrittenValue, _ column: Int, at stamp: Stamp, _ part: ChangesetPart, _ merge: inout ObjectMerge
    ) throws {
        let known = merge.state.registers.stamp(of: column)
        let isMet = try known.map { try $0.device != part.device && isConcurrent(stamp, part, with: $0) } ?? false
        let present = try known == nil ? nil : self.present(column, &merge)
        let (inserted, floor) = (merge.state.registers.inserted, merge.state.registers.floor)
        let write = PolicyRegisterMerge.Write(
            value: written, column: column, stamp: stamp, present: present, isConcurrent: isMet)
        let shown = try registers.merge(write, into: &merge.state) { register in
            // A write after the floor may be based on values from before the floor.
            guard let floor else { return }
            try register.forget(before: floor) { try isKnown($0, to: inserted, part) }
        }
        if let shown {
            merge.won[column] = shown
        } else if merge.won[column] == nil, merge.state.registers.stamp(of: column) != known {
            merge.stamped.insert(column)
        }
    }

    /// True if neither of two writes knew the other.
    private func isConcurrent(_ stamp: Stamp, _ part: ChangesetPart, with known: Stamp) throws -> Bool {
        // Whoever knows a write writes later. Equal times are those of backdated changes: contexts say nothing of them.
        if stamp.time == known.time, stamp.time.isKnown { return true }
        if part.context.includes(known) { return false }
        // A backdated write is new to this device, whatever its time.
        if known.device == access.device, part.isBackdated(stamp) { return true }
        // The author of the overwriting write may have known a write arriving late.
        return try known < stamp || !contexts.knew(known, of: stamp)
    }

    private func present(_ column: Int, _ merge: inout ObjectMerge) throws -> FieldValue? {
        if let value = merge.won[column] ?? merge.state.kept.fields[column] ?? merge.former[column] { return value }
        guard merge.before.shown.hasRow, table.isLocal else { return nil }
        guard table.columns[column].isLocal,
            let value = try reader.read(merge.before.key, columns: [column])?[column]
        else { return nil }
        let former = try translator.value(value, table.columns[column])
        merge.former[column] = former
        return former
    }

    /// Records an arriving deletion's loss, or the losses of concurrent writes.
    private func recordDeletion(
        _ deletion: Stamp, _ newest: Stamp, _ part: ChangesetPart, wasAlive: Bool, _ merge: ObjectMerge
    ) throws {
        guard newest.device != part.device, !part.context.includes(newest) else { return }
        let object = merge.state.object
        if merge.state.registers.isAlive {
            if try newest < deletion || !contexts.knew(newest, of: deletion) {
                try conflicts.record(
                    .revived, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, deletion),
                    kept: (nil, newest))
            }
        } else if wasAlive {
            try conflicts.record(
                .deleted, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, newest),
                kept: (nil, deletion))
        }
    }

    /// Records an arriving write whose author had not seen the object's deletion.
    private func recordWriteAgainst(
        _ deletion: Stamp, _ write: Stamp, _ object: ObjectID, _ merge: ObjectMerge
    ) throws {
        if write < deletion || merge.state.registers.deletionWins && !merge.state.registers.isAlive {
            if try contexts.knew(deletion, of: write) { return }
            try conflicts.record(
                .deleted, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, write),
                kept: (nil, deletion))
        } else {
            try conflicts.record(
                .revived, of: RowToken(table: table.id, id: object), column: nil, lost: (nil, deletion),
                kept: (nil, write))
        }
    }
}
