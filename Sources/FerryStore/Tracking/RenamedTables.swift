import FerryCore
import FerrySQL
import FerrySchema

/// Finds the tables that got another name (`ALTER TABLE … RENAME TO`): SQLite takes the triggers along. Of a renamed table that was
/// made anew, rows tell (`TableEvidence`).
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
    func update(_ known: [Int: String], _ surroundings: StoreAccess.Surroundings) throws {
        let before = try TableNames.load(connection)
        let tables = RegisteredTables(connection)
        let entries = try tables.all().filter { !isFerryName($0.name) }
        let travelling = Dictionary(entries.map { ($0.number, $0.name) }) { first, _ in first }
        let owners = try triggered().merging(known) { $1 }
        let byName = Dictionary(owners.map { (foldedName($1), $0) }) { first, _ in first }
        var present = try names().map { name in (name, owner: byName[foldedName(name)].flatMap { travelling[$0] }) }
        let taken = Set((entries.map(\.name) + before.local.values).map(foldedName))
        let made: [String: Int] = try MetaTable(connection: connection).json(.triggers) ?? [:]
        let wereHere = entries.filter { made["\($0.number)"] != nil }
        let here = Set(present.map { foldedName($0.0) })
        let gone = wereHere.filter { owners[$0.number] == nil && !here.contains(foldedName(before.local($0.name))) }
        let new = present.filter { $0.owner == nil && !taken.contains(foldedName($0.0)) }
        let evidence = TableEvidence(connection, surroundings)
        if !gone.isEmpty, !new.isEmpty {
            let successors = try evidence.successors(
                of: former(gone), among: new.map { .init(name: $0.0, columns: try columns(of: $0.0)) }, before)
            let owner = Dictionary(successors.map { (foldedName($1), travelling[$0]) }) { first, _ in first }
            present = present.map { ($0.0, owner: owner[foldedName($0.0)] ?? $0.owner) }
        }
        let isAsBefore = present.allSatisfy { name, owner in
            owner.map { equalNames(before.local($0), name) } ?? !taken.contains(foldedName(name))
        }
        if isAsBefore { return }
        var registered: [String: Set<String>] = [:]
        for entry in entries {
            registered[foldedName(entry.name), default: []].formUnion(
                try tables.columns(of: entry.number).map(foldedName))
        }
        let described = try present.map { name, owner in
            let isOther = try owner.map { owner in
                // The table took the name of a dropped one.
                let dropped = wereHere.filter { owners[$0.number] == nil && equalNames(before.local($0.name), name) }
                if dropped.isEmpty || equalNames(before.local(owner), name) { return false }
                let number = byName[foldedName(name)]
                if try number.map(evidence.isEstablished) ?? false { return true }
                let taker = TableEvidence.New(name: name, columns: try columns(of: name))
                return try former(dropped).contains { try evidence.verdict($0, taker, before) == .different }
            }
            return TableNaming.Present(
                name: name, owner: owner, columns: try columns(of: name), isOther: isOther ?? false)
        }
        let formerly = Set(wereHere.map { foldedName($0.name) })
        let names = TableNaming(described, registered: registered, wereHere: formerly, before).decided()
        if names != before { try names.save(MetaTable(connection: connection)) }
    }

    /// Registered tables as the last look left them.
    private func former(_ entries: [RegisteredTables.Entry]) throws -> [TableEvidence.Gone] {
        let coverage = try UnseenTables(connection).coverage()
        let tables = RegisteredTables(connection)
        return try entries.map {
            .init(
                number: $0.number, name: $0.name, columns: Set(try tables.columns(of: $0.number).map(foldedName)),
                covered: coverage[$0.number]?.columns ?? [])
        }
    }

    private func columns(of table: String) throws -> Set<String> {
        Set(
            try connection.rows("SELECT name FROM pragma_table_info(?)", .text(table)).map { foldedName($0[0].text) })
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
