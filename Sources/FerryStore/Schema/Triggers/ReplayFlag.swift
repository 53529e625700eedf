import FerryCore

/// The table `ferry_replay`, which says to the app's own triggers and views whether Ferry is writing what other devices did
/// (Docs/Merging.md, "The app's own triggers").
struct ReplayFlag {
    let connection: SQLConnection

    static let table = "ferry_replay"

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The app's triggers and views that ask it. They fail without the table.
    func askers() throws -> [String] {
        var names: [String] = []
        try connection.forEachRow(
            "SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view') AND sql LIKE '%ferry!_replay%' ESCAPE '!'"
        ) { row in
            if OwnNames.table(ofTrigger: row.string(0)) == nil { names.append(row.string(0)) }
        }
        return names.sorted()
    }

    /// Lets it say that Ferry writes nothing, in a database that Ferry leaves.
    func rest() throws { try connection.execute("UPDATE \(Self.table) SET active = 0") }

    /// Removes the one that stayed when Ferry left the database, or that the app made because its triggers ask it.
    func makeRoom() throws {
        if try isThere() { try connection.executeScript("DROP TABLE \(Self.table)") }
    }

    /// Whether the database has a table of this name and shape.
    func isThere() throws -> Bool {
        let columns = try connection.rows("SELECT name FROM pragma_table_xinfo(?)", .text(Self.table))
        let isTable = try connection.count(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", .text(Self.table))
        return isTable == 1 && columns == [[.text("active")]]
    }
}
