import FerryCore
import FerryMerge
import FerrySchema

/// Updates object checksums after merges: only by the changed fields, if that is enough.
struct IncrementalChecksums {
    private let table: TrackedTable
    private let objects: ObjectTable
    private let reader: RowReader
    private let translator: ReferenceTranslator

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.table = table
        objects = access.objects(of: table.id)
        reader = access.reader(of: table.id)
        translator = ReferenceTranslator(access)
    }

    /// Updates the checksum of an object with a row to its registers, while the row still shows the former values.
    func change(_ merge: inout ObjectMerge) throws {
        let (object, old, new) = (merge.state.object, merge.before.registers, merge.state.registers)
        if !old.isAlive {
            let row = try translator.values(reader.read(merge.before.key) ?? [:], table)
            let values = row.overlaid(with: merge.state.kept.fields).overlaid(with: merge.won)
            merge.state.check = objects.checks.check(object, new) { values[$0] }
            return
        }
        merge.state.check &+= objects.checks.change(object, from: old, to: new)
        // Only changed columns are read, usually a single value.
        let isSingle = merge.stamped.isEmpty && merge.won.count == 1
        var row: ColumnValues?
        /// The portable value shown by the row.
        func shown(_ column: Int) throws -> FieldValue? {
            if !table.columns[column].isLocal { return nil }
            return try local(column).map { try translator.value($0, table.columns[column]) }
        }
        func local(_ column: Int) throws -> FieldValue? {
            if isSingle { return try reader.read(merge.before.key, column: column) }
            if let row { return row[column] }
            let changed = Set(merge.won.keys).union(merge.stamped).sorted()
            let read = try reader.read(merge.before.key, columns: changed.filter { table.columns[$0].isLocal }) ?? [:]
            row = read
            return read[column]
        }
        for column in merge.stamped where merge.won[column] == nil {
            guard let stamp = new.stamp(of: column),
                let value = try merge.before.kept.fields[column] ?? shown(column)
            else { continue }
            merge.state.check &+= objects.checks.field(object, column, stamp, value)
            if let former = old.stamp(of: column) {
                merge.state.check &-= objects.checks.field(object, column, former, value)
            }
        }
        try merge.won.forEachColumn { column, value in
            if let stamp = new.stamp(of: column) {
                merge.state.check &+= objects.checks.field(object, column, stamp, value)
            }
            guard let stamp = old.stamp(of: column) else { return }
            // The row may show a different object's value meanwhile meant by the object's own value.
            if let own = merge.before.kept.fields[column] {
                merge.state.check &-= objects.checks.field(object, column, stamp, own)
                return
            }
            if let former = merge.former[column] {
                merge.state.check &-= objects.checks.field(object, column, stamp, former)
                return
            }
            guard let former = try shown(column) else { return }
            merge.state.check &-= objects.checks.field(object, column, stamp, former)
        }
    }
}
