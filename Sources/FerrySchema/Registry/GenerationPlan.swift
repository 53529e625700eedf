import FerryCore
import FerrySQL

/// Decides the generation of each table shown by this database, after a schema change.
///
/// A table with a new primary key is a new generation. First all pending changes are packed as changes of the former
/// generation. Until then rows are identified by the former key's columns, if the table still has these columns. Then
/// the known state of the rows passes over (`GenerationChange`).
package struct GenerationPlan {
    private let connection: SQLConnection
    private let schema: Schema
    private var meta: MetaTable { MetaTable(connection: connection) }

    package init(_ connection: SQLConnection, _ schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// - Parameters:
    ///   - tracked: the identities the schema asks for. A table with a former generation still to pack gets the former identity.
    ///   - isPacked: true if all pending changes are packed.
    /// - Returns: the numbers of generations that rows of former generations pass over to.
    package func decide(_ tracked: inout [TrackedTableRecord], isPacked: Bool) throws -> Set<Int> {
        let before = try Generations.load(meta)
        var generations = before
        var arriving: Set<Int> = []
        var numbers = FreeNumbers(connection)
        for index in tracked.indices {
            guard let table = schema.table(tracked[index].name) else { continue }
            tracked[index].identity = try placed(tracked[index], table, generations)
            let record = tracked[index]
            guard let present = try TableGeneration.shown(record.name, generations, connection)
            else { continue }
            if present.identity.folded == record.identity.folded {
                if generations.leaving.removeValue(forKey: "\(present.number)") != nil, !isPacked {
                    try dropIndex(of: present.number)
                }
                continue
            }
            if case .key(let columns) = present.identity, let key = try renamed(columns, present, table) {
                try renameReferences(
                    of: record.name, Dictionary(zip(columns.map(foldedName), key)) { first, _ in first })
            }
            let isHeld = try hasRows(present.number)
            if !isPacked, isHeld, let key = try formerKey(of: present, table, &generations) {
                generations.leaving["\(present.number)"] = key
                tracked[index].identity = present.identity
                try makeIndex(of: present.number, on: table, key)
                continue
            }
            generations.leaving["\(present.number)"] = nil
            let number = try Registry.register(
                record.name, record.identity, columns: [], &numbers, in: connection)
            generations.shown[foldedName(record.name)] = number
            if isHeld && isPacked { arriving.insert(number) }
        }
        if generations != before { try generations.save(meta) }
        return arriving
    }

    /// Returns a table's identity. An integer key moved from column to column makes a new generation.
    private func placed(
        _ record: TrackedTableRecord, _ table: SchemaTable, _ generations: Generations
    ) throws -> TableIdentity {
        guard record.identity == .surrogate, let key = table.primaryKey.first else { return record.identity }
        let all = try TableGeneration.all(record.name, connection)
        let shown = try TableGeneration.shown(record.name, generations, connection)
        let former = shown.flatMap { $0.identity.isSurrogate ? generations.keys["\($0.number)"] : nil }
        if let shown, let former, equalNames(former, key) { return shown.identity }
        let moved = TableIdentity.surrogateBy(key)
        if let known = all.first(where: { $0.identity.folded == moved.folded }) { return known.identity }
        // If the former key's column is gone, the column counts as renamed: a rename and a move look the same.
        if let shown, let former, table.column(former)?.isGenerated ?? true { return shown.identity }
        guard let first = all.first(where: { $0.identity == .surrogate }) else {
            return shown?.identity.isSurrogate ?? false ? moved : .surrogate
        }
        if first.number == shown?.number, former != nil { return moved }
        if let known = generations.keys["\(first.number)"] { return equalNames(known, key) ? .surrogate : moved }
        return try values(of: first).contains(foldedName(key)) ? moved : .surrogate
    }

    /// True if rows of this database belong to objects of a generation.
    private func hasRows(_ number: Int) throws -> Bool {
        try connection.count(
            "SELECT EXISTS(SELECT 1 FROM \(OwnNames.objects)\(number) WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), "
                + "\(Visibility.anomalousRow.rawValue)))") != 0
    }

    /// The present columns identifying rows of a former generation; `nil` if the table lacks them.
    private func formerKey(
        of present: TableGeneration, _ table: SchemaTable, _ generations: inout Generations
    ) throws -> [String]? {
        var key: [String]
        if case .key(let columns) = present.identity {
            key = try renamed(columns, present, table) ?? columns
        } else if let known = generations.keys["\(present.number)"] {
            key = [known]
        } else {
            // An earlier version of Ferry did not record the key's name. The key is the only column never registered as
            // a value.
            let values = try values(of: present)
            let others = table.columns.filter { !$0.isGenerated && !values.contains(foldedName($0.name)) }
            guard others.count == 1 else { return nil }
            key = [others[0].name]
            generations.keys["\(present.number)"] = key[0]
        }
        return table.identified(by: key) == nil ? nil : key
    }

    /// The names of a generation's columns, in lower case.
    private func values(of present: TableGeneration) throws -> Set<String> {
        Set(try RegisteredTables(connection).columns(of: present.number).map(foldedName))
    }

    /// The key columns after a rename: the table lacks the former names, and the new key has as many new columns.
    private func renamed(
        _ columns: [String], _ present: TableGeneration, _ table: SchemaTable
    ) throws -> [String]? {
        guard columns.count == table.primaryKey.count else { return nil }
        let values = try values(of: present)
        for (former, name) in zip(columns, table.primaryKey) where !equalNames(former, name) {
            if table.column(former) != nil || values.contains(foldedName(name)) { return nil }
        }
        return table.primaryKey
    }

    /// Gives references named by the selection the present names of renamed key columns.
    /// - Parameter names: the present names by the former names in lower case.
    private func renameReferences(of table: String, _ names: [String: String]) throws {
        guard let text = try meta.string(.selection) else { return }
        var selection = try SelectionText.parse(text)
        for index in selection.references.indices where equalNames(selection.references[index].table, table) {
            let column = selection.references[index].column
            selection.references[index].column = names[foldedName(column)] ?? column
        }
        let renamed = try SelectionText.format(selection)
        if !equalBytes(renamed, text) { try meta.set(.selection, renamed) }
    }

    // MARK: Index for finding rows

    private func indexName(_ number: Int) -> String { "ferry_\(number)_former" }

    private func makeIndex(of number: Int, on table: SchemaTable, _ key: [String]) throws {
        let columns = key.map(quoted).joined(separator: ", ")
        try dropIndex(of: number)
        try connection.executeScript("CREATE INDEX \(indexName(number)) ON \(table.quotedName)(\(columns))")
    }

    /// Drops the index of every leaving table.
    package func dropIndexes() throws {
        for number in try Generations.load(meta).leaving.keys.compactMap({ Int($0) }) { try dropIndex(of: number) }
    }

    package func dropIndex(of number: Int) throws {
        try connection.executeScript("DROP INDEX IF EXISTS \(indexName(number))")
    }

    // MARK: Keys

    /// Records the collations by which keys derive IDs, for tables that are new here. The container's come first.
    /// - Parameter selection: the selection with which this database joined.
    package func recordCollations(_ tracked: [TrackedTableRecord], _ selection: TableSelection?) throws {
        let before = try Generations.load(meta)
        var generations = before
        for record in tracked {
            guard case .key = record.identity, let table = schema.table(record.name),
                let number = try TableGeneration.named(record.name, record.identity, connection)?.number,
                generations.collations["\(number)"] == nil, table.fits(record.identity)
            else { continue }
            generations.collations["\(number)"] =
                selection?.keyCollations[foldedName(record.name)] ?? KeyEquality.identityCollations(of: table)
        }
        if generations != before { try generations.save(meta) }
    }

    /// Records the names of mapped keys. Only the schema has them.
    package func recordKeys(of registry: Registry) throws {
        let before = try Generations.load(meta)
        var generations = before
        for table in registry.tables.values
        where table.isLocal && table.isMapped && !registry.leaving.contains(table.id) {
            generations.keys["\(table.id)"] = table.keyColumns[0]
        }
        if generations != before { try generations.save(meta) }
    }
}
