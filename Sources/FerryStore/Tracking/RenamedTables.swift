import FerryCore
import FerrySQL
import FerrySchema

/// Finds the tables that got another name (`ALTER TABLE … RENAME TO`): SQLite takes the triggers along.
///
/// `TableNaming` decides which table is which.
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

    /// Records the present names.
    /// - Parameter known: names known by other means than triggers, by number.
    func update(_ known: [Int: String]) throws {
        let before = try TableNames.load(connection)
        var travelling: [Int: String] = [:]
        var registered: [String: Set<String>] = [:]
        let tables = RegisteredTables(connection)
        for entry in try tables.all() where !isFerryName(entry.name) {
            travelling[entry.number] = entry.name
            let columns = Set(try tables.columns(of: entry.number).map(foldedName))
            registered[foldedName(entry.name), default: []].formUnion(columns)
        }
        let owners = try triggered().merging(known) { $1 }
        let byName = Dictionary(owners.map { (foldedName($1), $0) }) { first, _ in first }
        let present = try names().map { name in
            TableNaming.Present(
                name: name, owner: byName[foldedName(name)].flatMap { travelling[$0] },
                columns: Set(
                    try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map {
                        foldedName($0[0].text)
                    }))
        }
        let names = TableNaming(present, registered: registered, before).decided()
        if names != before { try names.save(MetaTable(connection: connection)) }
    }

    /// The names of the app's tables.
    private func names() throws -> [String] {
        try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'").map { $0[0].text }
            .filter { !isFerryName($0) && !foldedName($0).hasPrefix("sqlite_") }
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
