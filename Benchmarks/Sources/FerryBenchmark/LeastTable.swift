/// The 16 bytes by which an object is known on every device.
struct LeastID: Comparable {
    var high: UInt64
    var low: UInt64

    static func < (left: Self, right: Self) -> Bool {
        left.high != right.high ? left.high < right.high : left.low < right.low
    }
}

/// A table of the app's, as `LeastDesign` sees it.
struct LeastTable {
    /// What an object's ID is made of.
    enum Identity {
        /// The key is the ID.
        case own
        /// The ID was minted, counts up, and the state leads from the local integer to it.
        case mapped
        /// The ID is a hash of the key.
        case derived
    }

    let number: Int
    let name: String
    let columns: [String]
    let keys: [String]
    /// The places of the key's columns.
    let keyPlaces: [Int]
    let identity: Identity

    var state: String { "least_state_\(number)" }
    private var keyIsGiven: String { keys.map { "\($0) = ?" }.joined(separator: " AND ") }
    var selection: String { selection(of: "*") }
    func selection(of column: String) -> String { "SELECT \(column) FROM \(name) WHERE \(keyIsGiven)" }
    var deletion: String { "DELETE FROM \(name) WHERE \(keyIsGiven)" }
    /// In a trigger: a bit for each column that an update changed, but for the key's.
    var mask: String {
        let others = columns.filter { !keys.contains($0) }
        if others.isEmpty { return "0" }
        return others.enumerated().map { "(OLD.\($1) IS NOT NEW.\($1)) * \(1 << $0)" }.joined(separator: " | ")
    }
    func update(of column: String) -> String { "UPDATE \(name) SET \(column) = ? WHERE \(keyIsGiven)" }

    /// The tables of the app in a database.
    static func all(_ database: Database) throws -> [LeastTable] {
        let names = try database.rows(
            """
            SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'least_%'
            ORDER BY rowid
            """)
        return try names.enumerated().map { number, row in
            guard case .text(let name) = row[0] else { throw BenchmarkError("a table has no name") }
            return try LeastTable(number, name, database)
        }
    }

    private init(_ number: Int, _ name: String, _ database: Database) throws {
        let columns = try database.rows("SELECT name, type, pk FROM pragma_table_info('\(name)')")
        var keys: [(name: String, type: String, place: Int)] = []
        for (place, column) in columns.enumerated() {
            guard case .text(let name) = column[0], case .text(let type) = column[1],
                case .integer(let rank) = column[2]
            else { throw BenchmarkError("a column of \(name) is not described") }
            if rank > 0 { keys.append((name, type, place)) }
        }
        self.number = number
        self.name = name
        self.columns = try columns.map { column in
            guard case .text(let name) = column[0] else { throw BenchmarkError("a column has no name") }
            return name
        }
        self.keys = keys.map(\.name)
        keyPlaces = keys.map(\.place)
        identity = keys.count > 1 ? .derived : keys.first?.type == "INTEGER" ? .mapped : .own
    }

    func key(ofRow row: [Value]) -> [Value] { keyPlaces.map { row[$0] } }

    /// The ID of the object with a key.
    func identifier(_ key: [Value]) throws -> LeastID {
        switch (identity, key.first) {
        case (.own, .blob(let bytes)?) where bytes.count == 16:
            func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
            return LeastID(high: number(bytes[..<8]), low: number(bytes[8...]))
        case (.mapped, .integer(let key)?):
            return LeastID(high: 0x0199_8c5b_2a40_7f31, low: UInt64(number) << 40 | UInt64(key))
        case (.derived, _?):
            var seed: UInt64 = 0
            for case .integer(let part) in key { seed = seed << 32 ^ UInt64(part) }
            var random = Random(seed: seed)
            return LeastID(high: random.next(), low: random.next())
        default: throw BenchmarkError("a key of \(name) is of no known kind")
        }
    }
}

extension Database {
    /// All rows that a query finds.
    func rows(_ sql: String) throws -> [[Value]] {
        let statement = try prepare(sql)
        defer { statement.rewind() }
        var rows: [[Value]] = []
        while try statement.step() { rows.append(statement.values) }
        return rows
    }
}
