import FerryCore

/// Reads rows of a tracked table by keys. Where rows that are asked for follow one another in the table, it goes on from row
/// to row instead of searching for each: under consecutive integer keys, and under other keys in the order in which the rows
/// were inserted, which is that of their rowids.
final class RowCursor {
    private let keyWidth: Int
    /// How the rows of a table are ordered that has them in another order than its key's.
    private let rowID: String?
    private let select: SQLStatement
    /// From a key or a rowid on, in their order; the rowid stands before all else.
    private let scan: SQLStatement?
    /// The integer key or the rowid of the row that was read last.
    @exclusivity(unchecked) private var last: Int64?
    /// Whether `scan` is on that row.
    @exclusivity(unchecked) private var isScanning = false

    init(_ table: TrackedTable, _ connection: SQLConnection) throws {
        keyWidth = table.keyColumns.count
        rowID = table.isIntegerKey || table.isWithoutRowID ? nil : table.namesOfRowID.first
        let columns = (rowID.map { [$0] } ?? []) + (table.keyColumns + table.localColumns.map(\.name)).map(quoted)
        let rows = "SELECT \(columns.joined(separator: ", ")) FROM \(quoted(table.name)) WHERE "
        select = try connection.makeStatement(rows + table.keyCondition(first: 1))
        let order = table.isIntegerKey ? table.keyList : rowID
        scan = try order.map { try connection.makeStatement(rows + "\($0) >= ? ORDER BY \($0)") }
    }

    /// Whether rows are read faster in the order of their insertion than in that of their keys.
    var isOrderedByInsertion: Bool { rowID != nil }

    /// The column of a row's first value; those after it are the table's local columns, in the order of their numbers.
    var firstColumn: Int32 { firstKey + Int32(keyWidth) }
    private var firstKey: Int32 { rowID == nil ? 0 : 1 }

    /// The row with a key.
    /// - Parameters:
    ///   - keys: of several rows, one after another; they stay where they are until the next call.
    ///   - first: where the row's own begins.
    /// - Returns: a statement that is on it until the next call; `nil` where there is none.
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
        // Two in a row: more may come.
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
    /// Whether columns hold just these values.
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
