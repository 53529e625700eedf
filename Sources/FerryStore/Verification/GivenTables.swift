import FerryCore

/// Tables that cannot be looked at where this process lacks a collation or a function: what the state says of their objects is
/// taken for given, so that all other tables can be computed.
struct GivenTables {
    /// The schema in which nothing is asked of such tables.
    private(set) var schema: PlainSchema
    /// Why a table cannot be looked at, by its place.
    private(set) var reasons: [Int: String] = [:]

    /// - Parameters:
    ///   - scratch: SQLite with the schema.
    ///   - waiting: why rows wait for another process, by the table's name in lower case.
    init(_ schema: PlainSchema, _ scratch: PlainScratch, waiting: [String: String] = [:]) throws {
        self.schema = schema
        reasons = scratch.obstacles
        for (place, table) in schema.tables.enumerated() where reasons[place] == nil {
            reasons[place] = waiting[table.name]
        }
        if reasons.isEmpty { return }
        var missing: Set<String> = []
        for place in reasons.keys {
            let table = schema.tables[place]
            for name in Set(table.keyCollations + table.columns.map(\.collation)) where try !scratch.hasCollation(name)
            {
                missing.insert(name)
            }
        }
        // Who refers to such a table by its values is compared by its collations.
        for (place, table) in schema.tables.enumerated() where reasons[place] == nil {
            guard let key = table.foreignKeys.first(where: { compares($0, by: missing) }) else { continue }
            reasons[place] = "it refers to \(schema.tables[key.parent].spelling) by a collation that is missing"
        }
        for place in reasons.keys {
            let keys = schema.tables[place].foreignKeys.filter { !compares($0, by: missing) }
            self.schema.tables[place].becomeGiven(keys, without: missing)
        }
    }

    private func compares(_ key: PlainSchema.ForeignKey, by collations: Set<String>) -> Bool {
        !key.isMapped
            && key.parentColumns.contains { column in
                collations.contains(schema.tables[key.parent].collation(of: column, among: key.parentColumns))
            }
    }
}

extension PlainSchema.Table {
    fileprivate mutating func becomeGiven(_ keys: [PlainSchema.ForeignKey], without collations: Set<String>) {
        isGiven = true
        foreignKeys = keys
        uniques = []
        generated = []
        statements = []
        for column in columns.indices where collations.contains(columns[column].collation) {
            columns[column].collation = "BINARY"
        }
        keyCollations = keyCollations.map { collations.contains($0) ? "BINARY" : $0 }
    }
}

/// What the state says of an object that cannot be computed.
enum GivenOutcome: Equatable {
    case hidden
    case joined(to: ObjectID)
}
