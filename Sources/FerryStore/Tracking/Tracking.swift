import FerryCore
import FerrySQL
import FerrySchema
import Foundation

/// Starts, updates and ends the tracking of a database's tables: Ferry's tables, the registry and the triggers.
struct Tracking {
    let connection: SQLConnection
    let clock: any WallClock
    let random: any RandomSource

    init(_ connection: SQLConnection, clock: any WallClock, random: any RandomSource) {
        self.connection = connection
        self.clock = clock
        self.random = random
    }

    private var meta: MetaTable { MetaTable(connection: connection) }

    var surroundings: StoreAccess.Surroundings { .init(clock: clock, random: random, hooks: MergeHooks()) }

    /// Makes Ferry's tables, registers this device and tracks the selected tables. Present rows are recorded as new.
    /// - Parameter rowsAreOld: true if the rows' times are unknown, so they overwrite nothing (`ferry join`).
    /// - Returns: the local tables.
    func begin(
        _ identity: StoreIdentity, _ selection: TableSelection, rowsAreOld: Bool
    ) throws -> [LeftOutTable] {
        try ReplayFlag(connection).makeRoom()
        try connection.executeScript(KeyValueRemains(connection).making(StoreTables.create))
        try DeviceTable(connection).begin(identity.device, name: identity.deviceName)
        try meta.set(.version, StoreTables.version)
        try meta.set(.device, 1)
        try meta.set(.container, identity.container)
        try meta.set(.containerPath, identity.containerPath)
        try meta.set(.containerName, identity.containerName)
        try meta.set(.selection, SelectionText.format(selection))
        try meta.set(.clock, 0)
        if !selection.renamed.local.isEmpty { try selection.renamed.save(meta) }
        if !selection.renamedColumns.isEmpty { try selection.renamedColumns.save(meta) }
        if !selection.plainReferences.isEmpty {
            _ = try TrackingPlan(SchemaReader(connection: connection).read(), selection)
        }
        let registry = try update(rowsAreOld: rowsAreOld)
        let named = registry.declaredKeys.filter { key in selection.plainReferences.contains { $0.names(key) } }
        if !named.isEmpty { try PlainReferenceList(connection).enter(named, as: DeclaredKey.namedWord) }
        return registry.leftOut
    }

    /// The registry, after processing schema changes since the last access.
    /// - Parameter present: the registry of the present schema, if that may be known already; `nil` to read the schema.
    func currentRegistry(_ present: (() throws -> Registry)? = nil) throws -> Registry {
        try StoreTables.checkVersion(meta)
        let reader = SchemaReader(connection: connection)
        if let former = try StoreTables.upgrade(meta) {
            var registry = try update(rowsAreOld: false)
            if former < 7 {
                registry.news.unproven = registry.tables.keys.sorted()
                try registry.news.save(meta)
            }
            return registry
        }
        if try reader.version() != meta.integer(.schemaVersion) {
            let registry = try update(rowsAreOld: false)
            // The app may have given up a name that was in the way.
            return try needsDocumentTables(registry) ? makeDocumentTables() : registry
        }
        var registry = try present?() ?? Registry(connection, reader.read())
        if try lacksTriggers(registry) { return try update(rowsAreOld: false) }
        if try needsDocumentTables(registry) { return try makeDocumentTables() }
        registry.news = try SchemaNews.load(meta)
        return registry
    }

    /// True if another device has contents or documents, and this database has no tables for them yet.
    private func needsDocumentTables(_ registry: Registry) throws -> Bool {
        let arrived = DocumentTables.identities.keys.contains { registry.table(named: $0).map { !$0.isLocal } ?? false }
        return try arrived && !DocumentTables.areMade(meta) && DocumentTables.nameInTheWay(connection) == nil
    }

    /// Makes the tables of contents and documents, and tracks those that travel.
    /// - Throws: `unsupportedTable` where the app uses one of their names.
    @discardableResult
    func makeDocumentTables() throws -> Registry {
        try DocumentTables.make(meta)
        return try update(rowsAreOld: false)
    }

