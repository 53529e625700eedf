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
        let statement = try select.prepared()
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    /// The values of a deleted or displaced row that a trigger kept under a pending event's sequence.
    func readOld(_ sequence: Int64) throws -> FieldValues? {
        let statement = try selectOld.prepared()
        defer { statement.reset() }
        statement.bind(sequence, 1)
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    private func values(_ statement: SQLStatement, from first: Int32) -> FieldValues {
        FieldValues(width: table.columns.count, columns: columnIDs) { statement.value(first + Int32($0)) }
    }
}
