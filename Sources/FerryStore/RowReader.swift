import FerryCore

/// Reads rows of a tracked table as field values, references resolved to object IDs by the caller.
struct RowReader {
    let table: TrackedTable
    let connection: SQLConnection
    /// The columns that are read, in the order of their numbers.
    let columns: [TrackedColumn]
    private let sql: String

    init(_ table: TrackedTable, _ connection: SQLConnection) {
        self.table = table
        self.connection = connection
        columns = table.localColumns
        let names = columns.map { quoted($0.name) }.joined(separator: ", ")
        sql = "SELECT \(names.isEmpty ? "1" : names) FROM \(quoted(table.name)) WHERE \(table.keyCondition(first: 1))"
    }

    /// The values of the row with a local key, by column number, as SQLite reads them; `nil` where there is no row.
    func read(_ key: [FieldValue]) throws -> [Int: FieldValue]? {
        let statement = try connection.prepare(sql)
        defer { statement.reset() }
        for (index, value) in key.enumerated() { statement.bind(value, Int32(index + 1)) }
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    /// The values of a deleted or displaced row that a trigger kept under a pending event's sequence.
    func readOld(_ sequence: Int64) throws -> [Int: FieldValue]? {
        let names = columns.map { "c\($0.id)" }.joined(separator: ", ")
        let statement = try connection.prepare(
            "SELECT \(names.isEmpty ? "1" : names) FROM \(table.oldRowsTable) WHERE sequence = ?")
        defer { statement.reset() }
        statement.bind(sequence, 1)
        guard try statement.step() else { return nil }
        return values(statement, from: 0)
    }

    private func values(_ statement: SQLStatement, from first: Int32) -> [Int: FieldValue] {
        var values: [Int: FieldValue] = [:]
        values.reserveCapacity(columns.count)
        for (index, column) in columns.enumerated() { values[column.id] = statement.value(first + Int32(index)) }
        return values
    }
}