    /// True if triggers are missing or have an outdated text: an earlier version of Ferry made fewer triggers. That
    /// version ignored that IDs may distinguish keys equal in SQLite.
    private func lacksTriggers(_ registry: Registry) throws -> Bool {
        lazy var present = Result { try PresentTriggers(connection) }
        return try registry.tables.values.contains { table in
            guard table.isLocal else { return false }
            if table.hasKeyOfItsOwn {
                return try !present.get().have(present.get().needed(by: table), noting: table)
            }
            var names: [String] = []
            if NondeterministicDefaults(table: table).areAny { names.append(NondeterministicDefaults.updateTrigger) }
            if CaptureTriggers.needsNewKeyTrigger(table) { names.append(CaptureTriggers.newKeyTrigger) }
            if names.isEmpty { return false }
            let known = try present.get().names(ofTable: table.id)
            return names.contains { !known.contains(CaptureTriggers.prefix(of: table) + $0) }
        }
    }

    /// Updates registry and triggers to the present schema.
    /// - Parameters:
    ///   - triggered: tables with triggers dropped for a moment without writes.
    ///   - names: the present names of tables whose triggers were away, by number.
    ///   - columns: the present names of columns of such tables.
    ///   - isPacked: true if all pending changes are packed, so tables with a new primary key change their generation.
    @discardableResult
    func update(
        rowsAreOld: Bool, triggered released: Set<Int> = [], names: [Int: String] = [:],
        columns: RenamedColumns.Names = [:], isPacked: Bool = false
    ) throws -> Registry {
        try RenamedTables(connection).update(names, surroundings)
        try ExceptedTables(connection).update()
        let reader = SchemaReader(connection: connection)
        let unseen = UnseenTables(connection)
        let coverage = try unseen.coverage()
        let present = try PresentTriggers(connection)
        let found = try reader.read()
        let columnNames = try RenamedColumns(connection, surroundings).update(
            found, present, covered: coverage.mapValues(\.columns), columns)
        let schema = try columnNames.isChanged ? reader.read() : found
        try RemovedForeignKeys(connection, schema).update()
        let isNews = try columnNames.isChanged || !ToldColumnNames.isSameSchema(schema.version, meta)
        var plan = try TrackingPlan(kept: connection, schema, isNew: meta.integer(.schemaVersion) == nil && !rowsAreOld)
        let known = Set(try RegisteredTables(connection).numbers())
        let leaving = try Generations.load(meta).leaving
        let arriving = try GenerationPlan(connection, schema).decide(&plan.tracked, isPacked: isPacked)
        try LeavingKeys(connection, schema).bring(after: leaving)
        let triggered = try unseen.tablesWithTriggers().union(released)
        var news = SchemaNews()
        var numbers = FreeNumbers(connection)
        let registered = try columnCounts()
        for record in plan.tracked {
            guard let table = schema.table(record.name) else { continue }
            try Registry.register(
                record.name, record.identity, columns: try travellingColumns(table, record), &numbers, in: connection)
        }
        try GenerationPlan(connection, schema).recordCollations(
            plan.tracked, meta.string(.selection).map(SelectionText.parse))
        var registry = try Registry(connection, schema)
        let meanings = ColumnMeanings(connection, schema)
        if try meanings.update(registry) { registry = try Registry(connection, schema) }
        let remade = coverage.filter { known.contains($0.key) && !triggered.contains($0.key) }.mapValues(\.columns)
        let renamed = try ColumnOrigins(connection).update(registry, columnNames.moved, remade: remade)
        if !renamed.isEmpty || !remade.isEmpty { registry = try Registry(connection, schema) }
        if !columnNames.moved.isEmpty { news.moved = columnNames.moved }
        let ruled = try unseen.recordRules(registry, schema)
        let formerTypes = try unseen.recordTypes(registry)
        let returned = returnedColumns(registry, registered, coverage.mapValues(\.columns))
        if isPacked { try meanings.appendRewritten(registry) } else { try meanings.recordRewritten(registry) }
        try PendingTable(connection).widen(to: registry.keyWidth)
        // Parents first: a child's record then finds the parent's record, even if a flush ends in between.
        let names = Set(plan.tracked.map { foldedName($0.name) })
        let planned = Set(registry.tables.values.filter { $0.isLocal && names.contains(foldedName($0.name)) }.map(\.id))
        let local = registry.parentsFirst.filter { planned.contains($0.id) }
        let begun = try BeforeImageTable.makeAbsent(local, connection)
        let displacing = try meta.integer(.schemaVersion) == schema.version ? [] : tablesWithLostRows(local)
        for table in local {
            let old = Set((renamed[table.id] ?? [:]).keys).union(returned[table.id] ?? [])
            let hasNews =
                try makeTriggers(table, present, renamed[table.id] ?? [:], written: old) || begun.contains(table.id)
            if hasNews || !triggered.contains(table.id) { news.adopted.append(table.id) }
            if arriving.contains(table.id) {
                // The rows come from a former generation (`GenerationChange`).
                continue
            }
            // A table with triggers has recorded its rows; a new or rebuilt table has not. Triggers from before a new
            // UNIQUE index do not see the rows that OR REPLACE displaces under that index.
            if !known.contains(table.id) {
                try recordRows(table, areOld: rowsAreOld)
            } else if !triggered.contains(table.id) || ruled.contains(table.id) || displacing.contains(table.id) {
                let covered = coverage[table.id]
                news.unseen.append(
                    UnseenTable(
                        table: table.id, covered: covered?.columns ?? [], wasAbsent: !(covered?.isShown ?? false),
                        wasThere: covered.map { !$0.columns.isEmpty }, hasOtherRules: ruled.contains(table.id),
                        formerTypes: formerTypes[table.id]))
            }
        }
        // Triggers that followed a renamed table record nothing useful.
        try dropTriggers { !planned.contains($0) }
        for number in registry.tables.keys.sorted() {
            let table = registry[number]
            // A table without a primary key still exists, but its rows are ignored.
            if !table.isLocal, !registry.isOfAnotherGeneration(table),
                schema.table(table.name)?.primaryKey.isEmpty ?? false
            {
                try DigestTable(connection).leave(number)
                continue
            }
            let local = table.isLocal ? schema.table(table.name) : nil
            let hasLostColumns = try DigestCoverage.enter(
                table, local.map { TableShape(table, $0, registry) }, connection)
            let isRemade = table.isLocal && known.contains(number) && !triggered.contains(number)
            if hasLostColumns || isRemade || returned[number] != nil { news.reshaped.append(number) }
            if hasLostColumns || isRemade || ruled.contains(number) { news.unproven.append(number) }
        }
        try unseen.recordTriggers()
        try StoreTables.renewIndexes(registry.tables.values, connection)
        try GenerationPlan(connection, schema).recordKeys(of: registry)
        registry.news = try SchemaNews.load(meta)
        registry.news.add(news)
        try registry.news.save(meta)
        if isNews { try meta.set(.schemaUnsent, 1) }
        try meta.set(.schemaVersion, reader.version())
        if columnNames.isPostponed { try ToldColumnNames.askAgain(meta) }
        let plain = try newlyBroken(schema, registry)
        if !plain.isEmpty {
            try PlainReferenceList(connection).enter(plain)
            let left = registry.news
            registry = try Registry(connection, schema)
            registry.news = left
        }
        registry.leftOut = plan.leftOut
        return registry
    }

