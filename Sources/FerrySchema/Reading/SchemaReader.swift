import FerryCore
import FerrySQL

/// Reads the app's schema by PRAGMAs, without Ferry's own tables and SQLite's (`OwnNames`).
package struct SchemaReader {
    package let connection: SQLConnection

    package func version() throws -> Int64 { Int64(try connection.count("PRAGMA schema_version")) }

    /// Reads the schema, with renamed tables and columns under their travelling names.
    /// - Parameters:
    ///   - names: the names of renamed tables; `nil` for the names recorded in the database.
    ///   - columns: the names of renamed columns; `nil` for the names recorded in the database.
    package func read(_ names: TableNames? = nil, columns: ColumnNameList? = nil) throws -> Schema {
        var tables: [SchemaTable] = []
        // `table_list` reports shadow tables and WITHOUT ROWID; `sqlite_schema` reports order and text.
        var kinds: [String: (kind: String, withoutRowID: Bool)] = [:]
        try connection.forEachRow("SELECT name, type, wr FROM pragma_table_list WHERE schema = 'main'") {
            kinds[foldedName($0.string(0))] = ($0.string(1), $0.int(2) != 0)
        }
        let own = try OwnNames(connection)
        var indexTexts: [String: String] = [:]
        try connection.forEachRow("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL") {
            indexTexts[foldedName($0.string(0))] = $0.string(1)
        }
        let entries = try connection.rows(
            "SELECT name, sql FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY rowid")
        for entry in entries {
            guard case .text(let nameBytes) = entry[0] else { continue }
            let name = String(decoding: nameBytes, as: UTF8.self)
            if own.contains(table: name) && !OwnNames.mayTravel(name) || name.hasPrefix("sqlite_") { continue }
            guard let (kindName, withoutRowID) = kinds[foldedName(name)],
                let kind = SchemaTable.Kind(rawValue: kindName)
            else { continue }
            var sql = ""
            if case .text(let bytes) = entry[1] { sql = String(decoding: bytes, as: UTF8.self) }
            tables.append(try readTable(name, kind: kind, withoutRowID: withoutRowID, sql: sql, indexTexts))
        }
        tables = tables.followingVanishedParents()
        let triggers = try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
        let hasTriggers = triggers.contains { row in
            guard case .text(let bytes) = row[0] else { return false }
            return OwnNames.table(ofTrigger: String(decoding: bytes, as: UTF8.self)) == nil
        }
        let travelling = try (names ?? .load(connection)).travelling(among: tables.map(\.localName))
        let columns = try columns ?? .load(connection)
        return Schema(
            version: try version(), tables: tables.map { $0.renamed(travelling, columns) }, hasTriggers: hasTriggers)
    }

    /// True if a table's name begins with `ferry_`, and the table is none of Ferry's own that travel.
    package static func isReserved(_ table: SchemaTable) -> Bool {
        isFerryName(table.name) && !OwnNames.isTravelling(table.name, columns: table.columns.map(\.name))
    }

    private func readTable(
        _ name: String, kind: SchemaTable.Kind, withoutRowID: Bool, sql: String, _ indexTexts: [String: String]
    ) throws -> SchemaTable {
        var table = SchemaTable(
            name: name, localName: name, kind: kind, isWithoutRowID: withoutRowID, columns: [], primaryKey: [],
            isIntegerKey: false, foreignKeys: [], uniqueIndexes: [], isAutoincrement: false)
        guard kind == .table else { return table }
        (table.checks, table.isStrict) = (IndexText.checks(sql), IndexText.isStrict(sql))
        var key: [(position: Int, name: String, type: String)] = []
        var names: [String] = []
        try connection.forEachRow(
            "SELECT name, type, dflt_value, pk, hidden, \"notnull\" FROM pragma_table_xinfo(?)", [.text(name)]
        ) { row in
            let column = row.string(0)
            let type = row.string(1)
            names.append(column)
            if row.int(4) == 1 { return }
            table.columns.append(
                SchemaColumn(
                    name: column, travellingName: column,
                    affinity: Self.affinity(ofDeclaredType: type, isStrict: table.isStrict),
                    collation: "BINARY", isGenerated: row.int(4) != 0,
                    generatedSQL: nil,
                    defaultSQL: row.optionalString(2).map(DefaultText.expression), isNotNull: row.int(5) != 0))
            if row.int(3) > 0 { key.append((row.int(3), column, type)) }
        }
        for index in table.columns.indices {
            table.columns[index].collation = try collation(of: table.columns[index].name, in: name)
        }
        if table.columns.contains(where: \.isGenerated) {
            let expressions = IndexText.generatedColumns(sql, columns: names)
            for index in table.columns.indices where table.columns[index].isGenerated {
                table.columns[index].generatedSQL = expressions[foldedName(table.columns[index].name)]
            }
        }
        table.primaryKey = key.sorted { $0.position < $1.position }.map(\.name)
        table.foreignKeys = try readForeignKeys(name)
        let indexes = try readIndexes(name, columns: names, indexTexts)
        table.uniqueIndexes = indexes.unique
        table.keyCollations = table.primaryKey.map { column in
            indexes.keyCollations[foldedName(column)] ?? table.column(column)?.collation ?? "BINARY"
        }
        // `INTEGER PRIMARY KEY DESC` is no alias of the rowid: SQLite makes an index for such a key. An alias has no
        // index.
        table.isIntegerKey =
            key.count == 1 && foldedName(key[0].type) == "integer" && (withoutRowID || indexes.keyCollations.isEmpty)
        table.isAutoincrement = table.isIntegerKey && foldedName(sql).contains("autoincrement")
        return table
    }

    /// Applies the rules of https://www.sqlite.org/datatype3.html#determination_of_column_affinity, in their order.
    /// ANY converts nothing in a STRICT table (https://www.sqlite.org/stricttables.html). In another table ANY is an unknown word.
    package static func affinity(ofDeclaredType declared: String, isStrict: Bool) -> SchemaColumn.Affinity {
        let type = foldedName(declared)
        // Searching a text for a word takes a microsecond, and most columns have one of these types.
        switch type {
        case "integer": return .integer
        case "text": return .text
        case "blob", "": return .blob
        case "real": return .real
        default: break
        }
        if type.contains("int") { return .integer }
        if type.contains("char") || type.contains("clob") || type.contains("text") { return .text }
        if type.contains("blob") || type.isEmpty || isStrict && type == "any" { return .blob }
        if type.contains("real") || type.contains("floa") || type.contains("doub") { return .real }
        return .numeric
    }

    /// Reads a column's collation through the C interface. No PRAGMA reports the collation.
    private func collation(of column: String, in table: String) throws -> String {
        try connection.collation(ofColumn: column, inTable: table)
    }

    private func readForeignKeys(_ table: String) throws -> [SchemaForeignKey] {
        var keys: [Int: SchemaForeignKey] = [:]
        try connection.forEachRow(
            "SELECT id, \"table\", \"from\", \"to\", on_delete, on_update FROM pragma_foreign_key_list(?) ORDER BY id, seq",
            [.text(table)]
        ) { row in
            var key =
                keys[row.int(0)]
                ?? SchemaForeignKey(
                    columns: [], parentTable: row.string(1), parentColumns: [], onDelete: row.string(4),
                    onUpdate: row.string(5))
            key.columns.append(row.string(2))
            if let parent = row.optionalString(3) { key.parentColumns.append(parent) }
            keys[row.int(0)] = key
        }
        return keys.sorted { $0.key < $1.key }.map(\.value)
    }

    /// - Parameters:
    ///   - columns: the names of the table's columns.
    ///   - texts: the texts of the schema's indexes, by the key of the name.
    /// - Returns: the UNIQUE indexes without the primary key's index, and the collations of the primary key's index by
    ///   column. Without collations where the key is the rowid.
    private func readIndexes(
        _ table: String, columns: [String], _ texts: [String: String]
    ) throws -> (unique: [SchemaUniqueIndex], keyCollations: [String: String]) {
        var result: [SchemaUniqueIndex] = []
        var keyCollations: [String: String] = [:]
        var names: [(name: String, origin: String)] = []
        try connection.forEachRow(
            "SELECT name, origin FROM pragma_index_list(?) WHERE \"unique\" ORDER BY seq DESC", [.text(table)]
        ) { names.append(($0.string(0), $0.string(1))) }
        for (name, origin) in names {
            var terms: [SchemaUniqueIndex.Term] = []
            try connection.forEachRow(
                "SELECT cid, name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno", [.text(name)]
            ) {
                terms.append(
                    .init(column: $0.optionalString(1), expression: nil, collation: collationName($0.string(2))))
            }
            if origin == "pk" {
                for term in terms {
                    guard let column = term.column.map(foldedName) else { continue }
                    keyCollations[column] = keyCollations[column] ?? term.collation
                }
                continue
            }
            var condition: String?
            if let sql = texts[foldedName(name)] {
                let text = IndexText(sql, columns: columns)
                condition = text.condition
                for position in terms.indices where terms[position].column == nil {
                    guard position < text.terms.count else {
                        throw FerryError(
                            .unsupportedTable, "The index \(name) of \(table) cannot be understood; report it.")
                    }
                    terms[position].expression = text.terms[position]
                }
            }
            result.append(SchemaUniqueIndex(name: name, terms: terms, condition: condition))
        }
        return (result, keyCollations)
    }

    package init(connection: SQLConnection) {
        self.connection = connection
    }
}

extension SchemaTable {
    /// The table, its columns and the parents of its foreign keys under their travelling names.
    fileprivate func renamed(_ travelling: [String: String], _ columnNames: ColumnNameList) -> SchemaTable {
        if travelling.isEmpty, columnNames.isEmpty { return self }
        var table = self
        table.name = travelling[foldedName(localName)] ?? localName
        for index in foreignKeys.indices {
            let parent = foreignKeys[index].parentTable
            table.foreignKeys[index].parentTable = travelling[foldedName(parent)] ?? parent
        }
        let names = columnNames[table.name]
        for index in columns.indices { table.columns[index].travellingName = names.travelling(columns[index].name) }
        return table
    }
}
