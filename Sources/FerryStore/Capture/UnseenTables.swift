import FerryCore
import FerrySQL
import FerrySchema

/// Finds the tables temporarily without triggers, and the columns covered by object checksums.
struct UnseenTables {
    private let connection: SQLConnection
    private var meta: MetaTable { MetaTable(connection: connection) }

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The columns covered by each table's object checksums, and whether the database shows the table. A missing table
    /// has no columns.
    func coverage() throws -> [Int: (columns: [Int], isShown: Bool)] {
        let digests = try DigestTable(connection).all(tellsRows: false)
        return Dictionary(
            uniqueKeysWithValues: digests.map { ($0.table, (columns: $0.columns, isShown: $0.token != nil)) })
    }

    // MARK: Triggers

    /// The tables with all triggers Ferry made there.
    func tablesWithTriggers() throws -> Set<Int> {
        let made: [String: Int] = try meta.json(.triggers) ?? [:]
        return Set(
            try counts().filter { number, count in
                made["\(number)"].map { $0 <= count.triggers } ?? count.hasInsert
            }.keys)
    }

    /// Saves the number of triggers on each table.
    func recordTriggers() throws {
        let counts = try counts().map { ("\($0.key)", $0.value.triggers) }
        try meta.set(.triggers, json: Dictionary(uniqueKeysWithValues: counts))
    }

    // MARK: Rules

    /// Saves the rules of each table.
    /// - Returns: the tables with other UNIQUE indexes or foreign keys than when triggers were last made.
    func recordRules(_ registry: Registry, _ schema: Schema) throws -> Set<Int> {
        let known: [String: UInt32] = try meta.json(.rules) ?? [:]
        let present = rules(registry, schema)
        if present != known { try meta.set(.rules, json: present) }
        return Set(
            present.filter { number, rules in known[number].map { $0 != rules } ?? false }.compactMap { Int($0.key) })
    }

    private func rules(_ registry: Registry, _ schema: Schema) -> [String: UInt32] {
        var rules: [String: UInt32] = [:]
        for table in registry.tables.values where table.isLocal {
            rules["\(table.id)"] = schema.table(table.name).map(TableShape.rules)
        }
        return rules
    }

    // MARK: Types

    /// Saves the affinities of each table's columns. A missing table and a missing column keep theirs.
    /// - Returns: for each table the former affinities of the columns with another affinity now; nothing for a table without any record.
    func recordTypes(_ registry: Registry) throws -> [Int: [Int: SchemaColumn.Affinity]] {
        let known = try recordedTypes()
        var present = known
        var changed: [Int: [Int: SchemaColumn.Affinity]] = [:]
        for table in registry.tables.values where table.isLocal {
            let former = known["\(table.id)"]
            if former != nil { changed[table.id] = [:] }
            for column in table.localColumns {
                present["\(table.id)", default: [:]]["\(column.id)"] = column.affinity
                if let type = former?["\(column.id)"], type != column.affinity { changed[table.id]?[column.id] = type }
            }
        }
        if present != known { try meta.set(.columnTypes, json: present) }
        return changed
    }

    /// The affinities of a table's columns at the last look, by number; empty without a record.
    func types(of table: Int) throws -> [String: SchemaColumn.Affinity] {
        try recordedTypes()["\(table)"] ?? [:]
    }

    private func recordedTypes() throws -> [String: [String: SchemaColumn.Affinity]] {
        try meta.json(.columnTypes) ?? [:]
    }

    private func counts() throws -> [Int: (triggers: Int, hasInsert: Bool)] {
        var names: [Int: String] = [:]
        let renamed = try TableNames.load(connection)
        for entry in try RegisteredTables(connection).all() {
            names[entry.number] = foldedName(renamed.local(entry.name))
        }
        var counts: [Int: (triggers: Int, hasInsert: Bool)] = [:]
        try connection.forEachRow("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger'") { row in
            let name = row.string(0)
            // A trigger that followed a renamed table records a different table's rows.
            guard let number = OwnNames.table(ofTrigger: name), names[number] == foldedName(row.string(1)) else {
                return
            }
            counts[number, default: (0, false)].triggers += 1
            if name == "ferry_\(number)_insert" { counts[number]?.hasInsert = true }
        }
        return counts
    }
}
