import FerryCore

/// Reads rows of a tracked table by keys that mostly follow one another: under consecutive integer keys it goes on from
/// row to row instead of searching for each.
final class RowCursor {
    private let keyWidth: Int
    private let select: SQLStatement
    /// From a key on, in the order of keys; the key stands before the columns.
    private let scan: SQLStatement?
    /// The key of the row that `scan` is on.
    private var last: Int64?

    init(_ table: TrackedTable, _ connection: SQLConnection) throws {
        keyWidth = table.keyColumns.count
        let columns = (table.keyColumns + table.localColumns.map(\.name)).map(quoted).joined(separator: ", ")
        let rows = "SELECT \(columns) FROM \(quoted(table.name)) WHERE "
        if table.isIntegerKey {
            select = try connection.makeStatement(rows + "\(table.keyList) = ?")
            scan = try connection.makeStatement(rows + "\(table.keyList) >= ? ORDER BY \(table.keyList)")
        } else {
            select = try connection.makeStatement(rows + table.keyCondition(first: 1))
            scan = nil
        }
    }

    /// The column of a row's first value; those after it are the table's local columns, in the order of their numbers.
    var firstColumn: Int32 { Int32(keyWidth) }

    /// The row with a key.
    /// - Parameters:
    ///   - keys: of several rows, one after another; they stay where they are until the next call.
    ///   - first: where the row's own begins.
    /// - Returns: a statement that is on it until the next call; `nil` where there is none.
    func row(_ keys: [FieldValue], at first: Int) throws -> SQLStatement? {
        if let scan, case .integer(let integer) = keys[first] { return try row(integer, scan) }
        select.rewind()
        for slot in 0..<keyWidth { select.bind(lasting: keys[first + slot], Int32(slot + 1)) }
        return try select.step() ? select : nil
    }

    private func row(_ key: Int64, _ scan: SQLStatement) throws -> SQLStatement? {
        let goesOn = last.map { $0 < .max && $0 + 1 == key } ?? false
        last = nil
        if !goesOn {
            scan.rewind()
            scan.bind(key, 1)
        }
        guard try scan.step(), scan.integer(0) == key else { return nil }
        last = key
        return scan
    }
}
