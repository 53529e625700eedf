import FerryCore
import FerrySchema

/// Completes writes to columns that belong together: a write to any of them includes the remaining columns as shown by
/// the row.
///
/// If the shown values differ from the object's own, they are written too. They differ if a target is unified, or if
/// the row shows a different object's values.
struct ColumnGroupCompletion {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// - Parameters:
    ///   - state: the written object's state.
    ///   - row: the object's row.
    func complete(_ operations: inout [CapturedOperation], _ state: ObjectState, _ row: ColumnValues) throws {
        if state.kept.fields.isEmpty { return }
        for key in table.foreignKeys { complete(&operations, key.columns, state, row) { _ in true } }
        // Columns a unified row takes together from an object: also parent keys by value, and foreign keys sharing
        // columns. A reference shown cleared stays unchanged.
        guard state.shown == .anomalousRow, try !access.unified.members(of: state.object, table.id).isEmpty else {
            return
        }
        for group in table.columnGroups where !group.isKey {
            complete(&operations, group.columns, state, row) { column in
                row[column] != .null || !table.clearableColumns.contains(column)
            }
        }
    }

    private func complete(
        _ operations: inout [CapturedOperation], _ columns: [Int], _ state: ObjectState, _ row: ColumnValues,
        where isMeant: (Int) -> Bool
    ) {
        if columns.count == 1 { return }
        guard let last = operations.lastIndex(where: { $0.kind == .update && $0.values.hasAny(of: columns) }) else {
            return
        }
        for column in columns where !operations.contains(where: { $0.values[column] != nil }) {
            guard let own = state.kept.fields[column], let shown = row[column], shown != own, isMeant(column) else {
                continue
            }
            operations[last].values[column] = shown
        }
    }
}
