import FerryCore
import FerrySQL
import FerrySchema

/// Converts a leaving table's integer keys after a migration changed the key column's type, for example to text.
/// Objects and pending changes find their rows by the converted keys until the table has left.
struct LeavingKeys {
    private let connection: SQLConnection
    private let schema: Schema

    init(_ connection: SQLConnection, _ schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// - Parameter former: the tables leaving before.
    func bring(after former: [String: [String]]) throws {
        let leaving = try Generations.load(MetaTable(connection: connection)).leaving
        for (number, key) in leaving where former[number] == nil {
            guard let entry = try RegisteredTables(connection).all().first(where: { "\($0.number)" == number }),
                try IdentityText.parse(entry.identity).isSurrogate
            else { continue }
            guard let affinity = schema.table(entry.name)?.column(key[0])?.affinity, affinity != .integer else {
                continue
            }
            try bring("\(OwnNames.objects)\(number)", "object", "k0", "1", affinity)
            let isOfTable = "\"table\" = \(number)"
            try bring(PendingTable.name, "sequence", "k0", isOfTable, affinity)
            let isRekey = "\(isOfTable) AND event = \(PendingEvent.rekey.rawValue)"
            try bring(PendingTable.name, "sequence", "value", isRekey, affinity)
        }
    }

    private func bring(
        _ table: String, _ row: String, _ column: String, _ condition: String, _ affinity: SchemaColumn.Affinity
    ) throws {
        let integers = try connection.rows(
            "SELECT \(row), \(column) FROM \(table) WHERE typeof(\(column)) = 'integer' AND \(condition)")
        for found in integers {
            let brought = found[1].taken(by: affinity)
            if brought == found[1] { continue }
            try connection.execute("UPDATE \(table) SET \(column) = ? WHERE \(row) = ?", brought, found[0])
        }
    }
}
