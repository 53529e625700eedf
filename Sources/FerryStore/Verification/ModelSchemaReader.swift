import FerryCore
import FerryReferenceModel
import FerrySQL
import FerrySchema

/// The travelling names of tables and columns, as far as they have other names in the database.
struct TravellingNames {
    /// By the name in the database, in lower case.
    private var tables: [String: String] = [:]
    /// By the travelling name of the table and the name in the database of the column, both in lower case.
    private var columns: [String: [String: String]] = [:]

    init() {}

    init(_ registry: Registry) {
        for table in registry.tables.values where table.isLocal {
            if !equalNames(table.name, table.localName) { tables[foldedName(table.localName)] = table.name }
            for column in table.localColumns where !equalNames(column.baseName, column.name) {
                columns[foldedName(table.name), default: [:]][foldedName(column.name)] = column.baseName
            }
        }
    }

    func table(_ name: String) -> String { tables[foldedName(name)] ?? name }

    func column(_ name: String, of table: String) -> String { columns[table]?[foldedName(name)] ?? name }
}

extension ModelSchema {
    /// Reads the tables with an identity, by PRAGMAs.
    /// - Parameters:
    ///   - identities: the identity of each tracked table, by name in lower case.
    ///   - names: the travelling names of renamed tables and columns.
    ///   - undeclaredReferences: columns referring to a table without a foreign key.
    ///   - plainReferences: foreign keys no rule follows, in lower case: `reference:song.album_id=album`.
    init(
        _ connection: SQLConnection, identities: [String: TableIdentity], names: TravellingNames = TravellingNames(),
        undeclaredReferences: [UndeclaredReference] = [], plainReferences: Set<String> = []
    ) throws {
        self.init(tables: [])
        let entries = try connection.rows(
            """
            SELECT l.name, l.strict, s.sql FROM pragma_table_list l JOIN sqlite_schema s ON s.name = l.name
            WHERE l.schema = 'main' AND l.type = 'table' AND s.type = 'table' ORDER BY s.rowid
            """)
        for entry in entries {
            let spelling = Self.string(entry[0])
            let name = foldedName(names.table(spelling))
            guard let identity = identities[name] else { continue }
            var table = try Self.readTable(
                spelling, sql: Self.string(entry[2]), isStrict: entry[1] == .integer(1), identity, connection)
            table.name = name
            tables.append(table)
        }
        for place in tables.indices {
            for (key, isPlain) in try readForeignKeys(place, plainReferences, names, connection) {
                if isPlain { tables[place].plainKeys.append(key) } else { tables[place].foreignKeys.append(key) }
            }
        }
        for place in tables.indices {
            tables[place].uniques = try readUniques(place, connection)
            tables[place].groups = groups(place)
        }
        for reference in undeclaredReferences {
            guard let table = place(of: reference.table), let column = tables[table].column(reference.column),
                let parent = place(of: reference.parent), tables[parent].isMapped
            else { continue }
            tables[table].columns[column].reference = parent
        }
        readReferences()
        readUncheckedColumns()
    }

    private static func string(_ value: FieldValue) -> String {
        if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { "" }
    }

    private static func readTable(
        _ name: String, sql: String, isStrict: Bool, _ identity: TableIdentity, _ connection: SQLConnection
    ) throws -> Table {
        var columns: [Column] = []
        var key: [(position: Int, column: Int)] = []
        let rows = try connection.rows(
            "SELECT name, type, dflt_value, \"notnull\", pk FROM pragma_table_xinfo(?) WHERE hidden = 0", .text(name))
        for row in rows {
            let spelling = string(row[0])
            if case .integer(let position) = row[4], position > 0 { key.append((Int(position), columns.count)) }
            columns.append(
                Column(
                    name: foldedName(spelling), type: string(row[1]),
                    collation: try connection.collation(ofColumn: spelling, inTable: name),
                    defaultSQL: row[2] == .null ? nil : DefaultText.expression(string(row[2])),
                    isNotNull: row[3] != .integer(0), isAny: isStrict && foldedName(string(row[1])) == "any"))
        }
        let places = key.sorted { $0.position < $1.position }.map(\.column)
        let isMapped = if case .key = identity { false } else { true }
        // `INTEGER PRIMARY KEY DESC` is no rowid: SQLite makes an index for such a key.
        let hasKeyIndex = try connection.count(
            "SELECT count(*) FROM pragma_index_list(?) WHERE origin = 'pk'", .text(name))
        return Table(
            name: foldedName(name), spelling: name, columns: columns, key: places,
            keyCollations: places.map { columns[$0].collation }, isMapped: isMapped, isStrict: isStrict,
            hasIntegerKey: places.count == 1 && foldedName(columns[places[0]].type) == "integer" && hasKeyIndex == 0,
            generated: try readGenerated(name, sql, connection), statements: [sql])
    }

