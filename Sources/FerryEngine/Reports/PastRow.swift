import FerryCore
import FerryMerge

/// What a row was at a time, folded from the operations that the logs hold of it: a pure function.
///
/// The operations up to the time are merged as a replay merges them, so the result is what a device that had seen all of
/// them, and nothing later, would have shown but for the rules about other rows.
enum PastRow: Equatable {
    /// It was there with these values by column name, and this key where the object was inserted with a local one.
    case present([String: FieldValue], key: FieldValue?)
    /// It was not there: not inserted yet, or deleted.
    case absent
    /// The logs do not reach back that far. They do from this time on, in milliseconds since the Unix epoch; `nil`
    /// where they hold no insertion at all.
    case unknown(since: Int64?)

    /// - Parameters:
    ///   - operations: oldest first.
    ///   - milliseconds: the time, included.
    ///   - isComplete: whether the logs are whole, so that what they do not hold did not happen.
    static func fold(_ operations: [LoggedOperation], at milliseconds: Int64, isComplete: Bool) -> PastRow {
        let past = operations.prefix { $0.stamp.time.milliseconds <= milliseconds }
        let inserted = operations.first { $0.kind == .insert }?.stamp.time.milliseconds
        if past.isEmpty, isComplete, operations.first?.kind != .update { return .absent }
        var registers = ObjectRegisters()
        var columns: [String: Int] = [:]
        var values: [String: FieldValue] = [:]
        var policies: [String: ColumnRegister] = [:]
        var key: FieldValue?
        for operation in past {
            switch operation.kind {
            case .delete: registers.mergeDeletion(operation.stamp)
            case .insert:
                registers.mergeInsertion(operation.stamp)
                key = operation.key ?? key
            case .update: break
            }
            for written in operation.values {
                let column = columns[written.column] ?? columns.count
                columns[written.column] = column
                policies[written.column, default: ColumnRegister()].merge(
                    operation.parts[written.column].map { .part($0) } ?? .plain(written.value), at: operation.stamp)
                if registers.mergeField(
                    column, operation.stamp, value: written.value, present: values[written.column])
                {
                    values[written.column] = written.value
                }
            }
        }
        // A row that was inserted again began anew.
        if let floor = registers.floor {
            for name in Array(policies.keys) { policies[name]?.forget(before: floor) { _ in true } }
            for (name, column) in columns where registers.stamp(of: column).map({ $0 < floor }) ?? true {
                values[name] = nil
            }
        }
        // What was written under a policy is what all of it amounts to.
        for (column, register) in policies where !register.isPlain {
            values[column] = register.shown(under: .lastWriterWins)
        }
        if registers.isAlive { return .present(values, key: key) }
        // Dead whatever was before.
        if let deleted = registers.deleted, registers.newestWrite.map({ $0 < deleted }) ?? true { return .absent }
        return .unknown(since: inserted)
    }
}
