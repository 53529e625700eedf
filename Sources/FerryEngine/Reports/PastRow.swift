import FerryCore
import FerryMerge

/// The state of a row at a time, folded from the operations in the logs: a pure function.
///
/// Operations up to the time are merged as in a replay. So the result is the row on a device that had seen exactly
/// these operations, apart from rules about other rows.
enum PastRow: Equatable {
    /// The row was present with these values, by the exact key of the column's name, and this key, if the object was inserted with a local
    /// key.
    case present([String: FieldValue], key: FieldValue?)
    /// The row was absent: not inserted yet, or deleted.
    case absent
    /// The logs do not reach back that far. They begin at this time, in milliseconds since the Unix epoch; `nil`
    /// without any insertion in the logs.
    case unknown(since: Int64?)

    /// Folds operations.
    /// - Parameters:
    ///   - operations: oldest first.
    ///   - milliseconds: the time, included.
    ///   - isComplete: true if the logs are whole, so that an operation not in the logs did not happen.
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
                let name = exactKey(written.column)
                let column = columns[name] ?? columns.count
                columns[name] = column
                policies[name, default: ColumnRegister()].merge(
                    operation.parts[name].map { .part($0) } ?? .plain(written.value), at: operation.stamp)
                if registers.mergeField(column, operation.stamp, value: written.value, present: values[name]) {
                    values[name] = written.value
                }
            }
        }
        // A new insertion of a row starts from scratch.
        if let floor = registers.floor {
            for name in Array(policies.keys) { policies[name]?.forget(before: floor) { _ in true } }
            for (name, column) in columns where registers.stamp(of: column).map({ $0 < floor }) ?? true {
                values[name] = nil
            }
        }
        // Under a policy, the value results from all written parts.
        for (column, register) in policies where !register.isPlain {
            values[column] = register.shown(under: .lastWriterWins)
        }
        if registers.isAlive { return .present(values, key: key) }
        // The row is dead, whatever happened before.
        if let deleted = registers.deleted, registers.newestWrite.map({ $0 < deleted }) ?? true { return .absent }
        return .unknown(since: inserted)
    }
}
