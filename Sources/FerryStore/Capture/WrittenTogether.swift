import FerryCore

/// Columns that mean something together: who writes one of them means the others as the row shows them. Where that is not what
/// the object itself has, because a target is one with another row or the row shows another object's values, they are
/// written too.
struct WrittenTogether {
    let access: StoreAccess
    let table: TrackedTable

    init(_ access: StoreAccess, _ table: TrackedTable) {
        self.access = access
        self.table = table
    }

    /// - Parameters:
    ///   - state: of the object that is written.
    ///   - row: its row.
    func complete(_ operations: inout [CapturedOperation], _ state: ObjectState, _ row: FieldValues) throws {
        if state.kept.fields.isEmpty { return }
        for key in table.foreignKeys { complete(&operations, key.columns, state, row) { _ in true } }
        // What a joined row shows from one of its objects together: also what others refer to by value, and foreign keys that
        // share columns. A reference that is shown cleared stays what it is.
        guard state.shown == .exceptionalRow, try !access.joined.members(of: state.object, table.id).isEmpty else {
            return
        }
        for group in table.columnGroups where !group.isKey {
            complete(&operations, group.columns, state, row) { column in
                row[column] != .null || !table.clearableColumns.contains(column)
            }
        }
    }

    private func complete(
        _ operations: inout [CapturedOperation], _ columns: [Int], _ state: ObjectState, _ row: FieldValues,
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