    /// The tables with pending changes and a row that is gone without one: a UNIQUE index was made, displaced rows, and is gone again
    /// since the last look. A trigger that knows nothing of an index records nothing of what OR REPLACE displaces by it.
    private func tablesWithLostRows(_ tables: [TrackedTable]) throws -> Set<Int> {
        let pending = try PendingTable(connection).counts()
        return try Set(
            tables.filter { table in
                guard pending[table.id] != nil else { return false }
                let width = table.keyColumns.count
                let slots = width == 1 ? "coalesce(k0, object)" : (0..<width).map { "k\($0)" }.joined(separator: ", ")
                return try connection.count(
                    """
                    SELECT EXISTS(SELECT \(slots) FROM \(table.objectTable)
                        WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue))
                        EXCEPT SELECT \(table.comparedKeyList) FROM \(table.rows)
                        EXCEPT \(PendingTable.keys(of: table.id, width: width)))
                    """) != 0
            }.map(\.id))
    }

    /// The number of registered columns of each table.
    private func columnCounts() throws -> [Int: Int] {
        var counts: [Int: Int] = [:]
        try RegisteredTables(connection).forEachColumn { table, _, _ in counts[table, default: 0] += 1 }
        return counts
    }

    /// The columns that tables had before, and lacked for a while. Such a column shows its default, and the checksums are
    /// of its former values.
    /// - Parameters:
    ///   - registered: the number of columns of each table before this update.
    ///   - covered: the columns covered by the object checksums.
    private func returnedColumns(
        _ registry: Registry, _ registered: [Int: Int], _ covered: [Int: [Int]]
    ) -> [Int: Set<Int>] {
        var found: [Int: Set<Int>] = [:]
        for table in registry.tables.values {
            guard table.isLocal, let former = covered[table.id], !former.isEmpty else { continue }
            for column in table.localColumns
            where column.id < registered[table.id] ?? 0 && !former.contains(column.id) {
                found[table.id, default: []].insert(column.id)
            }
        }
        return found
    }

