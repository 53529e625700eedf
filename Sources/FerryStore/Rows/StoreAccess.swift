import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema

/// The session of an access to a tracked store: connection, registry, device numbers and state tables. Lives inside a
/// single transaction.
///
/// Invariants:
/// - All state tables, readers and writers of the session share the connection, the registry and `digests`.
/// - `savepoint` restores `changedRows`, `digests.changes` and `recordedConflicts` after a rollback.
/// - A temporary shape table may be gone after a rollback: `shape` checks before each use.
final class StoreAccess {
    let connection: SQLConnection
    let registry: Registry
    let devices: DeviceNumbers
    let meta: MetaTable
    let unified: UnifiedObjects
    let anomalies: AnomalyTable
    let anomalyTokens: AnomalyTokens
    /// What the transaction owes before it is committed.
    let obligations: Obligations
    let digests: StateDigests
    let pageCache: PageCache
    /// This device.
    let device: DeviceID
    let clock: any WallClock
    let random: any RandomSource
    /// The app's functions for columns under the policy `hook`.
    let hooks: MergeHooks
    /// The copies of the app's triggers now in use.
    var triggerCopies: TriggerCopies? { obligations.triggerCopies }
    /// Number of new rows, or of states, written by a statement.
    @exclusivity(unchecked) var newRowsAtOnce = StoreLimits.rowsAtOnce
    /// The fast paths that may be taken.
    @exclusivity(unchecked) var fastPaths = FastPaths.all
    let fastPathLog: FastPathLog
    /// How many states are read at once before they are asked for (`StatePrefetcher`).
    var prefetchedStates: Int { 4 * newRowsAtOnce }
    /// The tables this process cannot write to.
    @exclusivity(unchecked) var waiting = WaitingTables()
    /// True if rows have waited since a pass unable to write them.
    @exclusivity(unchecked) var areRowsWaiting = false
    /// Number of seeds given to the rules at once, without the objects they concern.
    @exclusivity(unchecked) var seedsAtOnce = StoreLimits.seedsAtOnce
    /// The parent keys Ferry took from local rows in this transaction.
    var departures: RemovedParentKeys { obligations.departures }
    /// What concurrent writes lost, and what authors had seen.
    let conflicts: ConflictTable
    let contexts: ContextLog
    @exclusivity(unchecked) private var knownOldTime: HybridTime?
    /// Tables with a temporary copy of their columns, for computing indexes.
    @exclusivity(unchecked) private var shapes: Set<Int> = []
    @exclusivity(unchecked) private var objectTables = ByTable<ObjectTable>()
    @exclusivity(unchecked) private var readers = ByTable<RowReader>()
    @exclusivity(unchecked) private var writers = ByTable<RowWriter>()
    @exclusivity(unchecked) private var allocators = ByTable<KeyAllocator>()

    /// What an access gets from the app's process.
    struct Surroundings {
        let clock: any WallClock
        let random: any RandomSource
        let hooks: MergeHooks
    }

    /// - Parameter former: works on another registry in the same transaction; what belongs to the transaction is shared.
    init(
        _ connection: SQLConnection, registry: Registry, _ surroundings: Surroundings, after former: StoreAccess? = nil
    ) throws {
        self.connection = connection
        self.registry = registry
        clock = surroundings.clock
        random = surroundings.random
        hooks = surroundings.hooks
        obligations = former?.obligations ?? Obligations()
        fastPathLog = former?.fastPathLog ?? FastPathLog()
        digests = obligations.digests
        devices = try former?.devices ?? DeviceNumbers(connection)
        conflicts = former?.conflicts ?? ConflictTable(connection, devices, clock)
        conflicts.silent = Set(DocumentTables.silent.compactMap { registry.table(named: $0)?.id })
        contexts = former?.contexts ?? ContextLog(connection, devices)
        unified = UnifiedObjects(connection)
        anomalyTokens = AnomalyTokens(connection)
        anomalies = AnomalyTable(connection, digests, anomalyTokens)
        meta = MetaTable(connection: connection)
        pageCache = PageCache(connection)
        guard let number = try meta.integer(.device) else {
            throw FerryError(.internalInconsistency, "The store does not say which device it is.")
        }
        device = try devices.device(Int(number))
        guard let former else { return }
        (waiting, areRowsWaiting) = (former.waiting, former.areRowsWaiting)
        (newRowsAtOnce, seedsAtOnce, fastPaths) = (former.newRowsAtOnce, former.seedsAtOnce, former.fastPaths)
    }

