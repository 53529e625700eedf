import FerryCore
import FerrySchema

/// An object with a changed state or row, for the rules.
struct TouchedObject {
    var table: Int
    var object: ObjectID
    /// Columns with changed values, by number; all columns after an insertion or deletion.
    var columns: [Int]
    /// True if the row is gone now.
    var isDeleted: Bool
    /// True if a statement made the row.
    var isInsertion = false
    /// True if state and row do not agree yet, so the rules must decide.
    var needsRules: Bool
    /// The present or former local key of the row; empty if nothing can refer to the key.
    var key: [FieldValue] = []
    /// The former row, if a flush deleted the row and foreign keys may refer to its values.
    var deletion: FlushedDeletion?
}

/// The deletion of a row by statements on this device. A class, because most touched objects have none, and are passed
/// around.
final class FlushedDeletion: Sendable {
    /// The row's portable values.
    let formerRow: ColumnValues
    /// Columns written by the flush before the deletion. Rows may have referred by values unknown now.
    let rewritten: [Int]

    init(formerRow: ColumnValues, rewritten: [Int]) {
        self.formerRow = formerRow
        self.rewritten = rewritten
    }
}

/// A removed row that further rows may still refer to.
struct FormerRow {
    var key: [FieldValue]
    /// The row's portable values; empty if only the object's own values are known.
    var values: ColumnValues
}
