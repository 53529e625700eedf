import FerryCore
import FerrySQL

/// The generation of each table shown by this database (`ferry_meta`, `generations`).
///
/// A table with a new primary key is a new generation: its rows are different objects, identified by the table's name
/// and identity. A database shows a single generation of a table. Remote writes to any hidden generation are merged
/// into the state and wait (Docs/Architecture/schema-changes.md, "Generations of a table").
package struct Generations: Codable, Equatable, Sendable {
    /// The number of the shown or last shown generation, by the key of the table's name. Without a shown generation,
    /// the number of the generation registered first.
    package var shown: [String: Int] = [:]
    /// The key's column in this database, by the number of a table with mapped keys.
    @ComparedByBytes package var keys: [String: String] = [:]
    /// Tables with a new primary key whose pending changes are not packed yet. The former key's columns still identify
    /// rows. Holds the present names of those columns in the order of the former key, by the table's number.
    @ComparedByBytes package var leaving: [String: [String]] = [:]
    /// The present and former targets of columns, by the table's number and the key of the column's name.
    package var meanings: [String: [String: ColumnMeaning]] = [:]
    /// The former columns that a column's values came from in a migration (`ColumnOrigins`), by the table's number and the
    /// key of the column's name.
    package var origins: [String: [String: [Int]]] = [:]
    /// Rows written in a column waiting for its new meaning, as SQL; by the table's number and the column's name.
    @ComparedByBytes package var rewritten: [String: [String: [String]]] = [:]
    /// Generations shown by this database before. Remote writes to them pass over on arrival.
    package var left: Set<Int> = []
    /// The collations by which key values derive IDs, by the table's number, in key order. A later collation of the
    /// column changes no ID (`KeyEquality`).
    @ComparedByBytes package var collations: [String: [String]] = [:]
    /// The generation each device wrote to last, for tables with several generations; by the key of the table's
    /// name, and the device's ID.
    package var writers: [String: [String: Int]] = [:]

    package init() {}

    /// Decodes JSON; a key unknown to an earlier version of Ferry may be missing. Such a version wrote names in place of their keys.
    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        shown = try values.decodeIfPresent([String: Int].self, forKey: .shown)?.byNameKeys ?? [:]
        keys = try values.decodeIfPresent([String: String].self, forKey: .keys) ?? [:]
        leaving = try values.decodeIfPresent([String: [String]].self, forKey: .leaving) ?? [:]
        meanings =
            try values.decodeIfPresent([String: [String: ColumnMeaning]].self, forKey: .meanings)?
            .mapValues(\.byNameKeys) ?? [:]
        origins =
            try values.decodeIfPresent([String: [String: [Int]]].self, forKey: .origins)?.mapValues(\.byNameKeys) ?? [:]
        rewritten =
            try values.decodeIfPresent([String: [String: [String]]].self, forKey: .rewritten)?
            .mapValues(\.byNameKeys) ?? [:]
        left = try values.decodeIfPresent(Set<Int>.self, forKey: .left) ?? []
        collations = try values.decodeIfPresent([String: [String]].self, forKey: .collations) ?? [:]
        writers = try values.decodeIfPresent([String: [String: Int]].self, forKey: .writers)?.byNameKeys ?? [:]
    }

    package static func load(_ meta: MetaTable) throws -> Generations { try meta.json(.generations) ?? Generations() }

    package func save(_ meta: MetaTable) throws { try meta.set(.generations, json: self) }
}

/// A generation of a table, as registered.
package struct TableGeneration: Sendable {
    package var number: Int
    package var name: String
    package var identity: TableIdentity

    /// All generations of a table, in order of registration.
    /// - Parameter name: compared as SQLite compares names: a peer may use a different letter case.
    package static func all(_ name: String, _ connection: SQLConnection) throws -> [TableGeneration] {
        try RegisteredTables(connection).generations(of: name).map {
            TableGeneration(number: $0.number, name: $0.name, identity: try IdentityText.parse($0.identity))
        }
    }

    /// The generation with the given identity; `nil` if never registered.
    package static func named(
        _ name: String, _ identity: TableIdentity, _ connection: SQLConnection
    ) throws -> TableGeneration? {
        let folded = identity.folded
        return try all(name, connection).first { $0.identity.folded == folded }
    }

    /// The generation shown or last shown by this database; `nil` for an unknown table.
    package static func shown(
        _ name: String, _ generations: Generations, _ connection: SQLConnection
    ) throws -> TableGeneration? {
        let all = try all(name, connection)
        let number = generations.shown[foldedName(name)]
        return all.first { $0.number == number } ?? all.first
    }
}

extension SchemaTable {
    /// True if the primary key suits a generation's identity.
    package func fits(_ identity: TableIdentity) -> Bool {
        switch identity {
        // The key's column may have been renamed since.
        case .surrogate, .surrogateBy: return isIntegerKey
        case .declared: return primaryKey.count == 1
        case .key(let columns):
            return columns.count == primaryKey.count && zip(columns, primaryKey).allSatisfy { equalNames($0, $1) }
        }
    }

    /// Describes the table with a former key as primary key; `nil` if the table lacks the key's columns.
    package func identified(by key: [String]) -> SchemaTable? {
        let columns = key.compactMap { column($0) }
        guard columns.count == key.count, !columns.contains(where: \.isGenerated) else { return nil }
        var table = self
        table.primaryKey = columns.map(\.name)
        table.keyCollations = columns.map(\.collation)
        table.isIntegerKey = false
        table.isAutoincrement = false
        // No column of the former key is the rowid.
        table.isWithoutRowID = true
        return table
    }
}