    /// An access on the registry as it is now, once the transaction has changed what registries are made of.
    /// - Parameter registry: where it is the same as before.
    func renewed(on registry: Registry? = nil) throws -> StoreAccess {
        try StoreAccess(
            connection, registry: registry ?? Registry(connection, SchemaReader(connection: connection).read()),
            Surroundings(clock: clock, random: random, hooks: hooks), after: self)
    }

    /// Records the tables this process cannot write to, among tables met by a pass.
    func recordWaitingTables() throws {
        let mark = try WaitingMark.load(meta)
        waiting = try mark?.present(registry, connection) ?? WaitingTables()
        areRowsWaiting = mark != nil
    }

    /// The states of a table's objects.
    func objects(of table: Int) -> ObjectTable {
        if let known = objectTables[table] { return known }
        let made = ObjectTable(registry[table], connection, devices, digests)
        objectTables[table] = made
        return made
    }

    /// The reader of a table's rows.
    func reader(of table: Int) -> RowReader {
        if let known = readers[table] { return known }
        let made = RowReader(registry[table], connection)
        readers[table] = made
        return made
    }

    /// The writer of a table's rows.
    func writer(of table: Int) -> RowWriter {
        if let known = writers[table] { return known }
        let made = RowWriter(registry[table], connection, obligations)
        writers[table] = made
        return made
    }

    /// Chooses the keys of a table's rows.
    func keys(of table: Int) -> KeyAllocator {
        if let known = allocators[table] { return known }
        let made = KeyAllocator(registry[table], self)
        allocators[table] = made
        return made
    }

    /// The references named by the selection, if this database has their tables and columns, with the present names of
    /// columns.
    func references() throws -> [UndeclaredReference] {
        guard let text = try meta.string(.selection) else { return [] }
        let origins = try Generations.load(meta).origins
        return try SelectionText.parse(text).references.compactMap { reference in
            guard let table = registry.table(named: reference.table), table.isLocal,
                registry.table(named: reference.parent)?.isLocal ?? false,
                let column = table.present(reference.column, origins["\(table.id)"] ?? [:])
            else { return nil }
            return UndeclaredReference(
                table: reference.table, column: table.columns[column].name, parent: reference.parent)
        }
    }

