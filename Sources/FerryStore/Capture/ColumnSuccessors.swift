import FerrySQL
import FerrySchema

/// The columns that a migration put in place of columns that are gone (`ColumnOrigins`), of each table.
///
/// An unsent write of a column that is gone counts as a write of its successors: their values are of that write.
struct ColumnSuccessors {
    private let connection: SQLConnection
    /// By table, and by the column that is gone.
    private var known: [Int: [Int: [Int]]] = [:]

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The successors of columns; empty for columns that are still there.
    mutating func of(_ columns: some Sequence<Int>, _ table: TrackedTable) throws -> [Int] {
        // Most tables have all their columns.
        if table.localColumns.count == table.columns.count { return [] }
        let gone = columns.filter { table.columns.indices.contains($0) && !table.columns[$0].isLocal }
        if gone.isEmpty { return [] }
        let all = try known[table.id] ?? find(table)
        known[table.id] = all
        return gone.flatMap { all[$0] ?? [] }
    }

    /// Of several columns, those of the former type are meant, if there are any.
    private func find(_ table: TrackedTable) throws -> [Int: [Int]] {
        let types = try UnseenTables(connection).types(of: table.id)
        var found: [Int: [Int]] = [:]
        for column in table.localColumns where !column.isVariant {
            let same = column.precursors.filter { types["\($0)"] == column.affinity }
            for former in same.isEmpty ? column.precursors : same { found[former, default: []].append(column.id) }
        }
        return found.mapValues { successors in
            let same = successors.filter { successor in
                table.columns[successor].precursors.contains { types["\($0)"] == table.columns[successor].affinity }
            }
            return same.isEmpty ? successors : same
        }
    }
}
