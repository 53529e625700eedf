import FerryCore
import FerrySchema

/// Receives the rows that a `RowWriter` writes.
protocol RowWriteObserver: AnyObject {
    /// Runs during writes in place of the app's triggers; `nil` if nothing runs.
    var triggers: (any RowTriggers)? { get }

    /// Records a row before its change or removal, if rows may refer to its values.
    /// - Parameter values: reads the parent keys that the row offers to rows of local tables; `nil` if none refer to
    ///   the row.
    func recordFormer(
        _ object: ObjectID, _ key: [FieldValue], of table: Int, offering values: () throws -> [FieldValue]?) throws

    /// Records a change of a key, set or counter of the key-value store.
    func recordChange(of kind: KeyValueKind, _ name: FieldValue?)

    /// True if `recordRow` is to be called.
    var recordsRows: Bool { get }

    /// Records a row written under a local key.
    /// - Parameter isRemoved: true if no row has the key now.
    func recordRow(_ table: Int, _ key: [FieldValue], isRemoved: Bool)

    /// Records columns in which a new row shows a default that differs from device to device, as a time does.
    func recordDefaults(_ table: Int, _ key: [FieldValue], in columns: [Int])
}

/// Runs the statements of the app's triggers during writes of rows.
protocol RowTriggers: AnyObject {
    /// True if any trigger runs on an event.
    func concern(_ table: TrackedTable, _ event: RowEvent) -> Bool

    /// Returns why the schema refuses a row, tried without triggers; `nil` if the schema accepts the row. Nothing is
    /// changed.
    func refusal(
        _ table: TrackedTable, _ event: RowEvent, _ body: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal?

    /// Writes a row with its triggers.
    func write(
        _ table: TrackedTable, _ event: RowEvent, _ body: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal?
}

extension TriggerCopies: RowTriggers {}
