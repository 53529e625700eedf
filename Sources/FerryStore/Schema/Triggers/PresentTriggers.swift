import FerryCore

/// The triggers that a database has, read once: to ask for those of one table is to read the whole schema.
struct PresentTriggers {
    private struct Entry {
        var name: String
        var text: String
        /// The folded name of the table that it stands on.
        var table: String
        /// Its place among all that the schema has, in the order in which they were made.
        var place: Int
    }

    /// Ferry's, by the number of the table whose changes they note, in the order in which they were made.
    private var own: [Int: [Entry]] = [:]
    /// The place of the last trigger of the app's, by the folded name of the table that it stands on.
    private var lastOfApp: [String: Int] = [:]

    init(_ connection: SQLConnection) throws {
        try connection.forEachRow(
            "SELECT rowid, name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
        ) { row in
            let entry = Entry(
                name: row.string(1), text: row.string(3), table: foldedName(row.string(2)), place: row.int(0))
            if let number = OwnNames.table(ofTrigger: entry.name) {
                own[number, default: []].append(entry)
            } else {
                lastOfApp[entry.table] = entry.place
            }
        }
    }

    /// The numbers of the tables whose changes Ferry's triggers note, whichever tables they stand on.
    var tables: [Int] { own.keys.sorted() }

    /// The names of Ferry's triggers that note a table's changes.
    func names(ofTable number: Int) -> [String] { (own[number] ?? []).map(\.name) }

    /// Whether Ferry's triggers that note a table's changes are these, word for word.
    func have(_ statements: [String], noting table: TrackedTable) -> Bool {
        Set((own[table.id] ?? []).map(\.text)) == Set(statements)
    }

    /// Whether a table has these triggers of Ferry's and no others, word for word and in this order, and none of the app's was
    /// made after them: of a table's triggers SQLite runs the one that was made last first.
    func are(_ statements: [String], of table: TrackedTable) -> Bool {
        guard let present = own[table.id], present.map(\.text) == statements else { return false }
        let name = foldedName(table.name)
        guard present.allSatisfy({ $0.table == name }), let first = present.first else { return false }
        return lastOfApp[name].map { $0 < first.place } ?? true
    }
}
