import FerryCore
import FerrySQL
import FerrySchema

/// Keeps a table that a person excepted out of the container after the table got another name.
///
/// Ferry makes no triggers on such a table, so nothing of Ferry's goes along with the table. The table's root page and
/// columns are recorded instead: ALTER TABLE RENAME TO changes neither, and VACUUM only the page.
struct ExceptedTables {
    private let connection: SQLConnection
    private var meta: MetaTable { MetaTable(connection: connection) }

    private struct Mark: Codable, Equatable {
        var rootPage: Int64
        @ComparedByBytes var columns: [String]
    }

    init(_ connection: SQLConnection) { self.connection = connection }

    /// Excepts renamed tables under their present names, and records the excepted tables.
    func update() throws {
        guard let text = try meta.string(.selection) else { return }
        var selection = try SelectionText.parse(text)
        if selection.except.isEmpty { return }
        let known = try meta.json(.excepted, as: [String: Mark].self)?.byNameKeys ?? [:]
        let present = try marks()
        let registered = Set(try RegisteredTables(connection).all().map { foldedName($0.name) })
        var excepted = Set(selection.except.map(foldedName))
        for (former, mark) in known.sorted(by: { $0.key < $1.key }) where present[former] == nil {
            let renamed = present.filter { name, other in
                !excepted.contains(name) && !registered.contains(name)
                    && (other.rootPage == mark.rootPage || [String].areEqualBytes(other.columns, mark.columns))
            }
            for name in renamed.keys.sorted() {
                selection.except.append(foldedText(name))
                excepted.insert(name)
            }
        }
        let marks = present.filter { excepted.contains($0.key) }
        if marks != known { try meta.set(.excepted, json: marks) }
        let changed = try SelectionText.format(selection)
        if !equalBytes(changed, text) { try meta.set(.selection, changed) }
    }

    /// Tables that the container did not have when this database joined, by keys of their names.
    func awaited() throws -> Set<String> {
        guard let text = try meta.string(.selection) else { return [] }
        return Set(try SelectionText.parse(text).awaited.map(foldedName))
    }

    /// Lets awaited tables travel that other devices have now. The next access makes their triggers, and takes their rows for new ones.
    /// - Parameter arrived: the tables of other devices, by keys of their names; with their identity where that is known.
    func release(_ arrived: [String: TableIdentity?]) throws {
        guard let text = try meta.string(.selection) else { return }
        var selection = try SelectionText.parse(text)
        let released = selection.awaited.filter { arrived.keys.contains(foldedName($0)) }
        if released.isEmpty { return }
        let names = Set(released.map(foldedName))
        selection.awaited.removeAll { names.contains(foldedName($0)) }
        selection.except.removeAll { names.contains(foldedName($0)) }
        for name in released {
            if case .declared(let columns)?? = arrived[foldedName(name)] {
                selection.declaredIdentities[exactKey(name)] = columns
            }
        }
        try meta.set(.selection, SelectionText.format(selection))
        try meta.set(.schemaVersion, -1)
    }

    /// The app's tables, by keys of their names.
    private func marks() throws -> [String: Mark] {
        var marks: [String: Mark] = [:]
        for row in try connection.rows("SELECT name, rootpage FROM sqlite_schema WHERE type = 'table'") {
            let name = row[0].text
            if isFerryName(name) || foldedName(name).hasPrefix("sqlite_") { continue }
            let columns = try connection.rows("SELECT name FROM pragma_table_info(?)", .text(name)).map { $0[0].text }
            marks[foldedName(name)] = Mark(rootPage: Int64(row[1].number), columns: columns)
        }
        return marks
    }
}
