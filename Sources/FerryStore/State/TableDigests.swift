import FerryCore

/// The digests of a table for comparison between devices: state, rows, and the schema turning state into rows
/// (Docs/Format.md, "Digests").
package struct TableDigests: Hashable, Sendable {
    /// The table's name.
    package var name: String
    /// The digest of the state, with the token identifying table and covered columns.
    package var stateToken: UInt32
    package var state: UInt64
    /// The digest of the rows not shown as written, with its token; `nil` if all rows are shown as written.
    package var rowsToken: UInt32
    package var rows: UInt64?
    /// The number of rows waiting for an equipped process, with its token.
    package var waitingToken: UInt32
    /// Number of rows waiting for an equipped process.
    package var waiting = 0
    /// The shape of the table's schema, with its token; `nil` if not computed yet.
    package var shapeToken: UInt32
    package var shape: UInt64?

    /// The token announcing digests of rows and schemas in a head. With this token, a table without a digest of rows
    /// shows all rows as written.
    package static let mark = UInt32(truncatingIfNeeded: markHash.adding(0))
    /// The value under `mark`. A different number means a different way of computing.
    package static let version: UInt64 = 1

    private static var markHash: WordHash {
        var hash = WordHash()
        hash.absorb("rows")
        return hash
    }

    /// Describes a table.
    /// - Parameters:
    ///   - state: token and digest of the state.
    ///   - identity: the identity, if several generations of the table are known. Only equal identities are compared.
    package init(
        name: String, state: (token: UInt32, digest: UInt64), rows: UInt64? = nil, shape: UInt64? = nil,
        identity: TableIdentity? = nil
    ) {
        self.name = name
        (stateToken, self.state) = state
        self.rows = rows
        self.shape = shape
        var hash = WordHash()
        hash.absorb(foldedName(name))
        if let identity {
            hash.absorb(IdentityText.format(identity.folded))
            stateToken = UInt32(truncatingIfNeeded: hash.adding(UInt64(state.token)))
        }
        rowsToken = UInt32(truncatingIfNeeded: hash.adding(8))
        shapeToken = UInt32(truncatingIfNeeded: hash.adding(9))
        waitingToken = UInt32(truncatingIfNeeded: hash.adding(10))
    }

    /// The digests to publish, by token.
    /// - Parameter limit: maximum number of digests. Beyond the limit only digests of states are published.
    package static func published(_ tables: [TableDigests], atMost limit: Int = .max) -> [UInt32: UInt64] {
        let states = Dictionary(tables.map { ($0.stateToken, $0.state) }, uniquingKeysWith: { $1 })
        if tables.isEmpty || tables.contains(where: { $0.shape == nil }) { return states }
        var all = states
        all[mark] = version
        for table in tables {
            if let rows = table.rows { all[table.rowsToken] = rows }
            if table.waiting > 0 { all[table.waitingToken] = UInt64(table.waiting) }
            if let shape = table.shape { all[table.shapeToken] = shape }
        }
        return all.count <= limit ? all : states
    }

    /// True if rows have the same meaning under both schemas, so digests of rows are comparable.
    package static func mean(_ left: UInt64, _ right: UInt64) -> Bool { TableShape.mean(left, right) }

    /// Reads the digests of all tables in this database.
    static func all(_ connection: SQLConnection) throws -> [TableDigests] {
        let isTold = try StoreTables.tellsRows(MetaTable(connection: connection))
        let rest = isTold ? "shown, exceptions, shape" : "0, 0, NULL"
        let waiting = try AnomalyTable.waitingCounts(connection)
        var tables: [TableDigests] = []
        try connection.forEachRow(
            """
            SELECT name, token, sum, count, \(rest), identity,
                EXISTS(SELECT 1 FROM ferry_table o WHERE o.name = t.name COLLATE NOCASE AND o.number <> t.number),
                t.number
            FROM ferry_digest JOIN ferry_table t ON number = "table" WHERE token IS NOT NULL ORDER BY number
            """
        ) { row in
            let identity = row.int(8) == 0 ? nil : try IdentityText.parse(row.string(7))
            let count = row.integer(5)
            var table = TableDigests(
                name: row.string(0),
                state: (UInt32(truncatingIfNeeded: row.integer(1)), Self.digest(row.integer(2), row.integer(3))),
                rows: count == 0 ? nil : Self.digest(row.integer(4), count),
                shape: row.isNull(6) ? nil : UInt64(bitPattern: row.integer(6)), identity: identity)
            table.waiting = waiting[row.int(9)] ?? 0
            tables.append(table)
        }
        return tables
    }

    private static func digest(_ sum: Int64, _ count: Int64) -> UInt64 {
        var hash = WordHash()
        hash.absorb(UInt64(bitPattern: sum))
        return hash.adding(UInt64(bitPattern: count))
    }
}
