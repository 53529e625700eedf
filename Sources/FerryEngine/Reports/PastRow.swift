import FerryCore
import FerryMerge
import FerryStore

/// The state of a row at a time, folded from the operations in the logs: a pure function.
///
/// Operations up to the time are merged as in a replay. So the result is the row on a device that had seen exactly
/// these operations, apart from rules about other rows.
enum PastRow: Equatable {
    /// The row was present with these values, by the exact key of the column's name, and this key, if the object was inserted with a local
    /// key. The present row has the values of further columns.
    case present([String: FieldValue], key: FieldValue?)
    /// The row was absent: not inserted yet, or deleted.
    case absent
    /// Neither logs nor state reach back that far. The earliest possible time, in milliseconds since the Unix epoch; `nil` if nothing
    /// tells.
    case unknown(since: Int64?)

    /// Folds operations.
    /// - Parameters:
    ///   - operations: oldest first.
    ///   - known: what the state tells beyond the logs. A snapshot has the values of older operations, and not the operations.
    ///   - time: the time, included.
    ///   - isComplete: true if the logs are whole, so that an operation not in the logs did not happen.
    static func fold(
        _ operations: [LoggedOperation], known: KnownRow? = nil, at time: HybridTime, isComplete: Bool
    ) -> PastRow {
        let past = operations.prefix { $0.stamp.time <= time }
        let inserted = operations.first { $0.kind == .insert }?.stamp.time.milliseconds
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
        let logged = values.filter { policies[$0.key]?.isPlain ?? true }
        if let past = known?.past(logged, registers, operations, at: time) { return past }
        if past.isEmpty, isComplete, operations.first?.kind != .update { return .absent }
        // The row is dead, whatever happened before.
        if let deleted = registers.deleted, registers.newestWrite.map({ $0 < deleted }) ?? true { return .absent }
        return .unknown(since: inserted)
    }
}

extension KnownRow {
    /// The row at a time after its insertion, where the logs begin later than the insertion; `nil` where the state does not tell.
    /// - Parameters:
    ///   - logged: the values that the logs tell of that time.
    ///   - registers: what the logs merge to at that time.
    fileprivate func past(
        _ logged: [String: FieldValue], _ registers: ObjectRegisters, _ operations: [LoggedOperation],
        at time: HybridTime
    ) -> PastRow? {
        guard let inserted, inserted.time <= time else { return nil }
        // A deletion since, and before that time: the row was absent, or somebody brought it back.
        if let deleted = registers.deleted, inserted < deleted { return nil }
        if let deleted, inserted < deleted, deleted.time <= time { return nil }
        var values = logged
        var earliest = inserted.time
        for (column, field) in fields where logged[column] == nil {
            if field.stamp.time <= time {
                if !isShown, field.value == nil { return nil }
                values[column] = field.value
                continue
            }
            // The column was written since, and its value before is in no log.
            let first = operations.first { operation in operation.values.contains { exactKey($0.column) == column } }
            earliest = max(earliest, first?.stamp.time ?? field.stamp.time)
        }
        return earliest <= time ? .present(values, key: nil) : .unknown(since: earliest.milliseconds)
    }
}