    /// Runs `body` inside a savepoint. If `body` throws, rolls back the savepoint and the session's values in memory.
    func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        let (changedRows, changes, recorded) = (obligations.changedRows, digests.changes, conflicts.recorded)
        let varyingDefaults = obligations.varyingDefaults.rows
        do {
            return try connection.savepoint(body)
        } catch {
            obligations.changedRows = changedRows
            obligations.varyingDefaults.rows = varyingDefaults
            digests.changes = changes
            conflicts.recorded = recorded
            throw error
        }
    }

    /// The name of a temporary table with a table's columns, including a mapped key and generated columns, without
    /// constraints. The caller owns the table's contents.
    func shape(of table: TrackedTable) throws -> String {
        let name = "ferry_shape_\(table.id)"
        // A rolled-back transaction removes the temporary table.
        let isThere = try connection.firstValue("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", .text(name)) != nil
        if !shapes.insert(table.id).inserted, isThere { return "temp.\(name)" }
        // A temporary table of an earlier session may have different columns.
        if isThere { try connection.executeScript("DROP TABLE temp.\(name)") }
        var local = table.localColumns.map { column in
            "\(quoted(column.name)) \(column.affinity.type) COLLATE \(quoted(column.collation))"
        }
        if table.isMapped {
            let key = "\(quoted(table.keyColumns[0])) \(table.mappedKey.affinity.type)"
            local.append(
                key + (table.keyIsRowID ? " PRIMARY KEY" : " COLLATE \(quoted(table.mappedKey.collation))"))
        }
        let generated = table.generatedColumns.map { column in
            "\(quoted(column.name)) \(column.affinity.type) COLLATE \(quoted(column.collation)) "
                + "GENERATED ALWAYS AS (\(column.expression))"
        }
        try connection.executeScript("CREATE TABLE temp.\(name)(\((local + generated).joined(separator: ", ")))")
        return "temp.\(name)"
    }

    /// The present value of a column's default; `nil` without a default.
    func defaultValue(of column: TrackedColumn) throws -> FieldValue? {
        try column.defaultValue(connection)
    }

    /// True if a value is no write: an unwritten column shows its default everywhere. A time or a random number is a write, because each
    /// device would show its own.
    func isUnwritten(_ value: FieldValue, in column: TrackedColumn) throws -> Bool {
        try column.hasConstantDefault && defaultValue(of: column) ?? .null == value
    }

    /// Why no row here can be identified by an object's key; `nil` if a row can. No Ferry inserts a row without a key. A key that its
    /// column converts is the key of another object, as is a key with another ID: what an app writes to the row would be lost.
    /// - Parameter values: those that its row shows or would show, portable.
    func keyRefusal(
        of object: ObjectID, _ values: ColumnValues, _ registers: ObjectRegisters, _ table: TrackedTable
    ) throws -> RefusalCause? {
        if table.isMapped || table.keyColumnIDs.isEmpty { return nil }
        var key: [FieldValue] = []
        for number in table.keyColumnIDs {
            let column = table.columns[number]
            let value = values[number] ?? .null
            if value == .null || registers.stamp(of: number) == nil {
                if try defaultValue(of: column) ?? .null == .null { return .unknownKey }
            } else if !column.stores(value) {
                return .convertedKey
            } else {
                key.append(value)
            }
        }
        // A row that replaced the row of another object may keep that object's ID, where its key refers to a unified row.
        if table.hasReferencesInKey || key.count < table.keyColumnIDs.count { return nil }
        return table.isID(object, ofKey: key) ? nil : .otherID
    }

    /// The time for rows of unknown age.
    func oldTime() throws -> HybridTime {
        if let knownOldTime { return knownOldTime }
        let time =
            try meta.integer(.oldTime).map { HybridTime(rawValue: UInt64(bitPattern: $0)) }
            ?? .joining(givingWay: false, among: [])
        knownOldTime = time
        return time
    }

    func setOldTime(_ time: HybridTime) throws {
        try meta.set(.oldTime, Int64(bitPattern: time.rawValue))
        knownOldTime = time
    }

    /// The clock as saved in the store.
    func hybridClock() throws -> HybridClock {
        HybridClock(now: HybridTime(rawValue: UInt64(bitPattern: try meta.integer(.clock) ?? 0)))
    }

    /// The time of a change recorded by a trigger on a Julian day, at most a day ahead of the clock.
    ///
    /// The limit equals the limit for remote times. A different copy of this database may publish the same pending
    /// change with that time, and later writes here must win.
    func milliseconds(capturedOn julianDay: Double) -> Int64 {
        min(
            clock.milliseconds(captured: HybridClock.milliseconds(julianDay: julianDay)),
            clock.milliseconds() + HybridClock.maximumLeadMilliseconds)
    }

    func save(_ clock: HybridClock) throws {
        try meta.set(.clock, Int64(bitPattern: clock.now.rawValue))
    }

    /// The replayed position of every device's log.
    func versionVector() throws -> VersionVector { try Self.versionVector(connection) }

    static func versionVector(_ connection: SQLConnection) throws -> VersionVector {
        var vector = VersionVector()
        try DeviceTable(connection).forEachLog { device, end in vector.advance(device, to: end.position) }
        return vector
    }
}

/// Objects by the number of a table. Every row's path asks for such objects, and numbers are small: a dictionary spends
/// more on its hash.
private struct ByTable<Value: AnyObject> {
    private var dense: [Value?] = []
    /// Objects by large numbers.
    private var others: [Int: Value] = [:]
    private static var maximumDense: Int { 1 << 12 }

    subscript(number: Int) -> Value? {
        get { dense.indices.contains(number) ? dense[number] : others[number] }
        set {
            guard (0..<Self.maximumDense).contains(number) else {
                others[number] = newValue
                return
            }
            if number >= dense.count { dense += Array(repeating: nil, count: number - dense.count + 1) }
            dense[number] = newValue
        }
    }
}
