import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Moves the values of columns that travel under another name from now on (`ColumnNaming.Move`).
///
/// This device guessed a name, and follows another device. A column of the database then shows another register, and the rows
/// are to show that register's values. Values that were written under the guess are written again under the name that is
/// followed.
struct MovedValues {
    private let access: StoreAccess
    private let table: TrackedTable
    private let pairs: [SchemaNews.Pair]
    private let formers: Set<Int>
    private let presents: Set<Int>

    init(_ access: StoreAccess, _ moved: SchemaNews.Moved) {
        self.access = access
        table = access.registry[moved.table]
        pairs = moved.pairs
        formers = Set(pairs.map(\.from))
        presents = Set(pairs.map(\.to))
    }

    /// Keeps each register's value beside the row, before the columns change: the row shows another register afterwards.
    func keep() throws {
        guard table.isLocal else { return }
        let objects = access.objects(of: table.id)
        let reader = access.reader(of: table.id)
        let translator = ReferenceTranslator(access)
        for id in try ids("\(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue))") {
            var state = try objects.load(id)
            guard let row = try reader.read(state.key) else { continue }
            let values = try translator.values(row, table)
            for column in formers where state.registers.stamp(of: column) != nil && state.kept.fields[column] == nil {
                if let value = values[column] { state.kept.fields[column] = value }
            }
            for pair in pairs where state.registers.stamp(of: pair.to) == nil && state.kept.fields[pair.to] == nil {
                // Nobody wrote the register: the row shows the default.
                state.kept.fields[pair.to] = try access.defaultValue(of: table.columns[pair.from]) ?? .null
            }
            try objects.save(state)
        }
    }

    /// Writes again what was written under the guess, a tick later. A register that stays in the table has values of other
    /// devices, too, and these have always meant that register.
    /// - Returns: the changes, in the order of the objects.
    func repeated() throws -> TableChanges {
        var changes = TableChangesBuilder(table)
        let objects = access.objects(of: table.id)
        for id in try ids("kept IS NOT NULL") {
            var state = try objects.load(id)
            var byTime: [HybridTime: ColumnValues] = [:]
            for pair in pairs {
                guard let stamp = state.registers.stamp(of: pair.from), stamp.time < .latest,
                    let value = state.kept.fields[pair.from],
                    !presents.contains(pair.from) || stamp.device == access.device,
                    state.registers.stamp(of: pair.to).map({ $0.time <= stamp.time }) ?? true
                else { continue }
                byTime[stamp.time.next, default: [:]][pair.to] = value
            }
            if byTime.isEmpty { continue }
            for (time, values) in byTime.sorted(by: { $0.key < $1.key }) {
                let stamp = Stamp(time: time, device: access.device)
                values.forEachColumn { column, value in
                    _ = state.registers.mergeField(column, stamp, value: value)
                    state.kept.fields[column] = value
                }
                changes.append(id, .update, time, .init(values: values))
            }
            objects.renewCheck(of: &state, row: try row(of: state))
            try objects.save(state)
        }
        return changes.changes
    }

    private func row(of state: ObjectState) throws -> ColumnValues {
        guard state.shown.hasRow, let row = try access.reader(of: table.id).read(state.key) else { return [:] }
        return try ReferenceTranslator(access).values(row, table)
    }

    private func ids(_ condition: String) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE \(condition) ORDER BY object"
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        return ids
    }
}
