import FerryCore
import FerrySQL

/// The table `ferry_replay`. The app's triggers and views read `active` to learn whether Ferry is writing remote
/// changes (Docs/Merging.md, "The app's own triggers").
package struct ReplayFlag {
    package let connection: SQLConnection

    package static let table = "ferry_replay"

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// Returns the app's triggers and views reading the table. They fail without the table.
    package func askers() throws -> [String] {
        var names: [String] = []
        try connection.forEachRow(
            "SELECT name, sql FROM sqlite_schema WHERE type IN ('trigger', 'view') AND sql LIKE '%ferry!_replay%' ESCAPE '!'"
        ) { row in
            if OwnNames.table(ofTrigger: row.string(0)) == nil { names.append(row.string(0)) }
        }
        return names.sorted()
    }

    /// Sets `active` to 0, in a database Ferry leaves.
    package func rest() throws { try connection.execute("UPDATE \(Self.table) SET active = 0") }

    /// Removes a table left behind by `ferry leave`, or made by the app for its triggers.
    package func makeRoom() throws {
        if try isThere() { try connection.executeScript("DROP TABLE \(Self.table)") }
    }

    /// True if the database has a table of this name and shape.
    package func isThere() throws -> Bool {
        let columns = try connection.rows("SELECT name FROM pragma_table_xinfo(?)", .text(Self.table))
        let isTable = try connection.count(
            "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE", .text(Self.table))
        return isTable == 1 && columns == [[.text("active")]]
    }
}
