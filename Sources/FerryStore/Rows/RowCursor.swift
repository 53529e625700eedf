import FerryCore
import FerrySQL
import FerrySchema

/// Reads rows of a tracked table by key. If requested rows are adjacent in the table, steps from row to row instead of
/// searching. Rows under integer keys are adjacent by key; rows under any other key by rowid, the order of insertion.
///
/// Invariants:
/// - `last` is the integer key or rowid of the row read last; `nil` if unknown.
/// - `isScanning` is true only while `scan` is on the row `last`.
final class RowCursor {
    private let keyWidth: Int
    /// The rowid's name, for a table not ordered by its primary key.
    private let rowID: String?
    private let select: SQLStatement
    /// Selects rows from a key or rowid on, in ascending order; the rowid is the first column.
    private let scan: SQLStatement?
    /// The integer key or rowid of the row read last.
    @exclusivity(unchecked) private var last: Int64?
    /// True while `scan` is on that row.
    @exclusivity(unchecked) private var isScanning = false

    init(_ table: TrackedTable, _ connection: SQLConnection) throws {
        keyWidth = table.keyColumns.count
        rowID = table.isIntegerKey || table.isWithoutRowID ? nil : table.namesOfRowID.first
        let columns = (rowID.map { [$0] } ?? []) + (table.keyColumns + table.localColumns.map(\.name)).map(quoted)
        let rows = "SELECT \(columns.joined(separator: ", ")) FROM \(table.rows) WHERE "
        select = try connection.makeStatement(rows + table.keyCondition(first: 1))
        let order = table.isIntegerKey ? table.keyList : rowID
        scan = try order.map { try connection.makeStatement(rows + "\($0) >= ? ORDER BY \($0)") }
    }

    /// True if reading in insertion order is faster than reading in key order.
    var isOrderedByInsertion: Bool { rowID != nil }

    /// The result column of a row's first value. The table's local columns follow in ascending order of numbers.
    var firstColumn: Int32 { firstKey + Int32(keyWidth) }
    private var firstKey: Int32 { rowID == nil ? 0 : 1 }

    /// Finds the row with a key.
    /// - Parameters:
    ///   - keys: the keys of several rows in sequence. The caller must not change them until the next call.
    ///   - first: the start of this row's key.
    /// - Returns: a statement on the row, valid until the next call; `nil` if no row has the key.
    func row(_ keys: [FieldValue], at first: Int) throws -> SQLStatement? {
        guard let scan else { return try search(keys, first) }
        if rowID == nil, case .integer(let key) = keys[first] { return try row(key, scan) }
        if isScanning, let last, last < .max {
            if try scan.step(), scan.holds(keys[first..<first + keyWidth], firstKey) {
                self.last = scan.integer(0)
                return scan
            }
            isScanning = false
            self.last = nil
        }
        guard let row = try search(keys, first) else { return nil }
        guard rowID != nil else { return row }
        let number = row.integer(0)
        let follows = last.map { $0 < .max && $0 + 1 == number } ?? false
        last = number
        if !follows { return row }
        // Two adjacent rows: more may follow.
        scan.rewind()
        scan.bind(number, 1)
        isScanning = try scan.step()
        return isScanning ? scan : row
    }

    private func search(_ keys: [FieldValue], _ first: Int) throws -> SQLStatement? {
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

extension SQLStatement {
    /// True if columns hold exactly these values.
    fileprivate func holds(_ values: ArraySlice<FieldValue>, _ first: Int32) -> Bool {
        var column = first
        for value in values {
            let isSame =
                switch value {
                case .text(let bytes): isText(column) == true && withBytes(column) { $0.elementsEqual(bytes) }
                case .blob(let bytes): isText(column) == false && withBytes(column) { $0.elementsEqual(bytes) }
                default: self.value(column) == value
                }
            if !isSame { return false }
            column += 1
        }
        return true
    }
}
