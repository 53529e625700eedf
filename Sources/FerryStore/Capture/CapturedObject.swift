import FerryCore
import FerrySchema

/// An object of a flush, to be written by `LocalChangeWriter`.
struct CapturedObject {
    var object: ObjectID
    /// True if the object is new in this flush.
    var isFresh: Bool
    /// The present row's key; empty without a row.
    var key: [FieldValue]
    /// The object's last key.
    var formerKey: [FieldValue]
    /// Without a row, true to keep the last key reserved.
    var keepsKey: Bool
    var operations: [CapturedOperation]
    /// The present row's portable values.
    var row: ColumnValues
    /// Columns the row shows cleared, with their values in the state.
    var cleared: ColumnValues
}