    private static func columnNames(_ table: String, _ connection: SQLConnection) throws -> [String] {
        try connection.rows("SELECT name FROM pragma_table_xinfo(?)", .text(table)).map { string($0[0]) }
    }

    /// The definitions of generated columns.
    private static func readGenerated(_ name: String, _ sql: String, _ connection: SQLConnection) throws -> [String] {
        let expressions = IndexText.generatedColumns(sql, columns: try columnNames(name, connection))
        return try connection.rows("SELECT name, type FROM pragma_table_xinfo(?) WHERE hidden > 1", .text(name))
            .compactMap { row in
                guard let expression = expressions[foldedName(string(row[0]))] else { return nil }
                let collation = try connection.collation(ofColumn: string(row[0]), inTable: name)
                let type = Column.text(ofType: string(row[1]))
                return "\(quoted(string(row[0]))) \(type) COLLATE \(quoted(collation)) AS (\(expression))"
            }
    }

    private func readForeignKeys(
        _ place: Int, _ plain: Set<String>, _ names: TravellingNames, _ connection: SQLConnection
    ) throws -> [(ForeignKey, isPlain: Bool)] {
        var found: [(id: FieldValue, parent: String, action: String, pairs: [(String, String?)])] = []
        let rows = try connection.rows(
            """
            SELECT id, "table", "from", "to", on_delete FROM pragma_foreign_key_list(?) ORDER BY id, seq
            """, .text(tables[place].spelling))
        for row in rows {
            let parent = names.table(try parentSpelling(Self.string(row[1]), connection))
            if found.last?.id != row[0] { found.append((row[0], parent, Self.string(row[4]), [])) }
            found[found.count - 1].pairs.append((Self.string(row[2]), row[3] == .null ? nil : Self.string(row[3])))
        }
        return try found.compactMap { _, parentName, action, pairs in
            guard let parent = self.place(of: parentName) else { return nil }
            var columns = pairs.compactMap { tables[place].column($0.0) }
            let named = pairs.compactMap(\.1)
            var parentColumns = named.isEmpty ? tables[parent].key : named.compactMap { tables[parent].column($0) }
            guard columns.count == pairs.count, parentColumns.count == pairs.count else { return nil }
            let mappedKey = tables[parent].mappedKey
            var isEnforced = true
            if columns.count > 1, let part = parentColumns.firstIndex(where: { $0 == mappedKey }) {
                // The integer is the row. SQLite enforces the key where no column of it can be NULL.
                isEnforced = columns.indices.allSatisfy {
                    $0 == part || tables[place].columns[columns[$0]].isNotNull
                        || tables[place].key.contains(columns[$0])
                }
                (columns, parentColumns) = ([columns[part]], [parentColumns[part]])
            }
            let isMapped = mappedKey != nil && parentColumns == [mappedKey]
            // An integer key is no value of an object, so a reference in the key cannot travel.
            if columns.contains(where: { $0 == tables[place].mappedKey }) { return nil }
            let travelling = pairs.map { names.column($0.0, of: tables[place].name) }
            let text = "reference:\(tables[place].name).\(travelling.joined(separator: ","))=\(parentName)"
            let isReal = try Self.makesReals(tables[place].columns[columns[0]], connection)
            let isKey =
                try parentColumns == tables[parent].key && tables[parent].hasIntegerKey
                ? !isReal
                : isMapped || self.isKey(parentColumns, isNamed: !named.isEmpty, of: tables[parent], connection)
            return (
                ForeignKey(
                    columns: columns, parent: parent, parentColumns: parentColumns, isMapped: isMapped,
                    action: Self.action(action)), !isKey || !isEnforced || plain.contains(foldedName(text))
            )
        }
    }

    /// The table that a foreign key means: the one of the name, or where that is gone the one that was made anew under its former name.
    private func parentSpelling(_ named: String, _ connection: SQLConnection) throws -> String {
        let isThere = try connection.count(
            "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND name = ? COLLATE NOCASE", .text(named))
        if isThere != 0 { return named }
        let heirs = tables.filter { VanishedParent.isFormerName(foldedName(named), of: foldedName($0.spelling)) }
        return heirs.count == 1 ? heirs[0].spelling : named
    }

    /// True if SQLite accepts columns as a parent key.
    /// - Parameter isNamed: true if the foreign key names the columns. Then the primary key's index serves only with
    ///   the columns' collations.
    private func isKey(
        _ columns: [Int], isNamed: Bool, of table: Table, _ connection: SQLConnection
    ) throws -> Bool {
        if Set(columns) == Set(table.key), !isNamed || table.hasIntegerKey { return true }
        let names = Set(columns.map { table.columns[$0].name })
        for index in try connection.rows(
            "SELECT name FROM pragma_index_list(?) WHERE \"unique\" AND NOT partial", .text(table.spelling))
        {
            let terms = try connection.rows("SELECT name, coll FROM pragma_index_xinfo(?) WHERE key", index[0])
            let isPlain = terms.allSatisfy { term in
                table.column(Self.string(term[0])).map {
                    foldedName(table.columns[$0].collation) == foldedName(Self.string(term[1]))
                } ?? false
            }
            if isPlain, terms.count == names.count, Set(terms.map { foldedName(Self.string($0[0])) }) == names {
                return true
            }
        }
        return false
    }

