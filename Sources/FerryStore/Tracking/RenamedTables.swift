import FerryCore
import FerrySQL
import FerrySchema

/// Finds the tables that got another name (`ALTER TABLE … RENAME TO`): SQLite takes the triggers along.
///
/// A table that was made under another name, filled and put in the place of the former table has no triggers of Ferry's.
/// It is a new table.
struct RenamedTables {
    private let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// The root page of each recorded table, by number. ALTER TABLE leaves the page as it is.
    func tables() throws -> [Int: Int64] {
        let names = try triggered()
        let roots = try connection.rows("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'")
        let byName = Dictionary(roots.map { (foldedName($0[0].text), $0[1].number) }) { first, _ in first }
        return names.compactMapValues { byName[foldedName($0)].map(Int64.init) }
    }

    /// The present names of tables, by number.
    /// - Parameter roots: the tables' root pages.
    func names(of roots: [Int: Int64]) throws -> [Int: String] {
        let tables = try connection.rows("SELECT rootpage, name FROM sqlite_schema WHERE type = 'table'")
        let byRoot = Dictionary(tables.map { (Int64($0[0].number), $0[1].text) }) { first, _ in first }
        return roots.compactMapValues { byRoot[$0] }
    }

    /// Records the present names. A table with its travelling name again needs no record.
    /// - Parameter known: names known by other means than triggers, by number.
    func update(_ known: [Int: String]) throws {
        let meta = MetaTable(connection: connection)
        let before = try TableNames.load(connection)
        var names = before
        let present = Set(
            try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'").map { foldedName($0[0].text) })
        for travelling in before.local.keys where present.contains(foldedName(travelling)) {
            names.set(travelling, for: travelling)
        }
        let registered = try RegisteredTables(connection).all()
        let reserved = Set(registered.map { foldedName($0.name) })
        let moved = try triggered().merging(known) { $1 }
        for entry in registered where !OwnNames.travelling.contains(entry.name) {
            guard let name = moved[entry.number], !present.contains(foldedName(names.local(entry.name))) else {
                continue
            }
            // The name may belong to another table that travels.
            if !equalNames(name, entry.name), reserved.contains(foldedName(name)) { continue }
            if names.local.values.contains(where: { equalNames($0, name) }) { continue }
            names.set(name, for: entry.name)
        }
        if names != before { try names.save(meta) }
    }

    /// The names of the tables with Ferry's triggers, by number.
    private func triggered() throws -> [Int: String] {
        var names: [Int: String] = [:]
        try connection.forEachRow("SELECT name, tbl_name FROM sqlite_schema WHERE type = 'trigger'") { row in
            guard let number = OwnNames.table(ofTrigger: row.string(0)) else { return }
            if row.string(0) == "ferry_\(number)_insert" { names[number] = row.string(1) }
        }
        return names
    }
}
