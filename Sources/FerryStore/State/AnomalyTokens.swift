import FerryCore
import FerryMerge
import FerrySQL

/// The dependency tokens of anomalous objects (`ferry_exception_token`): everything an object refers to or claims, and
/// its parent keys. A token finds the object when a related object comes, goes or changes.
final class AnomalyTokens {
    private let connection: SQLConnection
    private let insert: LazyStatement
    private let select: LazyStatement
    @exclusivity(unchecked) private var tables: Set<Int>?

    init(_ connection: SQLConnection) {
        self.connection = connection
        insert = LazyStatement("INSERT OR IGNORE INTO ferry_exception_token VALUES (?, ?, ?, ?)", connection)
        select = LazyStatement(
            "SELECT \"table\", object FROM ferry_exception_token WHERE token_table = ? AND token = ?", connection)
    }

    /// True if a table has any token. Otherwise no object of the table needs a lookup by tokens.
    func areAny(of table: Int) throws -> Bool {
        if let tables { return tables.contains(table) }
        var found: Set<Int> = []
        try connection.forEachRow("SELECT DISTINCT token_table FROM ferry_exception_token") { found.insert($0.int(0)) }
        tables = found
        return found.contains(table)
    }

    /// The anomalous objects concerned by a token.
    func objects(concernedBy token: RowToken) throws -> [RowToken] {
        guard try areAny(of: token.table) else { return [] }
        let statement = try select.prepared()
        defer { statement.reset() }
        statement.bind(token.table, 1)
        statement.bind(token.id, 2)
        var found: [RowToken] = []
        while try statement.step() {
            if let id: ObjectID = statement.id(1) { found.append(RowToken(table: statement.int(0), id: id)) }
        }
        return found
    }

    /// Removes the tokens of an object.
    func forget(_ object: RowToken) throws {
        try connection.execute(
            "DELETE FROM ferry_exception_token WHERE \"table\" = ? AND object = ?", .integer(Int64(object.table)),
            .blob(object.id.bytes[...]))
    }

    /// Removes the tokens of all objects of a table.
    func forgetTable(_ table: Int) throws {
        try connection.execute("DELETE FROM ferry_exception_token WHERE \"table\" = ?", .integer(Int64(table)))
    }

    func note(_ token: RowToken, concerns object: RowToken) throws {
        let statement = try insert.prepared()
        statement.bind(token.table, 1)
        statement.bind(token.id, 2)
        statement.bind(object.table, 3)
        statement.bind(object.id, 4)
        try statement.run()
        tables?.insert(token.table)
    }
}
