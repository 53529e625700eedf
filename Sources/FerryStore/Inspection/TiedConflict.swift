import FerryCore
import FerrySchema

/// A value of this device that lost to another device's value of the same time.
///
/// Two devices hardly ever write at the same time. A rebuild without triggers is the exception: each device sends every column of a
/// row that somebody may have written, a tick after the column's former value (`UnseenWrites`).
package struct TiedConflict: Equatable, Sendable {
    package var number: Int64
    /// The table's travelling name.
    package var table: String
    package var object: ObjectID
    /// The column's travelling name.
    package var column: String
    /// The time of both values.
    package var time: HybridTime
    /// The portable value of the other device.
    package var kept: FieldValue
}
