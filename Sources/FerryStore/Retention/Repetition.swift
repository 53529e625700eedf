import FerryCore
import FerryMerge
import FerrySchema

/// Repeats living objects whole that were deleted and are alive by a later write, for devices that have forgotten the deletion and
/// with it the object.
///
/// The insertion, the deletion and each field are written again, a tick or two after their own times. So the repetition overtakes what
/// it repeats and nothing else: a concurrent write wins as if nobody had repeated anything. Parts of columns under a policy travel
/// with their original stamps (`ColumnRegister.repetition`), so a counter keeps its base and everybody's additions.
struct Repetition {
    private let access: StoreAccess
    /// The objects to repeat.
    let objects: Set<RowToken>

    init(_ access: StoreAccess, among found: Set<RowToken>) throws {
        self.access = access
        objects = try found.filter { Self.concerns(try access.objects(of: $0.table).load($0.id).registers) }
    }

    /// True for an object alive by a write after its deletion. An insertion after the deletion needs no repetition.
    static func concerns(_ registers: ObjectRegisters) -> Bool {
        guard registers.isAlive, let inserted = registers.inserted, let deleted = registers.deleted else {
            return false
        }
        return inserted < deleted
    }

    /// - Parameter changes: receives the operations.
    /// - Returns: the objects the rules must check: a moved stamp may rarely pass a different stamp.
    func write(_ changes: inout [TableChanges]) throws -> [TouchedObject] {
        var touched: [TouchedObject] = []
        let byTable = Dictionary(grouping: objects, by: \.table)
        for table in access.registry.parentsFirst {
            guard let tokens = byTable[table.id] else { continue }
            var builder = TableChangesBuilder(table, columns: table.columns)
            for id in tokens.map(\.id).sorted() {
                try write(id, table, &builder)
                touched.append(
                    TouchedObject(table: table.id, object: id, columns: [], isDeleted: false, needsRules: true))
            }
            changes.append(builder.changes)
        }
        return touched
    }

    /// The operations of a time. A plain write and a part of the same column are two operations.
    private struct Write {
        var kind = ObjectOperation.Kind.update
        var values: ColumnValues = [:]
        var parts: [EncodedPart] = []
    }

    private func write(_ object: ObjectID, _ table: TrackedTable, _ builder: inout TableChangesBuilder) throws {
        let states = access.objects(of: table.id)
        var state = try states.load(object)
        let shown = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: object))
        let values = (state.shown.hasRow ? shown : [:]).overlaid(with: state.kept.fields)
        var writes: [HybridTime: Write] = [:]
        if let inserted = state.registers.inserted {
            let time = inserted.time.next
            writes[time, default: Write()].kind = .insert
            state.registers.mergeInsertion(Stamp(time: time, device: access.device))
        }
        for (column, stamp) in state.registers.fields.enumerated() {
            guard let stamp else { continue }
            let own = Stamp(time: stamp.time.next, device: access.device)
            guard var register = state.policies[column] else {
                guard let value = values[column] else { continue }
                writes[own.time, default: Write()].values[column] = value
                _ = state.registers.mergeField(column, own, value: value)
                continue
            }
            let policy = table.columns[column].policy
            let (plain, parts) = register.repetition(under: policy)
            for part in parts {
                register.merge(.part(part), at: own)
                writes[own.time, default: Write()].parts.append(
                    EncodedPart(
                        column: .init(number: column, kind: part.kind), bytes: PolicyCodec.encode(part, own: own)))
            }
            if let plain {
                let time = plain.stamp.time.next
                if parts.isEmpty || time != own.time {
                    writes[time, default: Write()].values[column] = plain.value
                } else {
                    builder.append(object, .update, time, .init(values: [column: plain.value]))
                }
                register.merge(.plain(plain.value), at: Stamp(time: time, device: access.device))
            }
            state.registers.mergeWrite(column, own)
            state.keep(register, column, policy, newest: state.registers.stamp(of: column))
        }
        let key = table.isMapped ? state.givenKey ?? state.ownKey : nil
        for (time, write) in writes.sorted(by: { $0.key < $1.key }) {
            builder.append(
                object, write.kind, time, key: write.kind == .insert ? key : nil,
                .init(values: write.values, parts: write.parts))
        }
        if let deleted = state.registers.deleted {
            let stamp = Stamp(time: ObjectRegisters.time(ofRepeatedDeletion: deleted.time), device: access.device)
            state.registers.mergeDeletion(stamp)
            builder.append(object, .delete, stamp.time)
        }
        states.renewCheck(of: &state, row: shown)
        try states.save(state)
    }
}
