import FerryCore
import FerrySchema

/// The pending changes of a flush, decoded in their order and timed.
///
/// All are decoded before the first is processed, because processing runs further statements.
struct PendingLog {
    /// A row's record of a trigger.
    struct Change {
        var sequence: Int64
        var table: TrackedTable
        var event: PendingEvent
        var mask: Int64
        var time: HybridTime
        var value: FieldValue
        var key: [FieldValue]
    }

    private(set) var changes: [Change] = []
    /// Number of insertions of rows with a NULL in their key; and the tables with changes of such rows.
    private(set) var rowsWithoutKey = 0
    private(set) var keylessTables: Set<Int> = []
    /// The tables with before-images of the read pending changes.
    private(set) var tablesWithBeforeImages: Set<Int> = []

    /// Reads the pending changes up to a sequence.
    /// - Parameter clock: advanced past every assigned time.
    init(_ access: StoreAccess, through end: Int64, _ clock: inout HybridClock) throws {
        let registry = access.registry
        var last: TrackedTable?
        typealias Column = PendingTable.Column
        try PendingTable(access.connection).forEach(
            width: registry.keyWidth, where: "sequence <= ?", [.integer(end)]
        ) { row in
            let number = row.int(Column.table)
            if last?.id != number { last = registry.tables[number] }
            guard let table = last, let event = PendingEvent(rawValue: row.int(Column.event)) else { return }
            if event == .delete || event == .examine { tablesWithBeforeImages.insert(number) }
            // Pending changes of a dropped table are void. Their before-images are removed with them.
            if !table.isLocal { return }
            // An update without any change is ignored.
            if event == .update, Int32(truncatingIfNeeded: row.integer(Column.mask)) == 0 { return }
            if event == .update || event == .review,
                !ColumnMask.isValid(row.integer(Column.mask), below: table.columns.count)
            {
                throw FerryError(
                    .databaseCorrupt,
                    "A pending change of \(table.localName) names a column that the table does not have. Run `ferry doctor`; "
                        + "a backup, or `ferry leave` and `ferry join`, mends it.")
            }
            let key = (0..<table.keyColumns.count).map { row.value(Column.key + Int32($0)) }
            if key.contains(.null) {
                if event == .insert { rowsWithoutKey += 1 }
                keylessTables.insert(number)
                return
            }
            // A row without the former key belongs only to the next generation (`GenerationChange`).
            if table.identity.isSurrogate, registry.leaving.contains(table.id), key[0].integerKey == nil { return }
            let time: HybridTime
            if row.isNull(Column.time) {
                time = try access.oldTime()
            } else {
                time = clock.advance(toMilliseconds: access.milliseconds(capturedOn: row.double(Column.time)))
            }
            changes.append(
                Change(
                    sequence: row.integer(Column.sequence), table: table, event: event, mask: row.integer(Column.mask),
                    time: time,
                    value: row.value(Column.value), key: key))
        }
    }
}
