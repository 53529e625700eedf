import FerryCore
import FerrySchema

/// A captured operation, with portable values by column number.
struct CapturedOperation {
    var kind: ObjectOperation.Kind
    var time: HybridTime
    var values: ColumnValues
    /// For a deletion: the row's former values.
    var beforeImage: ColumnValues?
    /// True if nobody knows the written columns and times (`UnseenWrites`). Each value then gets the time just after
    /// its column's time, and overwrites only the value it replaced.
    var isReview = false
    /// On a unified row: the values shown before in columns under a policy that changes values in steps. The same step is
    /// made on every object of the row (`RegisterWriter`).
    var rowValues: ColumnValues = [:]
}
