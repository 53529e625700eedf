import FerryCore
import FerrySQL
import FerrySchema

/// The new rows of a transaction with a default that differs from device to device: a time, or a random number.
///
/// The row comes from a device without the column. Each device would show a value of its own for good. So the shown value counts as
/// written here, just after the row, and the next pass sends it. Of several devices' values one wins, as of any simultaneous writes.
final class VaryingDefaults {
    struct Row {
        var table: Int
        /// The row's local key.
        var key: [FieldValue]
        /// The numbers of the columns without a value.
        var columns: [Int]
    }

    @exclusivity(unchecked) var rows: [Row] = []

    /// Records the values as pending changes.
    func save(_ connection: SQLConnection) throws {
        let pending = PendingTable(connection)
        for row in rows where !row.key.contains(.null) {
            for mask in ColumnMask.masks(of: row.columns) {
                try pending.note(.review, in: row.table, row.key, mask: mask)
            }
        }
        rows = []
    }
}

extension TrackedTable {
    /// The columns whose unwritten value differs from device to device.
    var varyingDefaults: [Int] { localColumns.filter { !$0.hasConstantDefault }.map(\.id) }
}
