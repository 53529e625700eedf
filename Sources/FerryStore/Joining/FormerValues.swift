import FerryCore
import FerryMerge
import FerrySchema

/// Finds the values of pre-existing rows that the container has or had. Such a value is older than the container's present value, and no
/// conflict. Nobody publishes such a value again: other devices would take the value for a concurrent write.
package struct FormerValues: Sendable {
    private let registry: Registry
    /// The values of this database, by table in lower case, object and column.
    private var own: [String: [ObjectID: [Int: FieldValue]]] = [:]
    /// The columns with a value that the container has or had.
    private var found: [String: [ObjectID: Set<Int>]] = [:]

    /// The writes of the container to columns under a policy: a value there results from several writes.
    private var steps: [Field: [Step]] = [:]

    private struct Field: Hashable {
        var table: Int
        var object: ObjectID
        var column: Int
    }

    private struct Step {
        var stamp: Stamp
        var value: WrittenValue
    }

    init(_ registry: Registry) { self.registry = registry }

    package var isEmpty: Bool { found.isEmpty }

    // MARK: Searching

    /// Takes packed values of this database, to be looked for in the container.
    /// - Parameter objects: only rows of these objects.
    package mutating func ask(_ changes: TableChanges, about objects: ObjectSets) throws {
        let name = foldedName(changes.name)
        guard let objects = objects[name], let table = registry.table(named: changes.name, changes.identity) else {
            return
        }
        let columns = changes.columns.map { table.columnID(travelling: $0) }
        for operation in changes.operations where operation.kind == .insert && objects.contains(operation.object) {
            for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                guard let column = columns[place] else { continue }
                let stamp = Stamp(time: operation.time, device: DeviceID(high: 0, low: 0))
                own[name, default: [:]][operation.object, default: [:]][column] =
                    try Self.written(value.copied, changes.payload(of: place), stamp).ownValue
            }
        }
    }

    /// Takes changes of a device of the container.
    package mutating func take(_ changes: TableChanges, of device: DeviceID) throws {
        let name = foldedName(changes.name)
        guard let asked = own[name], let table = registry.table(named: changes.name, changes.identity) else { return }
        let columns = changes.columns.map { table.columnID(travelling: $0) }
        for operation in changes.operations {
            guard let values = asked[operation.object] else { continue }
            for (place, value) in zip(changes.shapes[operation.shape], changes.values(of: operation)) {
                guard let column = columns[place], let own = values[column] else { continue }
                let payload = changes.payload(of: place)
                if payload != nil || table.columns[column].policy != .lastWriterWins {
                    let stamp = Stamp(time: operation.time, device: device)
                    steps[Field(table: table.id, object: operation.object, column: column), default: []].append(
                        Step(stamp: stamp, value: try Self.written(value.copied, payload, stamp)))
                }
                guard payload == nil, own == value else { continue }
                found[name, default: [:]][operation.object, default: []].insert(column)
            }
        }
    }

    /// Takes a part of a snapshot. Values under a policy are compared later, as shown.
    package mutating func take(_ chunk: SnapshotChunk) {
        guard let asked = own[foldedName(chunk.table)] else { return }
        guard let table = registry.table(named: chunk.table, chunk.identity) else { return }
        let columns = chunk.columns.map { $0.isRegister ? nil : table.columnID(travelling: $0.name) }
        for object in chunk.objects {
            guard let values = asked[object.id] else { continue }
            for (place, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
                guard let column = columns[place], values[column] == cell.content else { continue }
                found[foldedName(chunk.table), default: [:]][object.id, default: []].insert(column)
            }
        }
    }

    private static func written(_ value: FieldValue, _ kind: PayloadKind?, _ stamp: Stamp) throws -> WrittenValue {
        guard let kind, case .blob(let bytes) = value else { return .plain(value) }
        return .part(try PolicyCodec.decode(Array(bytes)[...], as: kind, own: stamp))
    }

    // MARK: Giving up

    /// Forgets the conflicts that these values lost. Afterwards only values are left that the state knows no more: a value that still counts in
    /// the state goes on to count.
    mutating func settle(_ access: StoreAccess) throws {
        let lost = Stamp(time: try access.oldTime(), device: access.device)
        var settled: [String: [ObjectID: Set<Int>]] = [:]
        for (name, rows) in own {
            for (object, values) in rows {
                guard let table = registry.table(named: name) else { continue }
                let state = try access.objects(of: table.id).load(object)
                guard state.registers.isAlive, let inserted = state.registers.inserted, inserted != lost else {
                    continue
                }
                let columns = try (found[name]?[object] ?? []).union(shown(values, state, table, access)).filter {
                    column in
                    state.registers.stamp(of: column).map { $0 != lost } ?? false
                        && !(state.policies[column]?.stamps.contains(lost) ?? false)
                }
                if columns.isEmpty { continue }
                for column in columns.sorted() {
                    try access.conflicts.forget(RowToken(table: table.id, id: object), column: column, lost: lost)
                }
                settled[name, default: [:]][object] = columns
            }
        }
        found = settled
    }

    /// The columns under a policy that show this database's value, or showed the value after one of the writes.
    private func shown(
        _ values: [Int: FieldValue], _ state: ObjectState, _ table: TrackedTable, _ access: StoreAccess
    ) throws -> [Int] {
        let columns = values.keys.filter { table.columns[$0].policy != .lastWriterWins || state.policies[$0] != nil }
        if columns.isEmpty { return [] }
        let row = try ReferenceTranslator(access).row(showing: RowToken(table: table.id, id: state.object))
        return columns.filter { column in
            let field = Field(table: table.id, object: state.object, column: column)
            return row[column] == values[column]
                || showed(values[column], field, table.columns[column].policy, access.hooks)
        }
    }

    /// Whether a column under a policy showed a value after one of the writes, in the order of their times.
    private func showed(_ value: FieldValue?, _ field: Field, _ policy: ColumnPolicy, _ hooks: MergeHooks) -> Bool {
        var register = ColumnRegister()
        return (steps[field] ?? []).sorted { $0.stamp < $1.stamp }.contains { step in
            register.merge(step.value, at: step.stamp)
            return register.shown(under: policy, hooks.function(for: policy)) == value
        }
    }

    /// Packed changes without these values. A row with nothing else to say goes, too: the container has the row.
    package func removed(from changes: TableChanges) -> TableChanges {
        guard let rows = found[foldedName(changes.name)],
            let table = registry.table(named: changes.name, changes.identity)
        else { return changes }
        let columns = changes.columns.map { table.columnID(travelling: $0) }
        var rest = TableChanges(name: changes.name, identity: changes.identity)
        rest.columns = changes.columns
        rest.payloads = changes.payloads
        rest.shapes = changes.shapes
        var shapes: [[Int]: Int] = [:]
        for operation in changes.operations {
            var kept = operation
            kept.firstValue = rest.values.count
            let values = changes.values(of: operation)
            guard operation.kind == .insert, let former = rows[operation.object] else {
                rest.values += values
                rest.operations.append(kept)
                continue
            }
            let places = Array(zip(changes.shapes[operation.shape], values)).filter { place, _ in
                // A key's columns tell the row.
                columns[place].map { table.keyColumnIDs.contains($0) || !former.contains($0) } ?? true
            }
            if places.allSatisfy({ columns[$0.0].map(table.keyColumnIDs.contains) ?? false }) { continue }
            let shape = places.map(\.0)
            if shapes[shape] == nil {
                shapes[shape] = rest.shapes.count
                rest.shapes.append(shape)
            }
            kept.shape = shapes[shape] ?? operation.shape
            rest.values += places.map(\.1)
            rest.operations.append(kept)
        }
        return rest
    }
}