    /// The foreign keys added to the schema since the last check, and broken by present rows.
    private func newlyBroken(_ schema: Schema, _ registry: Registry) throws -> [DeclaredKey] {
        let known = Set(try (meta.json(.checkedKeys, as: [String].self) ?? []).map(exactKey))
        var present: Set<String> = []
        var broken: [DeclaredKey] = []
        for key in registry.declaredKeys {
            let text = exactKey("\(key.target)(\(foldedText(key.parentColumns.joined(separator: ","))))")
            present.insert(text)
            if isFerryName(key.child) { continue }
            if !known.contains(text), try key.brokenRows(connection, limit: 1) > 0 { broken.append(key) }
        }
        if present != known { try meta.set(.checkedKeys, json: present.sorted()) }
        return broken
    }

    private func travellingColumns(_ table: SchemaTable, _ record: TrackedTableRecord) throws -> [String] {
        let number = try TableGeneration.named(record.name, record.identity, connection)?.number
        let former = try number.flatMap { try Generations.load(meta).leaving["\($0)"] }
        var local: [String] = []
        if case .key(let columns) = record.identity {
            // An integer key replacing the key of the rows is no value of the rows.
            if table.isIntegerKey, !table.fits(record.identity) { local = table.primaryKey }
            // A renamed column of the former key travels by its former name.
            for (name, column) in zip(former ?? columns, columns) where !equalNames(name, column) { local.append(name) }
        } else {
            local = [former?.first ?? table.primaryKey[0]]
        }
        return table.columns.filter { column in
            !column.isGenerated && !local.contains { equalNames($0, column.name) }
        }.map(\.travellingName)
    }

    /// Replaces a table's triggers by triggers for the present columns, unless they are equal: each dropped or made
    /// trigger makes SQLite read the schema.
    /// - Parameter written: new columns that rows of the state may have a former value of: they show their default now.
    /// - Returns: true if the database has new columns; peers' values may wait for them.
    private func makeTriggers(
        _ table: TrackedTable, _ present: PresentTriggers, _ renamed: ColumnOrigins.Renamed, written: Set<Int>
    ) throws -> Bool {
        let statements = present.needed(by: table)
        let areThere = present.are(statements, of: table)
        if !areThere { try drop(present.names(ofTable: table.id)) }
        let added = try BeforeImageTable(table, connection).alter(renamed)
        // The values of moved columns are in the state (`MovedValues`).
        let moved = Set(renamed.keys).union(renamed.values)
        for column in added where !moved.contains(column.id) {
            try recordValues(of: column, table, ofAllRows: written.contains(column.id))
        }
        if !areThere { try connection.executeScript(statements.joined(separator: ";\n")) }
        return !added.isEmpty
    }

