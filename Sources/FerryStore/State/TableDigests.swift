import FerryCore

/// What a store proves of one of its tables, for devices to compare: its state, its rows, and the schema by which the one becomes
/// the other (Docs/Format.md, "Digests").
public struct TableDigests: Hashable, Sendable {
    /// The table's name.
    public var name: String
    /// Names the table with the columns that the digest of its state covers, and that digest.
    public var stateToken: UInt32
    public var state: UInt64
    /// Names what is told of the table's rows; the digest of what they do not show as written; `nil` where they show all so.
    public var rowsToken: UInt32
    public var rows: UInt64?
    /// Names the number of rows that wait for a process with something of the app's, and that number.
    public var waitingToken: UInt32
    public var waiting = 0
    /// Names what is told of the table's schema, and that; `nil` where the store has not computed it yet.
    public var shapeToken: UInt32
    public var shape: UInt64?

    /// What a head has under it where it tells of rows and schemas: a table of which it has no digest of rows shows all as written.
    public static let mark = UInt32(truncatingIfNeeded: markHash.adding(0))
    /// What is under `mark`. Another number says that rows are told in another way.
    public static let version: UInt64 = 1

    private static var markHash: WordHash {
        var hash = WordHash()
        hash.absorb("rows")
        return hash
    }

    /// Describes a table.
    /// - Parameters:
    ///   - state: its token and its digest.
    ///   - waiting: how many of its rows wait for a process with something of the app's.
    ///   - identity: how its rows are told, where several generations of the table are known: only the same one is compared.
    public init(
        name: String, state: (token: UInt32, digest: UInt64), rows: UInt64? = nil, shape: UInt64? = nil,
        waiting: Int = 0, identity: TableIdentity? = nil
    ) {
        self.name = name
        (stateToken, self.state) = state
        self.rows = rows
        self.shape = shape
        self.waiting = waiting
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

    /// The digests as they travel: by the token of what they cover.
    /// - Parameter limit: the most of them. Where there are more, only those of states are told.
    public static func published(_ tables: [TableDigests], atMost limit: Int = .max) -> [UInt32: UInt64] {
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

    /// Whether rows mean the same by two schemas, so that digests prove something of them.
    public static func mean(_ left: UInt64, _ right: UInt64) -> Bool { TableShape.mean(left, right) }

    /// Reads what the store has of all tables of this database.
    static func all(_ connection: SQLConnection) throws -> [TableDigests] {
        let isTold = try StoreTables.tellsRows(StoreMeta(connection: connection))
        let rest = isTold ? "shown, exceptions, shape" : "0, 0, NULL"
        var tables: [TableDigests] = []
        try connection.forEachRow(
            """
            SELECT name, token, sum, count, \(rest), identity,
                EXISTS(SELECT 1 FROM ferry_table o WHERE o.name = t.name COLLATE NOCASE AND o.number <> t.number),
                (SELECT count(*) FROM ferry_exception e WHERE e."table" = t.number AND kind IN (\(ExceptionKind.ofWaiting)))
            FROM ferry_digest JOIN ferry_table t ON number = "table" WHERE token IS NOT NULL ORDER BY number
            """
        ) { row in
            let identity = row.int(8) == 0 ? nil : try IdentityText.parse(row.string(7))
            let count = row.integer(5)
            tables.append(
                TableDigests(
                    name: row.string(0),
                    state: (
                        UInt32(truncatingIfNeeded: row.integer(1)), Self.digest(row.integer(2), row.integer(3))
                    ), rows: count == 0 ? nil : Self.digest(row.integer(4), count),
                    shape: row.isNull(6) ? nil : UInt64(bitPattern: row.integer(6)),
                    waiting: row.int(9), identity: identity))
        }
        return tables
    }

    private static func digest(_ sum: Int64, _ count: Int64) -> UInt64 {
        var hash = WordHash()
        hash.absorb(UInt64(bitPattern: sum))
        return hash.adding(UInt64(bitPattern: count))
    }
}
