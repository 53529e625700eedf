import FerryCore
import FerryMerge
import FerrySchema

/// Merges registers of the former generation into an object of the present generation.
///
/// Every register keeps its time, and gets this device's name. What the present generation has already is not repeated.
struct RegisterTransfer {
    private let access: StoreAccess
    private let columns: GenerationColumns
    private var left: TrackedTable { columns.left }
    private var table: TrackedTable { columns.table }

    init(_ access: StoreAccess, _ columns: GenerationColumns) {
        self.access = access
        self.columns = columns
    }

    /// The changes of an object in the present generation, by time.
    struct Writes {
        struct Write {
            var isInsertion = false
            var values: ColumnValues = [:]
            var parts: [EncodedPart] = []
            var isDeletion = false
        }

        var byTime: [HybridTime: Write] = [:]
        /// The columns with values of the former generation.
        var taken: [Int] = []
    }

    /// Merges the former generation's registers, except where the present generation already has as much.
    func take(
        _ registers: ObjectRegisters, of former: ObjectState, _ values: ColumnValues, into state: inout ObjectState,
        _ writes: inout Writes
    ) {
        func stamp(_ other: Stamp) -> Stamp { Stamp(time: other.time, device: access.device) }
        let floor = state.registers.floor
        if let inserted = registers.inserted, state.registers.inserted.map({ $0.time < inserted.time }) ?? true {
            state.registers.mergeInsertion(stamp(inserted))
            writes.byTime[inserted.time, default: .init()].isInsertion = true
        }
        let known = Set(([state.registers.deleted] + state.registers.earlierDeletions).compactMap { $0?.time })
        for deletion in registers.earlierDeletions + [registers.deleted].compactMap({ $0 })
        where !known.contains(deletion.time) {
            state.registers.mergeDeletion(stamp(deletion))
            writes.byTime[deletion.time, default: .init()].isDeletion = true
        }
        for (column, written) in registers.fields.enumerated() {
            guard let written, let present = columns.present[column] else { continue }
            let taken = Taken(column: present.id, value: values[present.id], register: former.policies[column])
            take(taken, written: written, into: &state, &writes)
        }
        if let formerKeyColumn = columns.formerKeyColumn, let inserted = registers.inserted {
            let taken = Taken(column: formerKeyColumn.id, value: values[formerKeyColumn.id])
            take(taken, written: inserted, into: &state, &writes)
        }
        if let now = state.registers.floor, now != floor { forget(before: now, &state) }
    }

    /// Merges the row's values in columns unknown to the former generation: as written with the row.
    func takeRest(
        _ registers: ObjectRegisters, _ values: ColumnValues, into state: inout ObjectState, _ writes: inout Writes
    ) throws {
        guard let inserted = registers.inserted else { return }
        let told = Set(columns.present.filter { registers.stamp(of: $0.key) != nil }.map(\.value.id))
        for column in table.localColumns where !told.contains(column.id) && column.id != columns.formerKeyColumn?.id {
            guard let value = values[column.id] else { continue }
            // A column replaced by a new meaning has the time of the former meaning.
            let former = left.columns.first { equalNames($0.baseName, column.baseName) }.flatMap {
                registers.stamp(of: $0.id)
            }
            // The key is told whole: the ID follows from it.
            let isOfKey = table.keyColumnIDs.contains(column.id)
            if former == nil, !isOfKey, try access.isUnwritten(value, in: column) { continue }
            take(Taken(column: column.id, value: value), written: former ?? inserted, into: &state, &writes)
        }
    }

    /// A column's value and register in the former generation.
    private struct Taken {
        var column: Int
        var value: FieldValue?
        var register: ColumnRegister?
    }

    /// Merges a column of the former generation.
    private func take(_ taken: Taken, written: Stamp, into state: inout ObjectState, _ writes: inout Writes) {
        let column = taken.column
        let stamp = Stamp(time: written.time, device: access.device)
        let isNewer = state.registers.stamp(of: column).map { $0.time < written.time } ?? true
        let policy = table.columns[column].policy
        if var register = taken.register, !register.isPlain || policy == .counter {
            // Parts name their writing devices, so each counts once, whoever sends the part. A plain write by a further
            // device would remove their base.
            if register.isPlain, let plain = register.plain {
                register.merge(.part(.counter(CounterPart(base: plain, totals: []))), at: plain.stamp)
            }
            var present = state.policies[column] ?? ColumnRegister()
            let known = present
            present.merge(register)
            if present == known, !isNewer { return }
            state.registers.mergeWrite(column, stamp)
            state.keep(present, column, policy, newest: state.registers.stamp(of: column))
            writes.taken.append(column)
            writes.byTime[written.time, default: .init()].parts += register.parts.map { part in
                EncodedPart(column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: stamp))
            }
            return
        }
        guard isNewer, let value = taken.value else { return }
        if taken.register != nil || state.policies[column] != nil {
            var present = state.policies[column] ?? ColumnRegister()
            present.merge(.plain(value), at: stamp)
            state.keep(present, column, policy, newest: stamp)
        }
        state.registers.mergeWrite(column, stamp)
        writes.taken.append(column)
        writes.byTime[written.time, default: .init()].values[column] = value
    }

    /// A row inserted again began anew.
    private func forget(before floor: Stamp, _ state: inout ObjectState) {
        for (column, stamp) in state.registers.fields.enumerated() {
            guard let stamp, stamp < floor, state.policies[column] == nil else { continue }
            state.forget(column)
        }
    }
}