    /// Drops the recording triggers.
    /// - Returns: the tables with such triggers.
    func dropCaptureTriggers() throws -> Set<Int> {
        let tables = try UnseenTables(connection).tablesWithTriggers()
        try dropTriggers { _ in true }
        return tables
    }

    /// Drops triggers of Ferry's.
    /// - Parameter isMeant: a condition on the number of the recorded table.
    private func dropTriggers(_ isMeant: (Int) -> Bool) throws {
        let present = try PresentTriggers(connection)
        for number in present.tables where isMeant(number) { try drop(present.names(ofTable: number)) }
    }

    private func drop(_ triggers: [String]) throws {
        for name in triggers { try connection.executeScript("DROP TRIGGER \(quoted(name))") }
    }

    /// Records rows unknown to the state as inserted.
    func recordRows(_ table: TrackedTable, areOld: Bool) throws {
        let slots = table.keyColumns.indices.map { "k\($0)" }
        // A 16-byte key equal to the ID is stored only as the ID.
        let known = slots.count == 1 ? "coalesce(k0, object)" : slots.joined(separator: ", ")
        try PendingTable(connection).note(
            .insert, in: table.id,
            .init(
                query: """
                    SELECT \(table.comparedKeyList) FROM \(table.rows)
                    EXCEPT SELECT \(known) FROM \(table.objectTable)
                    WHERE \(Visibility.way) IN (\(Visibility.row.rawValue), \(Visibility.anomalousRow.rawValue))
                    """, width: slots.count), isOld: areOld)
    }

    /// Records values of a new column from before its triggers: every value but a constant default. For a column that
    /// replaces others, all rows are recorded. A peer's value waiting for the column takes precedence (`LocalChangeWriter`).
    /// - Parameter ofAllRows: true for a new column with the former name of a renamed or dropped column.
    private func recordValues(of column: TrackedColumn, _ table: TrackedTable, ofAllRows: Bool) throws {
        let condition =
            column.precursors.isEmpty && !ofAllRows && column.hasConstantDefault
            ? " WHERE \(quoted(column.name)) IS NOT (\(column.defaultSQL ?? "NULL"))" : ""
        let keys = PendingTable.Keys(
            query: "SELECT \(table.keyList) FROM \(table.rows)\(condition)", width: table.keyColumns.count)
        try PendingTable(connection).note(.review, in: table.id, keys, mask: ColumnMask.mask(of: column.id))
    }

    /// Removes all of Ferry's triggers and tables, except the table read by the app's own triggers or views.
    /// - Returns: these triggers and views.
    func end() throws -> [String] {
        try dropTriggers { _ in true }
        try GenerationPlan(connection, SchemaReader(connection: connection).read()).dropIndexes()
        let askers = try ReplayFlag(connection).askers()
        if !askers.isEmpty { try ReplayFlag(connection).rest() }
        let own = try OwnNames(connection)
        for row in try connection.rows("SELECT name FROM sqlite_schema WHERE type = 'table'") {
            let name = row[0].text
            if name == ReplayFlag.table, !askers.isEmpty { continue }
            if KeyValueRemains.contains(foldedName(name)) { continue }
            guard own.contains(table: name), try OwnNames.hasShape(table: name, connection) else { continue }
            try connection.executeScript("DROP TABLE \(quoted(name))")
        }
        try KeyValueRemains(connection).removeIfEmpty()
        return askers
    }
}
