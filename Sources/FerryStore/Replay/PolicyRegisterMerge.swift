import FerryCore
import FerryMerge

/// Merges operations on columns under a policy, or with a payload, and computes the shown value.
struct PolicyRegisterMerge {
    let table: TrackedTable
    let hooks: MergeHooks
    let conflicts: ConflictLog

    /// Decodes an operation's value of a column.
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

    /// True if the column's operations must go through its register.
    func concerns(_ column: Int, _ kind: PayloadKind?, _ state: ObjectState) -> Bool {
        kind != nil || table.columns[column].policy != .lastWriterWins || state.policies[column] != nil
    }

    /// Merges an operation into a column's register.
    /// - Parameters:
    ///   - present: the column's value in the state; `nil` if none.
    ///   - isConcurrent: true if operation and present value did not know each other.
    ///   - forgetVoid: removes parts made void by an insertion after a deletion.
    /// - Returns: the state's new value; `nil` if unchanged.
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
        state.registers.mergeWrite(column, stamp)
        state.keep(register, column, policy)
        // Without the hook, the shown value stays until the hook is registered.
        guard let shown = register.shown(under: policy, hooks.function(for: policy)) ?? present else { return nil }
        let rivals = register.rivals(under: policy)
        if rivals.count > 1 {
            try recordRivals(rivals, at: stamp, shown, policy, column, state.object)
        } else if isConcurrent, let known, let present, Self.canLose(written, policy, isEffective: register != before) {
            try recordLoss(written, at: stamp, shown, (present, known), column, state.object)
        }
        return shown == present ? nil : shown
    }

    /// True if either of two concurrent writes may be lost. Sums and sets lose only to a plain write, made without the
    /// policy or with a value that is no addition. Max and min lose nothing.
    private static func canLose(_ written: WrittenValue, _ policy: ColumnPolicy, isEffective: Bool) -> Bool {
        switch policy {
        case .max, .min: return false
        case .lastWriterWins, .firstWriterWins, .hook: return true
        case .counter, .set:
            if case .plain = written { return true }
            return !isEffective
        }
    }

    /// Records the rivals of concurrent writes as conflicts: only a single value is shown, or the hook's result.
    private func recordRivals(
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

    private func recordLoss(
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
