import FerryCore
import FerrySQL

/// The triggers in a database, read once: even a query for a single table reads the whole schema.
package struct PresentTriggers {
    private struct Entry {
        var name: String
        var text: String
        /// The folded name of the trigger's table.
        var table: String
        /// The position among all triggers of the schema, in order of creation.
        var place: Int
    }

    /// Ferry's triggers by the number of the recorded table, in order of creation.
    private var own: [Int: [Entry]] = [:]
    /// The position of the app's last trigger, by the folded name of the trigger's table.
    private var lastOfApp: [String: Int] = [:]
    /// The folded names of tables with a trigger of the app that runs before an insertion or update.
    private var preceded: Set<String> = []

    package init(_ connection: SQLConnection) throws {
        try connection.forEachRow(
            "SELECT rowid, name, tbl_name, sql FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid"
        ) { row in
            let entry = Entry(
                name: row.string(1), text: row.string(3), table: foldedName(row.string(2)), place: row.int(0))
            if let number = OwnNames.table(ofTrigger: entry.name) {
                own[number, default: []].append(entry)
            } else {
                lastOfApp[entry.table] = entry.place
                if let text = TriggerText(entry.text), text.time == "BEFORE", text.event != .delete {
                    preceded.insert(entry.table)
                }
            }
        }
    }

    /// The triggers that a table needs beside the app's triggers.
    package func needed(by table: TrackedTable) -> [String] {
        CaptureTriggers(table: table, areWritesPreceded: preceded.contains(foldedName(table.localName))).statements
    }

    /// The numbers of all tables recorded by Ferry's triggers, wherever the triggers are.
    package var tables: [Int] { own.keys.sorted() }

    /// The names of Ferry's triggers recording a table.
    package func names(ofTable number: Int) -> [String] { (own[number] ?? []).map(\.name) }

    /// The text of a trigger that records a table, by the last part of its name; `nil` without the trigger.
    /// - Parameter local: the table's name in the database. A trigger may have followed a renamed table.
    package func text(_ name: String, ofTable number: Int, on local: String) -> String? {
        let wanted = CaptureTriggers.prefix(ofTable: number) + name
        return own[number]?.first { $0.name == wanted && $0.table == foldedName(local) }?.text
    }

    /// True if Ferry's triggers recording a table have exactly these texts.
    package func have(_ statements: [String], noting table: TrackedTable) -> Bool {
        Set((own[table.id] ?? []).map { exactKey($0.text) }) == Set(statements.map(exactKey))
    }

    /// True if a table has exactly these Ferry triggers, in this order, and no later trigger of the app. SQLite runs a
    /// table's newest trigger first.
    package func are(_ statements: [String], of table: TrackedTable) -> Bool {
        guard let present = own[table.id], [String].areEqualBytes(present.map(\.text), statements) else { return false }
        let name = foldedName(table.localName)
        guard present.allSatisfy({ $0.table == name }), let first = present.first else { return false }
        return lastOfApp[name].map { $0 < first.place } ?? true
    }
}
