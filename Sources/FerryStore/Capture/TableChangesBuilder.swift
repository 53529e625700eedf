import FerryCore
import FerrySchema

/// Collects a flush's operations on a table.
///
/// Invariants:
/// - The first `localCount` of `changes.columns` are the given columns; foreign columns and payload columns follow.
/// - Every operation's values are in the order of its shape's positions.
struct TableChangesBuilder {
    private(set) var changes: TableChanges
    /// Bytes of the values.
    private(set) var valueBytes = 0
    private let table: TrackedTable
    private var shapes: [[Int]: Int] = [:]
    private var lastShape: Int?
    private var scratch: [Int] = []
    /// The position in `changes.columns` by column number; -1 for an unused column.
    private var places: [Int]
    /// The positions of columns with payloads.
    private var payloadPlaces: [EncodedPart.Column: Int] = [:]
    /// Number of this database's columns in `changes.columns`.
    private let localCount: Int

    /// - Parameter columns: the columns with travelling values; `nil` for the local table's columns.
    init(_ table: TrackedTable, columns: [TrackedColumn]? = nil) {
        self.table = table
        changes = TableChanges(name: table.name, identity: table.identity)
        let columns = columns ?? table.localColumns
        places = Array(repeating: -1, count: max(table.columns.count, (columns.last?.id ?? -1) + 1))
        localCount = columns.count
        for column in columns {
            places[column.id] = changes.columns.count
            changes.columns.append(column.travellingName)
        }
    }

    var isEmpty: Bool { changes.operations.isEmpty }

    /// What an operation writes.
    struct Content {
        /// By column number. For a column with a part, the value itself does not travel.
        var values: ColumnValues = [:]
        var parts: [EncodedPart] = []
    }

    /// Adds an operation.
    mutating func append(
        _ object: ObjectID, _ kind: ObjectOperation.Kind, _ time: HybridTime, key: FieldValue? = nil,
        _ content: Content = Content()
    ) {
        let (values, parts) = (content.values, content.parts)
        let firstValue = changes.values.count
        scratch.removeAll(keepingCapacity: true)
        // Values of columns missing here, and parts, come last.
        var behind: [(place: Int, value: FieldValue)] = []
        for part in parts { behind.append((place(of: part.column), .blob(part.bytes[...]))) }
        values.forEachColumn { column, value in
            if parts.contains(where: { $0.column.number == column }) { return }
            let place = places[column]
            if place < 0 {
                behind.append((placeOfForeign(column), value))
                return
            }
            if place >= localCount {
                behind.append((place, value))
            } else {
                scratch.append(place)
                changes.values.append(value)
                valueBytes += value.byteCount
            }
        }
        if behind.count > 1 { behind.sort { $0.place < $1.place } }
        for field in behind {
            scratch.append(field.place)
            changes.values.append(field.value)
            valueBytes += field.value.byteCount
        }
        // Most operations have the same columns as the preceding operation.
        if lastShape.map({ changes.shapes[$0] != scratch }) ?? true {
            if let known = shapes[scratch] {
                lastShape = known
            } else {
                lastShape = changes.shapes.count
                shapes[scratch] = changes.shapes.count
                changes.shapes.append(scratch)
            }
        }
        changes.operations.append(
            ObjectOperation(
                object: object, kind: kind, time: time, key: key, shape: lastShape ?? 0, firstValue: firstValue))
    }

    private mutating func placeOfForeign(_ column: Int) -> Int {
        let made = changes.columns.count
        if !changes.payloads.isEmpty { changes.payloads.append(nil) }
        changes.columns.append(table.columns[column].travellingName)
        places[column] = made
        return made
    }

    /// Columns with payloads come after this database's columns.
    private mutating func place(of column: EncodedPart.Column) -> Int {
        if let known = payloadPlaces[column] { return known }
        let made = changes.columns.count
        changes.payloads += Array(repeating: nil, count: made - changes.payloads.count) + [column.kind]
        changes.columns.append(table.columns[column.number].travellingName)
        payloadPlaces[column] = made
        return made
    }
}
