import FerryCore
import FerrySQL

/// The tracked tables of a store: registered tables, joined with the local schema.
///
/// Invariants:
/// - A table is found by name *and* identity; a name may have several generations.
/// - At most the shown generation of a table is local (`isLocal`).
/// - Tables do not change after `init`. Tracking sets `news` and `leftOut` later.
@usableFromInline package struct Registry: Sendable {
    /// The schema by which the tables are described: whoever has a registry need not read the schema again.
    package let schema: Schema
    @usableFromInline package private(set) var tables: [Int: TrackedTable] = [:]
    /// The tables with small numbers, as nearly all, by number: every row's path asks for tables.
    @usableFromInline private(set) var dense: [TrackedTable?] = []
    private static let maximumDense = 1 << 12
    /// The shown or last shown generation of each table, by name in lower case.
    private var numbers: [String: Int] = [:]
    /// All generations of each table.
    private var generations: [String: [Int]] = [:]
    /// Tables with rows identified by a former key's columns until pending changes are packed (`Generations.leaving`).
    package private(set) var leaving: Set<Int> = []
    package var leftOut: [LeftOutTable] = []
    /// Work left by schema changes.
    package var news = SchemaNews()
    /// True if the app has its own triggers.
    package var appHasTriggers = false
    /// Local tables referring to travelling tables, directly or through further local tables.
    package var referringLocalTables: [String] = []
    /// Foreign keys between these local tables that may refuse a change of a row.
    package var localForeignKeyChains: [LocalForeignKeyChain] = []

    /// The shown or last shown generation of a table.
    package func table(named name: String) -> TrackedTable? { numbers[foldedName(name)].flatMap { tables[$0] } }

    /// The table that a person, or SQL of this database, calls by a name: the table of this name in the database, or else
    /// the table that travels under the name.
    package func table(called name: String) -> TrackedTable? {
        if let table = table(named: name), !table.isLocal || equalNames(table.localName, name) { return table }
        return tables.values.first { $0.isLocal && equalNames($0.localName, name) } ?? table(named: name)
    }

    /// The generation of a table with the given identity.
    package func table(named name: String, _ identity: TableIdentity) -> TrackedTable? {
        let all = tables(named: name)
        // The common case: a single generation, with this identity.
        if all.count == 1, all[0].identity == identity { return all[0] }
        let folded = identity.folded
        return all.first { $0.identity.folded == folded }
    }

    /// All generations of a table, in order of registration.
    package func tables(named name: String) -> [TrackedTable] {
        (generations[foldedName(name)] ?? []).compactMap { tables[$0] }
    }

    package var haveOneGenerationEach: Bool { generations.count == tables.count }

    /// True if the table is not the shown or last shown generation.
    package func isOfAnotherGeneration(_ table: TrackedTable) -> Bool { numbers[foldedName(table.name)] != table.id }

    /// Returns a table by number.
    ///
    /// Numbers also come from Ferry's tables, and these may be damaged. An unknown number gives an absent table.
    /// Reading or writing the state of an absent table is an SQLite error, never a trap.
    @inlinable package subscript(number: Int) -> TrackedTable {
        if dense.indices.contains(number), let table = dense[number] { return table }
        return tables[number] ?? .absent(number)
    }

    /// The tables in this database, parents before children as far as references have no cycles.
    package private(set) var parentsFirst: [TrackedTable] = []

    /// The largest number of key columns of any table.
    package private(set) var keyWidth = 1

    private mutating func enter(_ table: TrackedTable) {
        tables[table.id] = table
        guard (0..<Self.maximumDense).contains(table.id) else { return }
        if table.id >= dense.count { dense += Array(repeating: nil, count: table.id - dense.count + 1) }
        dense[table.id] = table
    }

    private func inOrderOfParents() -> [TrackedTable] {
        var result: [TrackedTable] = []
        var visited: Set<Int> = []
        func visit(_ number: Int) {
            guard visited.insert(number).inserted, let table = tables[number] else { return }
            for key in table.foreignKeys { visit(key.parent) }
            result.append(table)
        }
        for number in tables.keys.sorted() { visit(number) }
        return result
    }

    /// Reads the registered tables and describes each table by the local schema.
    package init(_ connection: SQLConnection, _ schema: Schema) throws {
        self.schema = schema
        let registered = RegisteredTables(connection)
        for entry in try registered.all() {
            let table = TrackedTable(
                id: entry.number, name: entry.name, identity: try IdentityText.parse(entry.identity), isLocal: false,
                columns: [], keyColumns: [])
            enter(table)
            generations[foldedName(table.name), default: []].append(table.id)
        }
        var present = try Generations.load(MetaTable(connection: connection))
        let selection = try MetaTable(connection: connection).string(.selection).map(SelectionText.parse)
        for table in tables.values where present.collations["\(table.id)"] == nil {
            present.collations["\(table.id)"] = selection?.keyCollations[foldedName(table.name)]
        }
        for (name, all) in generations {
            numbers[name] = present.shown[name].flatMap { all.contains($0) ? $0 : nil } ?? all[0]
        }
        try registered.forEachColumn { number, column, name in
            guard let table = tables[number] else { return }
            // A column's number is its place.
            guard column == table.columns.count else {
                throw FerryError(
                    .databaseCorrupt,
                    "Ferry's list of the columns of \(table.name) has a gap. Run `ferry doctor`; a backup, or `ferry leave` "
                        + "and `ferry join`, mends it.")
            }
            table.columns.append(TrackedColumn(id: column, name: name, isLocal: false))
        }
        let namesLeaving = Set(
            present.leaving.keys.compactMap { Int($0).flatMap { tables[$0] } }.map { foldedName($0.name) })
        for number in tables.keys.sorted() {
            guard let local = local(number, schema, present) else {
                if case .key(let columns) = self[number].identity {
                    tables[number]?.keyColumns = columns
                } else {
                    tables[number]?.keyColumns = ["key"]
                }
                continue
            }
            bind(self[number], local, schema, present.meanings["\(number)"] ?? [:], leaving: namesLeaving)
            describe(self[number], local, collations: present.collations["\(number)"])
            addOrigins(present.origins["\(number)"] ?? [:], to: self[number])
            findDeclaredColumns(
                of: self[number], present.origins["\(number)"] ?? [:],
                selection?.identityColumns[foldedName(self[number].name)] ?? [])
            markOtherMeanings(self[number])
        }
        for table in tables.values { table.finish() }
        let plain = try PlainReferenceList(connection).applied()
        for number in tables.keys.sorted() { link(number, schema, plain) }
        for reference in selection?.references ?? [] {
            let origins = table(named: reference.table).flatMap { present.origins["\($0.id)"] } ?? [:]
            link(reference, origins)
        }
        resolveReferences()
        try take(PolicyList(connection).applied())
        for table in tables.values { table.finish() }
        for table in tables.values { recordTelltaleColumns(of: table) }
        recordReferringColumns()
        let keyless: [String] = try MetaTable(connection: connection).json(.keylessTables) ?? []
        linkStayingTables(schema, keyless: Set(keyless.map(foldedName)))
        appHasTriggers = schema.hasTriggers
        parentsFirst = inOrderOfParents()
        keyWidth = tables.values.map(\.keyColumns.count).max() ?? 1
    }

    /// The local schema of a registered table; `nil` if this database does not show the table.
    private mutating func local(_ number: Int, _ schema: Schema, _ generations: Generations) -> SchemaTable? {
        let table = self[number]
        guard numbers[foldedName(table.name)] == number, let local = schema.table(table.name), local.kind == .table,
            // An app's table may have the name of a travelling table of a newer Ferry. The app's table stays.
            !local.primaryKey.isEmpty, !SchemaReader.isReserved(local)
        else { return nil }
        if let key = generations.leaving["\(number)"], let former = local.identified(by: key) {
            leaving.insert(number)
            table.note(presentNames: key)
            table.nextKeyColumns = local.primaryKey
            table.formerRows = FormerRows(
                local, formerKey: key, collations: table.isMapped ? [] : generations.collations["\(number)"] ?? [])
            return former
        }
        if !local.fits(table.identity) { return nil }
        let recorded = table.isMapped ? nil : generations.collations["\(number)"]
        return recorded.map { KeyEquality.tellsMoreApart(local, than: $0) } ?? false ? nil : local
    }

    /// Finds the columns replaced by a variant, because the local column has a new meaning (`ColumnMeaning`).
    /// - Parameters:
    ///   - meanings: the former targets of columns.
    ///   - leaving: tables still in their former generation. A column with a new reference to such a table waits.
    private func bind(
        _ table: TrackedTable, _ local: SchemaTable, _ schema: Schema, _ meanings: [String: ColumnMeaning],
        leaving: Set<String>
    ) {
        for column in local.columns where !column.isGenerated {
            let name = column.travellingName
            let known = meanings[foldedName(name)]
            let target = local.target(of: column.name, schema) ?? known?.target ?? ""
            let variant = ColumnMeaning.variant(name, target)
            if let known, !equalBytes(known.target, target), !leaving.isEmpty,
                local.parents(of: column.name).contains(where: { leaving.contains(foldedName($0)) })
            {
                table.hide(name)
                continue
            }
            guard let number = table.columns.firstIndex(where: { equalNames($0.name, variant) }) else { continue }
            table.hide(name)
            table.columns[number].presentName = column.name
            table.columns[number].isHidden = false
            table.columns[number].precursors = table.columns.indices.filter { other in
                other != number && equalNames(table.columns[other].baseName, name)
            }
        }
    }

    /// Adds the columns that columns replaced in a migration, as long as the table lacks the former columns.
    private func addOrigins(_ origins: [String: [Int]], to table: TrackedTable) {
        for index in table.columns.indices where table.columns[index].isLocal {
            let formers = (origins[foldedName(table.columns[index].name)] ?? []).filter { former in
                table.columns.indices.contains(former) && !table.columns[former].isLocal
            }
            table.columns[index].precursors += formers
        }
    }

    /// Finds the columns of a declared identity. A renamed column has a number of its own, and leads to its former one.
    /// - Parameter joined: the present names when this database joined; empty for the declared names.
    private func findDeclaredColumns(of table: TrackedTable, _ origins: [String: [Int]], _ joined: [String]) {
        guard case .declared(let names) = table.identity else { return }
        table.declaredColumns = names.enumerated().map { place, name in
            table.present(name, origins) ?? (place < joined.count ? table.present(joined[place], origins) : nil)
        }
    }

    private func markOtherMeanings(_ table: TrackedTable) {
        // A column under its own name is no variant, so most tables have nothing to look at.
        let bases = table.columns.filter { !$0.isLocal || $0.formerName != nil }.compactMap {
            ColumnMeaning.base(of: $0.travellingName)
        }
        for index in table.columns.indices
        where bases.contains(where: { equalNames($0, table.columns[index].baseName) }) {
            table.columns[index].hasOtherMeanings = true
        }
    }

    private func describe(_ table: TrackedTable, _ local: SchemaTable, collations: [String]?) {
        table.name = local.name
        table.localName = local.localName
        table.isLocal = true
        table.keyColumns = local.primaryKey
        table.isAutoincrement = local.isAutoincrement
        table.isIntegerKey = local.isIntegerKey
        table.isWithoutRowID = local.isWithoutRowID
        table.keyHasDefault =
            local.primaryKey.count == 1 && local.column(local.primaryKey[0])?.defaultSQL != nil
        if let key = local.primaryKey.first.flatMap({ local.column($0) }) {
            table.mappedKey = (key.affinity, key.collation)
        }
        table.generatedColumns = local.columns.compactMap { column in
            column.generatedSQL.map {
                .init(name: column.name, affinity: column.affinity, collation: column.collation, expression: $0)
            }
        }
        for index in table.columns.indices {
            let known = table.columns[index]
            guard
                let column = known.presentName.map({ local.column($0) }) ?? local.column(travelling: known.name),
                !column.isGenerated, !known.isHidden,
                !table.isMapped || !equalNames(column.name, local.primaryKey[0])
            else { continue }
            table.columns[index].isLocal = true
            // The former name travels: remote devices know the column by that name.
            if known.presentName != nil || !equalNames(column.name, known.name) {
                table.columns[index].formerName = known.name
            }
            table.columns[index].name = column.name
            table.columns[index].affinity = column.affinity
            table.columns[index].collation = column.collation
            table.columns[index].defaultSQL = column.defaultSQL
            table.columns[index].mayBeNull =
                !column.isNotNull && !local.primaryKey.contains { equalNames($0, column.name) }
        }
        table.uniqueIndexes = local.uniqueIndexes.compactMap { index in
            // A mapped key makes every tuple with the key unique, so a merge cannot violate such an index.
            if table.isMapped,
                index.terms.contains(where: { $0.column.map { equalNames($0, local.primaryKey[0]) } ?? false })
            {
                return nil
            }
            return TrackedUniqueIndex(
                name: index.name,
                terms: index.terms.map { term in
                    TrackedUniqueIndex.Term(
                        column: term.column.flatMap { table.columnID($0) },
                        expression: term.expression ?? term.column.map(quoted), collation: term.collation)
                }, condition: index.condition)
        }
        if table.isMapped { markIndexesOnKey(table) } else { recordKey(table, local, collations) }
    }

    /// Records how the key identifies a row, and adds a claim if SQLite calls more keys equal than the IDs do.
    /// - Parameter recorded: the collations by which the key's values derive IDs, if known.
    private func recordKey(_ table: TrackedTable, _ local: SchemaTable, _ recorded: [String]?) {
        table.keyCollations = local.keyCollations
        let present = KeyEquality.identityCollations(of: local)
        table.identityCollations = recorded.flatMap { $0.count == present.count ? $0 : nil } ?? present
        table.hasFormerCollations = !KeyEquality.areSame(table.identityCollations, present)
        let isCoarser =
            !KeyEquality.areSame(table.identityCollations, table.keyCollations)
            || KeyEquality.hasSpellings(of: local.primaryKey.compactMap { local.column($0) })
        guard isCoarser else { return }
        table.uniqueIndexes.append(
            TrackedUniqueIndex(
                name: KeyEquality.indexName,
                terms: zip(local.primaryKey, local.keyCollations).map { name, collation in
                    .init(column: table.columnID(name), expression: quoted(name), collation: collation)
                }, isKey: true))
    }

    private func markIndexesOnKey(_ table: TrackedTable) {
        // Names of the rowid exclude names of columns.
        table.finish()
        for place in table.uniqueIndexes.indices {
            let texts = IndexExpressions(table.uniqueIndexes[place], table)
            table.uniqueIndexes[place].isOnKey = texts.mention(table.namesOfMappedKey)
        }
    }

    private func recordTelltaleColumns(of table: TrackedTable) {
        var collations: [Int: [String]] = [:]
        for (place, key) in table.foreignKeys.enumerated() { collations[place] = self.collations(of: key) }
        table.recordTelltaleColumns(collations)
    }

    // MARK: Changing the registry

    /// Registers a generation of a table or its new columns, and creates a missing state table.
    /// - Returns: the generation's number.
    @discardableResult
    package static func register(
        _ name: String, _ identity: TableIdentity, columns: [String], _ numbers: inout FreeNumbers,
        in connection: SQLConnection
    ) throws -> Int {
        var known = try TableGeneration.named(name, identity, connection)?.number
        if known == nil {
            let number = try numbers.next()
            try RegisteredTables(connection).enter(
                .init(number: number, name: name, identity: IdentityText.format(identity)))
            let keyColumns: [String] = if case .key(let columns) = identity { columns } else { ["key"] }
            let table = TrackedTable(
                id: number, name: name, identity: identity, isLocal: false, columns: [],
                keyColumns: keyColumns)
            for statement in StoreTables.createObjectTable(table) { try connection.executeScript(statement) }
            _ = try DigestCoverage.enter(table, nil, connection)
            known = table.id
        }
        guard let known else { throw FerryError(.internalInconsistency, "A table was not entered.") }
        for column in columns { try RegisteredTables(connection).enterColumn(column, in: known) }
        return known
    }
}
