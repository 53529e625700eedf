import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// Gives objects without a row of their own the values of columns that mean something else now (`ColumnMeaning`).
///
/// A row has the value for the migration to copy. A hidden object has the value as a shadow value, with the former meaning:
/// without a value of the new meaning the object would come back without it.
struct UnshownMeanings {
    private let access: StoreAccess
    private let table: TrackedTable
    private let meanings: [String: ColumnMeaning]

    init(_ access: StoreAccess, _ table: TrackedTable) throws {
        self.access = access
        self.table = table
        meanings = try Generations.load(access.meta).meanings["\(table.id)"] ?? [:]
    }

    /// Repeats the values, a tick after their writing.
    /// - Returns: the changes, in the order of the objects.
    func repeated() throws -> TableChanges {
        var changes = TableChangesBuilder(table)
        let columns = table.localColumns.filter { $0.isVariant && !$0.precursors.isEmpty }
        if columns.isEmpty { return changes.changes }
        let objects = access.objects(of: table.id)
        var ids: [ObjectID] = []
        try access.connection.forEachRow(
            "SELECT object FROM \(table.objectTable) WHERE kept IS NOT NULL AND \(Visibility.way) IN "
                + "(\(Visibility.hidden.rawValue), \(Visibility.joined.rawValue)) ORDER BY object"
        ) { if let id: ObjectID = $0.id(0) { ids.append(id) } }
        for id in ids {
            var state = try objects.load(id)
            var byTime: [HybridTime: ColumnValues] = [:]
            for column in columns {
                guard let (value, time) = try value(of: column, state), time < .latest else { continue }
                byTime[time.next, default: [:]][column.id] = value
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
            objects.renewCheck(of: &state)
            try objects.save(state)
        }
        return changes.changes
    }

    /// The value that the former meaning gives a column, and the time of its writing; `nil` for an unknown value, and where
    /// the column was written later.
    private func value(of column: TrackedColumn, _ state: ObjectState) throws -> (FieldValue, HybridTime)? {
        let written = column.precursors.compactMap { former in
            state.registers.stamp(of: former).map { (column: former, stamp: $0) }
        }
        guard let last = written.max(by: { $0.stamp < $1.stamp }),
            state.registers.stamp(of: column.id).map({ $0.time <= last.stamp.time }) ?? true,
            let former = state.kept.fields[last.column], let local = try localValue(former, last.column)
        else { return nil }
        return (try ReferenceTranslator(access).value(local, column), last.stamp.time)
    }

    /// A value of a former meaning as a row would hold it: the key of a referenced object. `nil` for an unknown key.
    private func localValue(_ value: FieldValue, _ column: Int) throws -> FieldValue? {
        guard case .reference(let object) = value else { return value }
        let target =
            ColumnMeaning.target(of: table.columns[column].name)
            ?? meanings[foldedName(table.columns[column].baseName)]?.plainTarget
        guard let parent = target.flatMap({ access.registry.table(named: ColumnMeaning.parent(ofTarget: $0)) }) else {
            return nil
        }
        let state = try access.objects(of: parent.id).load(object)
        if !state.shown.hasRow, let shown = try access.unified.representative(of: object, parent.id) {
            let other = try access.objects(of: parent.id).load(shown)
            return other.key.first ?? other.kept.key
        }
        return state.key.first ?? state.kept.key
    }
}
