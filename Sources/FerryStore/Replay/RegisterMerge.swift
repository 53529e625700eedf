import FerryCore
import FerryMerge

/// Merges operations on columns under a policy, or with a payload, and says what is shown then.
struct RegisterMerge {
    let table: TrackedTable
    let hooks: MergeHooks
    let conflicts: ConflictLog

    /// What an operation says of one column, decoded.
    static func written(
        _ value: FieldValue, _ kind: PayloadKind?, at stamp: Stamp, _ part: ChangesetPart
    ) throws -> WrittenValue {
        guard let kind else { return .plain(value) }
        guard case .blob(let bytes) = value else {
            throw FerryError(
                .damagedFile, "The changeset is damaged: a payload is not bytes.", device: part.device,
                sequence: part.sequence)
        }
        do {
            return .part(try PolicyCodec.decode(bytes, as: kind, own: stamp))
        } catch {
            var located = error
            located.device = part.device
            located.sequence = part.sequence
            throw located
        }
    }

    /// Whether a column's operations have to go through its register.
    func concerns(_ column: Int, _ kind: PayloadKind?, _ state: ObjectState) -> Bool {
        kind != nil || table.columns[column].policy != .lastWriterWins || state.policies[column] != nil
    }

    /// - Parameters:
    ///   - present: the column's value as the state has it; `nil` where it has none.
    ///   - isConcurrent: whether the operation did not know of what it meets, nor that of it.
    ///   - forgetVoid: forgets in a register what an insertion after a deletion made void.
    /// - Returns: the value that the state has from now on; `nil` where it stays.
    func merge(
        _ written: WrittenValue, _ column: Int, at stamp: Stamp, present: FieldValue?, isConcurrent: Bool,
        _ state: inout ObjectState, forgetVoid: (inout ColumnRegister) throws -> Void
    ) throws -> FieldValue? {
        let policy = table.columns[column].policy
        let known = state.registers.stamp(of: column)
        var register = state.policies[column] ?? ColumnRegister()
        if state.policies[column] == nil, let known, let present { register.plain = StampedValue(known, present) }
        let before = register
        register.merge(written, at: stamp)
        try forgetVoid(&register)
        state.registers.noteWrite(column, stamp)
        state.keep(register, column, policy)
        // Where the hook is missing, what is shown stays until it is there.
        guard let shown = register.shown(under: policy, hooks.function(for: policy)) ?? present else { return nil }
        let rivals = register.rivals(under: policy)
        if rivals.count > 1 {
            try noteRivals(rivals, at: stamp, shown, policy, column, state.object)
        } else if isConcurrent, let known, let present, Self.canLose(written, policy, isEffective: register != before) {
            try noteLoss(written, at: stamp, shown, (present, known), column, state.object)
        }
        return shown == present ? nil : shown
    }

    /// Whether of two writes that did not know of each other one may be lost. Sums and sets lose only to a plain write,
    /// of a device that did not know the policy or of a value that is no addition; max and min lose nothing.
    private static func canLose(_ written: WrittenValue, _ policy: ColumnPolicy, isEffective: Bool) -> Bool {
        switch policy {
        case .max, .min: return false
        case .lastWriterWins, .firstWriterWins, .hook: return true
        case .counter, .set:
            if case .plain = written { return true }
            return !isEffective
        }
    }

    /// Of writes beside each other only one is shown, or what a hook made of them; the others are kept as conflicts.
    private func noteRivals(
        _ rivals: [StampedValue], at stamp: Stamp, _ shown: FieldValue, _ policy: ColumnPolicy, _ column: Int,
        _ object: ObjectID
    ) throws {
        guard rivals.count > 1, rivals.contains(where: { $0.stamp == stamp }),
            let winner = policy == .firstWriterWins ? rivals.first : rivals.last
        else { return }
        for rival in rivals where rival.value != shown {
            try conflicts.record(
                .field, table: table.id, object: object, column: column, lost: (rival.value, rival.stamp),
                kept: (shown, winner.stamp))
        }
    }

    private func noteLoss(
        _ written: WrittenValue, at stamp: Stamp, _ shown: FieldValue, _ present: (value: FieldValue, stamp: Stamp),
        _ column: Int, _ object: ObjectID
    ) throws {
        if shown != present.value {
            try conflicts.record(
                .field, table: table.id, object: object, column: column, lost: (present.value, present.stamp),
                kept: (shown, stamp))
        } else if let value = written.ownValue, value != shown {
            try conflicts.record(
                .field, table: table.id, object: object, column: column, lost: (value, stamp),
                kept: (shown, present.stamp))
        }
    }
}
