import FerryCore

/// Collects the operations of one flush on one table.
struct TableChangesBuilder {
    private(set) var changes: TableChanges
    private let table: TrackedTable
    private var shapes: [[Int]: Int] = [:]
    /// The place in `changes.columns` of each column number in use.
    private var places: [Int: Int] = [:]

    init(_ table: TrackedTable) {
        self.table = table
        changes = TableChanges(name: table.name, identity: table.identity)
        for column in table.localColumns {
            places[column.id] = changes.columns.count
            changes.columns.append(column.name)
        }
    }

    var isEmpty: Bool { changes.operations.isEmpty }

    /// Adds an operation. `values` are by column number, ascending.
    mutating func append(
        _ object: ObjectID, _ kind: Operation.Kind, _ time: HybridTime, key: FieldValue? = nil,
        values: [(column: Int, value: FieldValue)] = []
    ) {
        let columns = values.compactMap { places[$0.column] }
        let shape: Int
        if let known = shapes[columns] {
            shape = known
        } else {
            shape = changes.shapes.count
            shapes[columns] = shape
            changes.shapes.append(columns)
        }
        changes.operations.append(
            Operation(
                object: object, kind: kind, time: time, key: key, shape: shape, firstValue: changes.values.count))
        changes.values.append(contentsOf: values.lazy.map(\.value))
    }
}
