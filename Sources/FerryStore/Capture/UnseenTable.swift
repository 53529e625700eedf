import FerryCore

/// A table without triggers for a while, so writes were not recorded: the table was made anew, or its triggers were
/// dropped.
struct UnseenTable: Codable, Sendable {
    /// The table's number.
    var table: Int
    /// The columns covered by the object checksums.
    var covered: [Int]
    /// True if Ferry saw the database without the table in between, or with the table without a key.
    var wasAbsent: Bool
    /// True if the table always existed, without a key for a while: missing rows were deleted.
    var wasThere: Bool?
}

/// Work left by schema changes, until done (`ferry_meta`, `schemaNews`).
struct SchemaNews: Codable, Sendable {
    /// Tables with rows to compare with the state, parents first.
    var unseen: [UnseenTable] = []
    /// Tables with dropped columns, and rebuilt tables: object checksums must be computed anew.
    var reshaped: [Int] = []
    /// Tables new to this database, or with new columns: values of peers may wait for them. They are shown after
    /// pending changes are packed, because the rules would overwrite changes no flush has read.
    var adopted: [Int] = []
    /// Tables with display checksums to compute for objects not shown as written. The covered columns changed, or an
    /// earlier version of Ferry did not compute the checksums. Done together with `adopted`.
    var unproven: [Int] = []

    var isEmpty: Bool { unseen.isEmpty && reshaped.isEmpty && adopted.isEmpty && unproven.isEmpty }

    /// Adds later work. For a table already waiting to be compared, the first entry has the covered columns.
    mutating func add(_ later: SchemaNews) {
        unseen += later.unseen.filter { table in !unseen.contains { $0.table == table.table } }
        reshaped = Set(reshaped).union(later.reshaped).sorted()
        adopted = Set(adopted).union(later.adopted).sorted()
        unproven = Set(unproven).union(later.unproven).sorted()
    }

    static func load(_ meta: StoreMeta) throws -> SchemaNews { try meta.json(.schemaNews) ?? SchemaNews() }

    func save(_ meta: StoreMeta) throws {
        if isEmpty { try meta.remove(.schemaNews) } else { try meta.set(.schemaNews, json: self) }
    }
}

/// Finds the tables temporarily without triggers, and the columns covered by object checksums.
struct UnseenTables {
    private let connection: SQLConnection
    private var meta: StoreMeta { StoreMeta(connection: connection) }

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The columns covered by each table's object checksums, and whether the database shows the table. A missing table
    /// has no columns.
    func coverage() throws -> [Int: (columns: [Int], isShown: Bool)] {
        var coverage: [Int: (columns: [Int], isShown: Bool)] = [:]
        try connection.forEachRow("SELECT \"table\", token, columns FROM ferry_digest") { row in
            let columns = row.string(2).split(separator: ",").compactMap { Int($0) }
            coverage[row.int(0)] = (columns, !row.isNull(1))
        }
        return coverage
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
    func noteTriggers() throws {
        let counts = try counts().map { ("\($0.key)", $0.value.triggers) }
        try meta.set(.triggers, json: Dictionary(uniqueKeysWithValues: counts))
    }

    private func counts() throws -> [Int: (triggers: Int, hasInsert: Bool)] {
        var names: [Int: String] = [:]
        try connection.forEachRow("SELECT number, name FROM ferry_table") {
            names[$0.int(0)] = foldedName($0.string(1))
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
