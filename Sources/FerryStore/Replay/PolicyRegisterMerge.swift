import FerryCore
import FerryMerge
import FerrySchema

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

    /// An operation on a column, beside the column's value in the state.
    struct Write {
        var value: WrittenValue
        var column: Int
        var stamp: Stamp
        /// The column's value in the state; `nil` if none.
        var present: FieldValue?
        /// True if operation and present value did not know each other.
        var isConcurrent: Bool
    }

    /// Merges an operation into a column's register.
    /// - Parameter forgetVoid: removes parts made void by an insertion after a deletion.
    /// - Returns: the state's new value; `nil` if unchanged.
    func merge(
        _ write: Write, into state: inout ObjectState, forgetVoid: (inout ColumnRegister) throws -> Void
    ) throws -> FieldValue? {
        let (column, stamp, present) = (write.column, write.stamp, write.present)
        let policy = table.columns[column].policy
        let known = state.registers.stamp(of: column)
        var register = state.policies[column] ?? ColumnRegister()
        if state.policies[column] == nil, let known, let present { register.plain = StampedValue(known, present) }
        let before = register
        register.merge(write.value, at: stamp)
        try forgetVoid(&register)
        state.registers.mergeWrite(column, stamp)
        state.keep(register, column, policy, newest: state.registers.stamp(of: column))
        // Without the hook, the shown value stays until the hook is registered.
        guard let shown = register.shown(under: policy, hooks.function(for: policy)) ?? present else { return nil }
        let rivals = register.rivals(under: policy)
        if rivals.count > 1 {
            try recordRivals(rivals, of: write, shown: shown, state.object)
        } else if write.isConcurrent, let known, let present,
            Self.canLose(write.value, policy, to: register, isEffective: register != before)
        {
            try recordLoss(of: write, (present, known), shown: shown, state.object)
        }
        return shown == present ? nil : shown
    }

    /// True if either of two concurrent writes may be lost. Sums and sets lose only to a plain write, made without the
    /// policy or with a value that is no addition. Max and min lose nothing.
    private static func canLose(
        _ written: WrittenValue, _ policy: ColumnPolicy, to register: ColumnRegister, isEffective: Bool
    ) -> Bool {
        switch policy {
        case .max, .min: return false
        case .lastWriterWins: return true
        case .firstWriterWins, .hook:
            guard case .part(let part) = written else { return true }
            // A single value stands: the part's own, or that of a writer who knew the part.
            return !register.includes(part)
        case .counter, .set:
            guard case .part(let part) = written else { return true }
            return !isEffective && !register.includes(part)
        }
    }

    /// Records the rivals of concurrent writes as conflicts: only a single value is shown, or the hook's result.
    private func recordRivals(
        _ rivals: [StampedValue], of write: Write, shown: FieldValue, _ object: ObjectID
    ) throws {
        guard rivals.count > 1, rivals.contains(where: { $0.stamp == write.stamp }),
            let winner = table.columns[write.column].policy == .firstWriterWins ? rivals.first : rivals.last
        else { return }
        for rival in rivals where rival.value != shown {
            try conflicts.record(
                .field, of: RowToken(table: table.id, id: object), column: write.column,
                lost: (rival.value, rival.stamp),
                kept: (shown, winner.stamp))
        }
    }

    private func recordLoss(
        of write: Write, _ present: (value: FieldValue, stamp: Stamp), shown: FieldValue, _ object: ObjectID
    ) throws {
        if shown != present.value {
            try conflicts.record(
                .field, of: RowToken(table: table.id, id: object), column: write.column,
                lost: (present.value, present.stamp),
                kept: (shown, write.stamp))
        } else if let value = write.value.ownValue, value != shown {
            try conflicts.record(
                .field, of: RowToken(table: table.id, id: object), column: write.column, lost: (value, write.stamp),
                kept: (shown, present.stamp))
        }
    }
}