    /// True if a column stores integers as real numbers.
    private static func makesReals(_ column: Column, _ connection: SQLConnection) throws -> Bool {
        if column.scratchType.isEmpty { return false }
        return try connection.firstValue("SELECT typeof(CAST(1 AS \(column.scratchType)))")
            == .text(Array("real".utf8)[...])
    }

    private static func action(_ name: String) -> Action {
        switch name {
        case "CASCADE": .cascade
        case "SET NULL": .setNull
        case "SET DEFAULT": .setDefault
        default: .restrict
        }
    }

    private mutating func readUniques(_ place: Int, _ connection: SQLConnection) throws -> [Unique] {
        let table = tables[place]
        var uniques: [Unique] = []
        let names = try Self.columnNames(table.spelling, connection)
        let indexes = try connection.rows(
            """
            SELECT i.name, i.origin, s.sql FROM pragma_index_list(?) i LEFT JOIN sqlite_schema s ON s.name = i.name
            WHERE i."unique" ORDER BY i.seq DESC
            """, .text(table.spelling))
        for index in indexes {
            let terms = try connection.rows(
                "SELECT cid, name, coll FROM pragma_index_xinfo(?) WHERE key ORDER BY seqno",
                .text(Self.string(index[0]))
            )
            if Self.string(index[1]) == "pk" {
                tables[place].keyCollations = terms.map { Self.string($0[2]).uppercased() }
                continue
            }
            let text = index[2] == .null ? nil : IndexText(Self.string(index[2]), columns: names)
            if index[2] != .null { tables[place].statements.append(Self.string(index[2])) }
            let unique = Unique(
                name: foldedName(Self.string(index[0])),
                terms: terms.enumerated().map { position, term in
                    let column = table.column(Self.string(term[1]))
                    return Unique.Term(
                        column: column,
                        // A generated column is not stored, and a constraint names the column.
                        sql: term[1] == .null ? text?.terms[position] ?? "NULL" : quoted(Self.string(term[1])),
                        collation: Self.string(term[2]).uppercased())
                }, condition: text?.condition)
            if unique.terms.contains(where: { $0.column != nil && $0.column == table.mappedKey }) { continue }
            uniques.append(unique)
        }
        return uniques
    }

    /// A column refers to a mapped table directly, or through a referring parent column.
    private mutating func readReferences() {
        for _ in tables {
            for place in tables.indices {
                for key in tables[place].plainKeys + tables[place].foreignKeys {
                    for (column, parentColumn) in zip(key.columns, key.parentColumns) {
                        let reference = key.isMapped ? key.parent : tables[key.parent].columns[parentColumn].reference
                        if let reference { tables[place].columns[column].reference = reference }
                    }
                }
            }
        }
    }

    /// A column referring to a mapped table is unchecked unless some foreign key checks the column. A foreign key does
    /// not check if it is a plain reference, may be NULL in part, or leads to an unchecked column.
    private mutating func readUncheckedColumns() {
        for place in tables.indices {
            for column in tables[place].columns.indices where tables[place].columns[column].reference != nil {
                tables[place].columns[column].isUnchecked = true
            }
        }
        while true {
            var checked: [(table: Int, column: Int)] = []
            for place in tables.indices {
                for column in tables[place].columns.indices
                where tables[place].columns[column].isUnchecked && isChecked(column, place) {
                    checked.append((place, column))
                }
            }
            if checked.isEmpty { return }
            for (table, column) in checked { tables[table].columns[column].isUnchecked = false }
        }
    }

    private func isChecked(_ column: Int, _ place: Int) -> Bool {
        let table = tables[place]
        return table.foreignKeys.contains { key in
            guard let position = key.columns.firstIndex(of: column) else { return false }
            if key.isMapped { return true }
            let origin = tables[key.parent].columns[key.parentColumns[position]]
            return origin.reference == table.columns[column].reference && !origin.isUnchecked
                && key.columns.allSatisfy {
                    $0 == column || table.columns[$0].isNotNull || table.key.contains($0)
                }
        }
    }

    private func groups(_ place: Int) -> [Int] {
        let own = tables[place].foreignKeys.map(\.columns)
        let referring = tables.flatMap(\.foreignKeys).filter { $0.parent == place && !$0.isMapped }
        var groups = Array(tables[place].columns.indices)
        for together in own + referring.map(\.parentColumns) {
            for column in together {
                let (former, kept) = (groups[column], groups[together[0]])
                groups = groups.map { $0 == former ? kept : $0 }
            }
        }
        return groups
    }
}
