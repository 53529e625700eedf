import FerryCore
import FerrySchema

/// The columns of two generations of a table that hold the same values.
///
/// Invariant: `present` has the numbers of former columns only.
struct GenerationColumns {
    let left: TrackedTable
    let table: TrackedTable
    /// The columns of the present generation by the former generation's column numbers, if present.
    private(set) var present: [Int: TrackedColumn] = [:]
    /// The columns of the former generation's key.
    let formerKey: [String]
    /// The present column of the former mapped key.
    private(set) var formerKeyColumn: TrackedColumn?
    /// The former column with the values of the present mapped key.
    private(set) var keyAsValue: Int?

    /// - Parameters:
    ///   - left: the former generation.
    ///   - table: the present generation.
    ///   - formerKey: the columns of the former generation's key.
    init(_ left: TrackedTable, _ table: TrackedTable, formerKey: [String]) {
        self.left = left
        self.table = table
        self.formerKey = formerKey
        for column in left.columns {
            // By the present name: a column with a new meaning is a different column.
            let number =
                column.isLocal ? table.columnID(column.name) : table.columnID(travelling: column.travellingName)
            if let number { present[column.id] = table.columns[number] }
        }
        if left.isMapped, let name = formerKey.first, let number = table.columnID(name) {
            formerKeyColumn = table.columns[number]
        }
        if table.isMapped { keyAsValue = left.columnID(table.keyColumns[0]) }
    }
}
