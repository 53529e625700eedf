import FerryCore
import FerrySQL
import FerrySchema

/// Reads rows of a tracked table as local values; the caller resolves references to object IDs. Caches its statements,
/// so use `StoreAccess.reader(of:)`.
final class RowReader {
    let table: TrackedTable
    private let connection: SQLConnection
    /// The columns read, by ascending number.
    let columns: [TrackedColumn]
    private let columnIDs: [Int]
    private lazy var select = LazyStatement(
        "SELECT \(names { quoted($0.name) }) FROM \(table.rows) WHERE \(table.keyCondition(first: 1))",
        connection)
    /// Statements for some of the columns, by column numbers; the last used statement is searched first.
    @exclusivity(unchecked) private var partial: [[Int]: LazyStatement] = [:]
    @exclusivity(unchecked) private var lastPartial: (columns: [Int], statement: LazyStatement)?
    @exclusivity(unchecked) private var lastSingle: (column: Int, statement: LazyStatement)?
    private lazy var selectOld = LazyStatement(
        "SELECT \(names { "c\($0.id)" }) FROM \(table.beforeImageTable) WHERE sequence = ?", connection)

    init(_ table: TrackedTable, _ connection: SQLConnection) {
        self.table = table
        self.connection = connection
        columns = table.localColumns
        columnIDs = columns.map(\.id)
    }

    private func names(_ name: (TrackedColumn) -> String) -> String {
        columns.isEmpty ? "1" : columns.map(name).joined(separator: ", ")
    }

    /// The local values of the row with a local key, by column number; `nil` without a row.
    func read(_ key: [FieldValue]) throws -> ColumnValues? {
        if key.isEmpty { return nil }
        let statement = try select.prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    /// Passes the row with a local key: its values are the statement's columns, in the order of `columns`.
    /// - Returns: `nil` without a row.
    func withRow<Result>(_ key: [FieldValue], _ body: (SQLStatement) throws -> Result) throws -> Result? {
        if key.isEmpty { return nil }
        let statement = try select.prepared()
        defer { statement.rewind() }
        for index in key.indices { statement.bind(key[index], Int32(index + 1)) }
        return try statement.step() ? body(statement) : nil
    }

    /// Some values of the row with a local key; `nil` without a row.
    /// - Parameter numbers: numbers of columns in the local table, ascending.
    func read(_ key: [FieldValue], columns numbers: [Int]) throws -> ColumnValues? {
        if key.isEmpty { return nil }
        let statement = try selection(of: numbers).prepared()
        defer { statement.rewind() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return ColumnValues(width: table.columns.count, columns: numbers) { statement.value(Int32($0)) }
    }

    /// A single value of the row with a local key; `nil` without a row.
    /// - Parameter number: the number of a column in the local table.
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
                "SELECT \(numbers.isEmpty ? "1" : names.joined(separator: ", ")) FROM \(table.rows) "
                    + "WHERE \(table.keyCondition(first: 1))", connection)
        partial[numbers] = statement
        lastPartial = (numbers, statement)
        return statement
    }

    /// The before-image of a deleted or displaced row, recorded by a trigger under a pending change's sequence.
    func readOld(_ sequence: Int64) throws -> ColumnValues? {
        let statement = try selectOld.prepared()
        defer { statement.rewind() }
        statement.bind(sequence, 1)
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    private func values(_ statement: SQLStatement, from first: Int32) -> ColumnValues {
        ColumnValues(width: table.columns.count, columns: columnIDs) { statement.value(first + Int32($0)) }
    }
}
