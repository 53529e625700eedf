import FerryCore
import FerryMerge
import FerrySQL

/// The objects shown by a different object's row (`ferry_joined`): members of a unified row, and aliases. An alias is
/// the ID derived from the key a row shows, if the row's object has a different key.
final class UnifiedObjects {
    private let connection: SQLConnection
    private let selectMembers: LazyStatement
    private let selectRepresentative: LazyStatement
    @exclusivity(unchecked) private var tables: Set<Int>?

    init(_ connection: SQLConnection) {
        self.connection = connection
        // Without the hint SQLite scans all of the table's entries in primary key order.
        selectMembers = LazyStatement(
            """
            SELECT object FROM ferry_joined INDEXED BY ferry_joined_representative
            WHERE "table" = ? AND representative = ? AND NOT alias ORDER BY object
            """, connection)
        selectRepresentative = LazyStatement(
            "SELECT representative FROM ferry_joined WHERE \"table\" = ? AND object = ?", connection)
    }

    /// True if a table has any entry. Most tables have none, and need no further lookup.
    func areAny(in table: Int) throws -> Bool {
        if let tables { return tables.contains(table) }
        var found: Set<Int> = []
        try connection.forEachRow("SELECT DISTINCT \"table\" FROM ferry_joined") { found.insert($0.int(0)) }
        tables = found
        return found.contains(table)
    }

    /// The further objects shown by a representative's row, by ID.
    func members(of representative: ObjectID, _ table: Int) throws -> [ObjectID] {
        guard try areAny(in: table) else { return [] }
        let statement = try selectMembers.prepared()
        defer { statement.reset() }
        statement.bind(table, 1)
        statement.bind(representative, 2)
        var members: [ObjectID] = []
        while try statement.step() {
            if let id: ObjectID = statement.id(0) { members.append(id) }
        }
        return members
    }

    /// The representative whose row shows an ID; `nil` if the ID is shown by its own row or by none.
    func representative(of object: ObjectID, _ table: Int) throws -> ObjectID? {
        guard try areAny(in: table) else { return nil }
        let statement = try selectRepresentative.prepared()
        defer { statement.reset() }
        statement.bind(table, 1)
        statement.bind(object, 2)
        return try statement.step() ? statement.id(0) : nil
    }

    /// Runs `body` for each member, with the object whose row shows the member. A representative that cannot be read is
    /// `nil`.
    func forEachMember(_ body: (RowToken, _ representative: ObjectID?) -> Void) throws {
        try connection.forEachRow("SELECT \"table\", object, representative FROM ferry_joined WHERE NOT alias") { row in
            if let id: ObjectID = row.id(1) { body(RowToken(table: row.int(0), id: id), row.id(2)) }
        }
    }

    /// True if an object is a member, an alias or a representative.
    func concerns(_ token: RowToken) throws -> Bool {
        guard try areAny(in: token.table) else { return false }
        return try connection.count(
            """
            SELECT EXISTS(SELECT 1 FROM ferry_joined WHERE "table" = ?1 AND object = ?2)
                OR EXISTS(SELECT 1 FROM ferry_joined WHERE "table" = ?1 AND representative = ?2)
            """, .integer(Int64(token.table)), .blob(token.id.bytes[...])) != 0
    }

    /// Forgets all objects of a table.
    func forgetTable(_ table: Int) throws {
        try connection.execute("DELETE FROM ferry_joined WHERE \"table\" = ?", .integer(Int64(table)))
        tables = nil
    }

    /// Forgets an object, as a member and as a representative.
    func forget(_ token: RowToken) throws {
        guard try areAny(in: token.table) else { return }
        let (table, id) = (FieldValue.integer(Int64(token.table)), FieldValue.blob(token.id.bytes[...]))
        try connection.execute("DELETE FROM ferry_joined WHERE \"table\" = ? AND object = ?", table, id)
        try connection.execute(
            """
            DELETE FROM ferry_joined INDEXED BY ferry_joined_representative
            WHERE "table" = ? AND representative = ?
            """, table, id)
    }

    /// Records `representative` as the object whose row shows `object`. With `asAlias`, `object` is an ID derived from
    /// the shown key.
    func note(_ object: ObjectID, isShownBy representative: RowToken, asAlias: Bool = false) throws {
        // If a member has the alias's ID, the entry present already leads to the same row.
        try connection.execute(
            "INSERT OR IGNORE INTO ferry_joined VALUES (?, ?, ?, ?)", .integer(Int64(representative.table)),
            .blob(object.bytes[...]), .blob(representative.id.bytes[...]), .integer(asAlias ? 1 : 0))
        tables?.insert(representative.table)
    }
}
