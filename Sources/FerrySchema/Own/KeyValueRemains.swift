import FerryCore
import FerrySQL

/// The key-value store of a database that left its container. The rows stay in their tables, which are plain tables then: an app and SQL go
/// on reading them. The next container gets the rows, like the app's rows.
package struct KeyValueRemains {
    private let connection: SQLConnection
    /// The tables' columns, by name.
    private static let columns = [
        "ferry_kv_value": ["key", "value"], "ferry_kv_member": ["set", "member"],
        "ferry_kv_counter": ["counter", "device", "amount"],
    ]

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// True for the folded name of a table that may stay.
    package static func contains(_ folded: String) -> Bool { columns[folded] != nil }

    /// The names of the present tables, as Ferry writes them. An app's table under such a name has other columns.
    package func tables() throws -> [String] {
        try Self.columns.filter { name, columns in
            let isTable = try connection.count(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?", .text(name))
            if isTable != 1 { return false }
            return try connection.rows("SELECT name FROM pragma_table_xinfo(?)", .text(name)).map { $0[0].text }
                == columns
        }.keys.sorted()
    }

    /// The number of values, members and counters' rows.
    package func count() throws -> Int {
        try tables().reduce(0) { try $0 + connection.count("SELECT count(*) FROM \($1)") }
    }

    /// Removes the tables if they are empty.
    package func removeIfEmpty() throws {
        if try count() > 0 { return }
        for table in try tables() { try connection.executeScript("DROP TABLE \(table)") }
    }

    /// The script that makes all of Ferry's tables, without those that stayed.
    package func making(_ script: String) throws -> String {
        try tables().reduce(script) { $0.replacing("CREATE TABLE \($1)(", with: "CREATE TABLE IF NOT EXISTS \($1)(") }
    }
}
