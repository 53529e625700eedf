import FerryCore
import FerrySchema

/// A conflict in which a value lost that perhaps nobody wrote.
///
/// A rebuild without triggers sends every column of a row that somebody may have written, a tick after the column's former value
/// (`UnseenWrites`). Such a value may be the former value. It may lose to a later write, and it may win or lose against another device's
/// value of the same time.
package struct BackdatedConflict: Equatable, Sendable {
    package var number: Int64
    /// The table's travelling name.
    package var table: String
    package var object: ObjectID
    /// The column's travelling name.
    package var column: String
    /// The time of the lost value.
    package var time: HybridTime
    /// The portable values.
    package var lost: FieldValue
    package var kept: FieldValue
    /// True if the lost value is this device's.
    package var isOwn: Bool
    /// True if both values have the same time. Two devices hardly ever write at the same time.
    package var isTie: Bool
}
