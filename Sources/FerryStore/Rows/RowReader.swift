import FerryCore

/// Reads rows of a tracked table as field values, references resolved to object IDs by the caller. Keeps its
/// statements: get it from `StoreAccess.reader(of:)`.
final class RowReader {
    let table: TrackedTable
    private let connection: SQLConnection
    /// The columns that are read, in the order of their numbers.
    let columns: [TrackedColumn]
    private let columnIDs: [Int]
    private lazy var select = LazyStatement(
        "SELECT \(names { quoted($0.name) }) FROM \(quoted(table.name)) WHERE \(table.keyCondition(first: 1))",
        connection)
    /// For some of the columns, by their numbers; and the one that was used last.
    @exclusivity(unchecked) private var partial: [[Int]: LazyStatement] = [:]
    @exclusivity(unchecked) private var lastPartial: (columns: [Int], statement: LazyStatement)?
    @exclusivity(unchecked) private var lastSingle: (column: Int, statement: LazyStatement)?
    private lazy var selectOld = LazyStatement(
        "SELECT \(names { "c\($0.id)" }) FROM \(table.oldRowsTable) WHERE sequence = ?", connection)

    init(_ table: TrackedTable, _ connection: SQLConnection) {
        self.table = table
        self.connection = connection
        columns = table.localColumns
        columnIDs = columns.map(\.id)
    }

    private func names(_ name: (TrackedColumn) -> String) -> String {
        columns.isEmpty ? "1" : columns.map(name).joined(separator: ", ")
    }

    /// The values of the row with a local key, by column number, as SQLite reads them; `nil` where there is no row.
    func read(_ key: [FieldValue]) throws -> FieldValues? {
        if key.isEmpty { return nil }
        let statement = try select.prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    /// Some values of the row with a local key; `nil` where there is no row.
    /// - Parameter numbers: of the columns, which the local table has, ascending.
    func read(_ key: [FieldValue], columns numbers: [Int]) throws -> FieldValues? {
        if key.isEmpty { return nil }
        let statement = try selection(of: numbers).prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return FieldValues(width: table.columns.count, columns: numbers) { statement.value(Int32($0)) }
    }

    /// One value of the row with a local key; `nil` where there is no row.
    /// - Parameter number: of a column that the local table has.
    func read(_ key: [FieldValue], column number: Int) throws -> FieldValue? {
        if key.isEmpty { return nil }
        let statement = try selection(of: number).prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        return try statement.step() ? statement.value(0) : nil
    }

    private func selection(of number: Int) -> LazyStatement {
        if let lastSingle, lastSingle.column == number { return lastSingle.statement }
        let statement = selection(of: [number])
        lastSingle = (number, statement)
        return statement
    }

    private func selection(of numbers: [Int]) -> LazyStatement {
        if let lastPartial, lastPartial.columns == numbers { return lastPartial.statement }
        let names = numbers.map { quoted(table.columns[$0].name) }
        let statement =
            partial[numbers]
            ?? LazyStatement(
                "SELECT \(numbers.isEmpty ? "1" : names.joined(separator: ", ")) FROM \(quoted(table.name)) "
                    + "WHERE \(table.keyCondition(first: 1))", connection)
        partial[numbers] = statement
        lastPartial = (numbers, statement)
        return statement
    }

    /// The values of a deleted or displaced row that a trigger kept under a pending event's sequence.
    func readOld(_ sequence: Int64) throws -> FieldValues? {
        let statement = try selectOld.prepared()
        defer { statement.rewind() }
        statement.bind(sequence, 1)
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    private func values(_ statement: SQLStatement, from first: Int32) -> FieldValues {
        FieldValues(width: table.columns.count, columns: columnIDs) { statement.value(first + Int32($0)) }
    }
}
