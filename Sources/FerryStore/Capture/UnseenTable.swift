import FerryCore

/// A table on which no triggers stood for a while, so that what was written to it then was not noted: it was made anew, or
/// somebody dropped its triggers.
struct UnseenTable: Codable, Sendable {
    /// Its number.
    var table: Int
    /// The columns that the checks of its objects cover.
    var covered: [Int]
    /// Whether Ferry saw the database without the table in between, or with one that has no key.
    var wasAbsent: Bool
    /// Whether the table was there all the time, without a key: rows that are missing were deleted.
    var wasThere: Bool?
}

/// What changes of the schema leave to be done, until it is done (`ferry_meta`, `schemaNews`).
struct SchemaNews: Codable, Sendable {
    /// Tables whose rows have to be compared with the state, parents first.
    var unseen: [UnseenTable] = []
    /// Tables of which columns are gone, or that were made again: checks have to be computed anew.
    var reshaped: [Int] = []
    /// Tables that this database has got columns of, or has got at all: values of peers may wait for them. They are shown
    /// once what is pending is packed, because the rules would overwrite what no flush has read.
    var adopted: [Int] = []
    /// Tables of which it has to be computed how objects are shown that are not shown as written: other columns count for
    /// that, or an earlier Ferry did not compute it. It is done with those that are adopted.
    var unproven: [Int] = []

    var isEmpty: Bool { unseen.isEmpty && reshaped.isEmpty && adopted.isEmpty && unproven.isEmpty }

    /// Adds what came later. Of a table that waits to be compared already the first note tells what its checks cover.
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

/// Tells which tables have had no triggers for a while, and what the checks of their objects cover.
struct UnseenTables {
    private let connection: SQLConnection
    private var meta: StoreMeta { StoreMeta(connection: connection) }

    init(_ connection: SQLConnection) { self.connection = connection }

    /// What the checks of each table's objects cover, and whether the database shows the table. Of one that it does not have there
    /// are no columns.
    func coverage() throws -> [Int: (columns: [Int], isShown: Bool)] {
        var coverage: [Int: (columns: [Int], isShown: Bool)] = [:]
        try connection.forEachRow("SELECT \"table\", token, columns FROM ferry_digest") { row in
            let columns = row.string(2).split(separator: ",").compactMap { Int($0) }
            coverage[row.int(0)] = (columns, !row.isNull(1))
        }
        return coverage
    }

    // MARK: Triggers

    /// The tables on which all triggers stand that Ferry made there.
    func tablesWithTriggers() throws -> Set<Int> {
        let made: [String: Int] = try meta.json(.triggers) ?? [:]
        return Set(
            try counts().filter { number, count in
                made["\(number)"].map { $0 <= count.triggers } ?? count.hasInsert
            }.keys)
    }

    /// Takes down how many triggers stand on each table.
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
            // One that went along with a renamed table notes what becomes of another one.
            guard let number = OwnNames.table(ofTrigger: name), names[number] == foldedName(row.string(1)) else {
                return
            }
            counts[number, default: (0, false)].triggers += 1
            if name == "ferry_\(number)_insert" { counts[number]?.hasInsert = true }
        }
        return counts
    }
}
