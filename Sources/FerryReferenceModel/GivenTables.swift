import FerryCore

/// Tables this process cannot check, for lack of a collation or function. Outcomes of their objects are taken from the
/// state, so all remaining tables can be computed.
package struct GivenTables {
    /// The schema, with nothing to compute for such tables.
    package private(set) var schema: ModelSchema
    /// The reason a table cannot be checked, by the table's position.
    package private(set) var reasons: [Int: String] = [:]

    /// - Parameters:
    ///   - obstacles: what SQLite lacks for a table, by the table's position.
    ///   - waiting: the reason rows wait for a different process, by the table's name in lower case.
    ///   - hasCollation: returns true if this process can compare by a collation.
    package init(
        _ schema: ModelSchema, obstacles: [Int: String], waiting: [String: String] = [:],
        hasCollation: (String) throws -> Bool
    ) throws {
        self.schema = schema
        reasons = obstacles
        for (place, table) in schema.tables.enumerated() where reasons[place] == nil {
            reasons[place] = waiting[table.name]
        }
        if reasons.isEmpty { return }
        var missing: Set<String> = []
        for place in reasons.keys {
            let table = schema.tables[place]
            for name in table.keyCollations + table.columns.map(\.collation) where try !hasCollation(name) {
                missing.insert(foldedName(name))
            }
        }
        // References by value to such a table are compared by its collations.
        for (place, table) in schema.tables.enumerated() where reasons[place] == nil {
            guard let key = table.foreignKeys.first(where: { compares($0, by: missing) }) else { continue }
            reasons[place] = "it refers to \(schema.tables[key.parent].spelling) by a collation that is missing"
        }
        for place in reasons.keys {
            let keys = schema.tables[place].foreignKeys.filter { !compares($0, by: missing) }
            self.schema.tables[place].becomeGiven(keys, without: missing)
        }
    }

    private func compares(_ key: ModelSchema.ForeignKey, by collations: Set<String>) -> Bool {
        !key.isMapped
            && key.parentColumns.contains { column in
                collations.contains(
                    foldedName(schema.tables[key.parent].collation(of: column, among: key.parentColumns)))
            }
    }
}

extension ModelSchema.Table {
    fileprivate mutating func becomeGiven(_ keys: [ModelSchema.ForeignKey], without collations: Set<String>) {
        isGiven = true
        foreignKeys = keys
        uniques = []
        generated = []
        statements = []
        for column in columns.indices where collations.contains(foldedName(columns[column].collation)) {
            columns[column].collation = "BINARY"
        }
        keyCollations = keyCollations.map { collations.contains(foldedName($0)) ? "BINARY" : $0 }
    }
}

/// The state's outcome of an object that cannot be computed.
package enum GivenOutcome: Equatable {
    case hidden
    case joined(to: ObjectID)
}
