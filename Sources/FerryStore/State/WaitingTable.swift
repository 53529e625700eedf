import FerryCore
import FerrySQL
import FerrySchema

/// A table with rows waiting for a process with the app's collation or function. Changes are merged, and the rows do
/// not show them yet (Docs/Merging.md, "Where a process lacks a function"). The JSON keys are fixed: scripts rely on
/// them.
package struct WaitingTable: Codable, Equatable, Sendable {
    package var table: String
    /// Number of waiting rows.
    package var rows: Int
    /// Number of the app's changes waiting to be packed; 0 if all are packed.
    package var unpacked: Int
    /// The missing part, in SQLite's words: `no such collation sequence: de`.
    package var missing: String

    /// The problem, in a sentence.
    package var problem: String {
        var parts: [String] = []
        if rows > 0 { parts.append("\(rows) \(rows == 1 ? "row waits" : "rows wait") for the app") }
        if unpacked > 0 {
            parts.append("\(unpacked) \(unpacked == 1 ? "change" : "changes") made here cannot be sent without the app")
        }
        return "\(table): \(parts.joined(separator: ", and ")), because this process lacks something (\(missing)). "
            + "Everything else goes on."
    }

    /// The remedy.
    package static let advice = "Sync once from the app, which has it: then all of it is shown and sent."

    /// All waiting tables, by name.
    static func all(_ connection: SQLConnection) throws -> [WaitingTable] {
        guard let mark = try WaitingMark.load(MetaTable(connection: connection)) else { return [] }
        let missing = Set(mark.tables.values).sorted().joined(separator: ", ")
        let held = mark.holdsNotes ? try PendingTable(connection).counts() : [:]
        let waiting = try AnomalyTable.waitingCounts(connection)
        let names = try TableNames.load(connection)
        let tables = try RegisteredTables(connection).all().sorted {
            (foldedName($0.name), $0.number) < (foldedName($1.name), $1.number)
        }
        return tables.compactMap { table in
            let (rows, unpacked) = (waiting[table.number] ?? 0, held[table.number] ?? 0)
            if rows == 0, unpacked == 0 { return nil }
            return WaitingTable(
                table: names.local(table.name), rows: rows, unpacked: unpacked,
                missing: mark.tables["\(table.number)"] ?? missing)
        }
    }
}
