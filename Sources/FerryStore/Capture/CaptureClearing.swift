import FerryCore

/// What SET NULL and SET DEFAULT did to references is told apart from what the app wrote.
extension CaptureHistory {
    /// What a SET NULL or SET DEFAULT did is derived, not written: the column's last change is taken back where it
    /// cleared a reference to an object that this flush deleted. The row's value becomes the one before, so that it is
    /// what the state holds.
    ///
    /// Of a foreign key with several columns only all are taken back: one that is NULL in part refers to nothing, and nothing
    /// would clear the rest of it.
    /// - Returns: the columns whose row shows something else than the state.
    mutating func clearedReferences(
        _ track: Track, _ table: TrackedTable, _ row: inout FieldValues
    ) throws -> FieldValues {
        var cleared: FieldValues = [:]
        for (column, notes) in Dictionary(grouping: track.references, by: \.column) {
            guard let last = notes.last, let parent = table.columns[column].reference,
                case .reference(let target) = last.former, tracks[parent]?[target]?.isDeleted ?? false,
                row[column] != last.former, try mayBeCleared(row[column], table, column)
            else { continue }
            cleared[column] = last.former
        }
        while let column = cleared.keys.first(where: { !isCleared($0, table, row.overlaid(with: cleared)) }) {
            cleared[column] = nil
        }
        row = row.overlaid(with: cleared)
        for column in cleared.keys where track.insertedAt == nil { track.changed[column] = track.changedBefore[column] }
        return cleared
    }

    /// Whether the rules clear a column of a row with these values once what it refers to is gone.
    private func isCleared(_ column: Int, _ table: TrackedTable, _ row: FieldValues) -> Bool {
        table.foreignKeys.contains { key in
            (key.action == .setNull || key.action == .setDefault) && key.columns.contains(column)
                && key.columns.allSatisfy { row[$0] ?? .null != .null }
        }
    }

    /// Whether a value may be what a foreign key's action left. What was written after it is no action's.
    private mutating func mayBeCleared(
        _ value: FieldValue?, _ table: TrackedTable, _ column: Int
    ) throws -> Bool {
        if value == .null { return true }
        let hasDefault = table.foreignKeys.contains { $0.action == .setDefault && $0.columns.contains(column) }
        guard hasDefault, let given = try access.defaultValue(of: table.columns[column]) else { return false }
        return try travelling(given, table.columns[column]) == value
    }
}
