import FerryCore
import FerrySchema

/// Distinguishes effects of SET NULL and SET DEFAULT on references from writes of the app.
extension CaptureHistory {
    /// Undoes effects of SET NULL or SET DEFAULT: they are derived, not written. A column's last change is undone if
    /// the change cleared a reference to an object deleted by this flush. The row's value becomes the former value, as
    /// in the state.
    ///
    /// A foreign key with several columns is undone only as a whole. A key NULL in part refers to nothing, and nothing
    /// would clear the rest. A column that somebody wrote behind the action refers to something else.
    /// - Returns: the columns whose row differs from the state.
    mutating func clearedReferences(
        _ track: Track, _ table: TrackedTable, _ row: inout ColumnValues
    ) throws -> ColumnValues {
        var cleared: ColumnValues = [:]
        for (column, notes) in Dictionary(grouping: track.references, by: \.column) {
            guard let last = notes.last, let parent = table.columns[column].reference,
                case .reference(let target) = last.former, tracks[parent]?[target]?.isDeleted ?? false,
                row[column] != last.former, try mayBeCleared(row[column], table, column)
            else { continue }
            cleared[column] = last.former
        }
        while let column = cleared.keys.first(where: { !isCleared($0, cleared, track, table, row) }) {
            cleared[column] = nil
        }
        row = row.overlaid(with: cleared)
        for column in cleared.keys where track.insertedAt == nil { track.changed[column] = track.changedBefore[column] }
        return cleared
    }

    /// True if the rules clear a column of such a row once its target is gone.
    /// - Parameter cleared: the columns that only the action changed.
    private func isCleared(
        _ column: Int, _ cleared: ColumnValues, _ track: Track, _ table: TrackedTable, _ row: ColumnValues
    ) -> Bool {
        table.foreignKeys.contains { key in
            (key.action == .setNull || key.action == .setDefault) && key.columns.contains(column)
                && key.columns.allSatisfy { part in
                    cleared.has(part) || row[part] ?? .null != .null && track.changed[part] == nil
                }
        }
    }

    /// True if the value may be the effect of a foreign key's action. A later write has a different value.
    private mutating func mayBeCleared(
        _ value: FieldValue?, _ table: TrackedTable, _ column: Int
    ) throws -> Bool {
        if value == .null { return true }
        let hasDefault = table.foreignKeys.contains { $0.action == .setDefault && $0.columns.contains(column) }
        guard hasDefault, let given = try access.defaultValue(of: table.columns[column]) else { return false }
        return try portable(given, table.columns[column]) == value
    }
}
