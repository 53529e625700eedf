import FerryCore

/// Who is told of the rows that a `RowWriter` writes.
protocol RowWriteObserver: AnyObject {
    /// What runs beside the writes in place of the app's triggers; `nil` where nothing does.
    var triggers: (any RowTriggers)? { get }

    /// A row that others may refer to by value is about to change or to go.
    /// - Parameter values: reads what the row offers to rows that stay on this device; `nil` where none refer to it.
    func recordFormer(
        _ object: ObjectID, _ key: [FieldValue], of table: Int, offering values: () throws -> [FieldValue]?) throws

    /// A key, set or counter of the key-value store changed.
    func recordChange(of kind: KeyValueKind, _ name: FieldValue?)

    /// Whether `recordRow` is to be called.
    var recordsRows: Bool { get }

    /// A row was written under a local key.
    /// - Parameter isRemoved: whether there is no row under the key now.
    func recordRow(_ table: Int, _ key: [FieldValue], isRemoved: Bool)
}

/// Runs what the app's triggers say, beside writes of rows.
protocol RowTriggers: AnyObject {
    /// Whether any runs on an occasion.
    func concern(_ table: TrackedTable, _ event: RowEvent) -> Bool

    /// Why the schema refuses a row, tried without triggers; `nil` where it does not. Nothing is changed.
    func refusal(
        _ table: TrackedTable, _ event: RowEvent, _ body: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal?

    /// Writes a row with the triggers that run.
    func write(
        _ table: TrackedTable, _ event: RowEvent, _ body: () throws -> RowWriter.Refusal?
    ) throws -> RowWriter.Refusal?
}

extension TriggerCopies: RowTriggers {}
