import FerryCore
import FerrySQL
import FerrySchema

/// The digests of a table for comparison between devices: state, rows, and the schema turning state into rows
/// (Docs/Format.md, "Digests").
package struct TableDigests: Hashable, Sendable {
    /// The table's name.
    @ComparedByBytes package var name: String
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
    /// The number of rows that went with their table, without a deletion, with its token.
    package var leftToken: UInt32
    /// Number of rows that went with their table.
    package var left = 0
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
        hash.absorb(foldedText(name))
        if let identity {
            hash.absorb(IdentityText.format(identity.folded))
            stateToken = UInt32(truncatingIfNeeded: hash.adding(UInt64(state.token)))
        }
        rowsToken = UInt32(truncatingIfNeeded: hash.adding(8))
        shapeToken = UInt32(truncatingIfNeeded: hash.adding(9))
        waitingToken = UInt32(truncatingIfNeeded: hash.adding(10))
        leftToken = UInt32(truncatingIfNeeded: hash.adding(11))
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
            if table.left > 0 { all[table.leftToken] = UInt64(table.left) }
            if let shape = table.shape { all[table.shapeToken] = shape }
        }
        return all.count <= limit ? all : states
    }

    /// True if rows have the same meaning under both schemas, so digests of rows are comparable.
    package static func mean(_ left: UInt64, _ right: UInt64) -> Bool { TableShape.mean(left, right) }

    /// Reads the digests of all tables in this database.
    static func all(_ connection: SQLConnection) throws -> [TableDigests] {
        let isTold = try StoreTables.tellsRows(MetaTable(connection: connection))
        let waiting = try AnomalyTable.waitingCounts(connection)
        let registered = try RegisteredTables(connection).all()
        let entries = Dictionary(uniqueKeysWithValues: registered.map { ($0.number, $0) })
        let generations = Dictionary(grouping: registered) { foldedName($0.name) }
        var tables: [TableDigests] = []
        for digest in try DigestTable(connection).all(tellsRows: isTold) {
            guard let token = digest.token, let entry = entries[digest.table] else { continue }
            let isOnly = generations[foldedName(entry.name)]?.count == 1
            var table = TableDigests(
                name: entry.name, state: (token, Self.digest(digest.sum, digest.count)),
                rows: digest.exceptions == 0 ? nil : Self.digest(digest.shown, digest.exceptions),
                shape: digest.shape, identity: isOnly ? nil : try IdentityText.parse(entry.identity))
            table.waiting = waiting[entry.number] ?? 0
            table.left = try connection.count(ObjectState.leftCount(TrackedTable.objectTable(entry.number)))
            tables.append(table)
        }
        return tables
    }

    private static func digest(_ sum: UInt64, _ count: Int64) -> UInt64 {
        var hash = WordHash()
        hash.absorb(sum)
        return hash.adding(UInt64(bitPattern: count))
    }
}
