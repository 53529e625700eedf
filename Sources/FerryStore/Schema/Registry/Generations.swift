import FerryCore

/// Which generation of each table this database shows (`ferry_meta`, `generations`).
///
/// A table by another primary key is another generation of it: its rows are other objects, which are told apart by the table's
/// name and by its identity. A database shows one generation of a table. What others write to another one is merged into the
/// state and waits (Docs/Architecture/schema-changes.md, "Generations of a table").
struct Generations: Codable, Equatable, Sendable {
    /// The number of the generation that this database shows, or showed last, by the table's name in lower case. Of others it is
    /// the one that was entered first.
    var shown: [String: Int] = [:]
    /// The key's column in the database, by the number of a table whose keys are mapped.
    var keys: [String: String] = [:]
    /// Tables that have another primary key by now, whose rows are told by the former key's columns until all that is noted is
    /// packed: the present names of those columns, in the order of the former key, by the table's number.
    var leaving: [String: [String]] = [:]
    /// What columns refer to, or referred to, by the table's number and the column's name in lower case.
    var meanings: [String: [String: ColumnMeaning]] = [:]
    /// Rows of which a column was written that waits for its new meaning, as SQL: by the table's number and the column's name.
    var rewritten: [String: [String: [String]]] = [:]
    /// Generations that this database showed before: what others write to them passes over as it comes.
    var left: Set<Int> = []
    /// The generation that each device wrote to last, of tables that have several: by the table's name in lower case, and the
    /// device's ID.
    var writers: [String: [String: Int]] = [:]

    init() {}

    /// What an earlier Ferry did not write down is not there.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        shown = try values.decodeIfPresent([String: Int].self, forKey: .shown) ?? [:]
        keys = try values.decodeIfPresent([String: String].self, forKey: .keys) ?? [:]
        leaving = try values.decodeIfPresent([String: [String]].self, forKey: .leaving) ?? [:]
        meanings = try values.decodeIfPresent([String: [String: ColumnMeaning]].self, forKey: .meanings) ?? [:]
        rewritten = try values.decodeIfPresent([String: [String: [String]]].self, forKey: .rewritten) ?? [:]
        left = try values.decodeIfPresent(Set<Int>.self, forKey: .left) ?? []
        writers = try values.decodeIfPresent([String: [String: Int]].self, forKey: .writers) ?? [:]
    }

    static func load(_ meta: StoreMeta) throws -> Generations { try meta.json(.generations) ?? Generations() }

    func save(_ meta: StoreMeta) throws { try meta.set(.generations, json: self) }
}

/// One generation of a table, as the registry has it.
struct TableGeneration: Sendable {
    var number: Int
    var name: String
    var identity: TableIdentity

    /// All of a table, in the order in which they were entered.
    /// - Parameter name: as SQLite compares names: a peer may spell them in other capitals.
    static func all(_ name: String, _ connection: SQLConnection) throws -> [TableGeneration] {
        var found: [TableGeneration] = []
        try connection.forEachRow(
            "SELECT number, name, identity FROM ferry_table WHERE name = ? COLLATE NOCASE ORDER BY number",
            [.text(ArraySlice(name.utf8))]
        ) { row in
            found.append(
                TableGeneration(
                    number: row.int(0), name: row.string(1), identity: try IdentityText.parse(row.string(2))))
        }
        return found
    }

    /// The one that identifies rows in one way; `nil` where nothing was heard of it.
    static func named(
        _ name: String, _ identity: TableIdentity, _ connection: SQLConnection
    ) throws -> TableGeneration? {
        let folded = identity.folded
        return try all(name, connection).first { $0.identity.folded == folded }
    }

    /// The one that this database shows, or showed last; `nil` where nothing was heard of the table.
    static func shown(
        _ name: String, _ generations: Generations, _ connection: SQLConnection
    ) throws -> TableGeneration? {
        let all = try all(name, connection)
        let number = generations.shown[foldedName(name)]
        return all.first { $0.number == number } ?? all.first
    }
}

extension SchemaTable {
    /// Whether its primary key is one that a generation identifies rows by.
    func fits(_ identity: TableIdentity) -> Bool {
        switch identity {
        // Its column may have been renamed since.
        case .surrogate, .surrogateBy: return isIntegerKey
        case .declared: return primaryKey.count == 1
        case .key(let columns):
            return columns.count == primaryKey.count && zip(columns, primaryKey).allSatisfy { equalNames($0, $1) }
        }
    }

    /// The table as if its rows were told by the columns of a former key; `nil` where it does not have them any more.
    func identified(by key: [String]) -> SchemaTable? {
        let columns = key.compactMap { column($0) }
        guard columns.count == key.count, !columns.contains(where: \.isGenerated) else { return nil }
        var table = self
        table.primaryKey = columns.map(\.name)
        table.keyCollations = columns.map(\.collation)
        table.isIntegerKey = false
        table.isAutoincrement = false
        // No column of the key is the rowid.
        table.isWithoutRowID = true
        return table
    }
}
