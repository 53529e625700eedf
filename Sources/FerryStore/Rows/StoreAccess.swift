import FerryCore

/// Everything that one access to a tracked store works with: the connection, the registry, the devices' numbers and
/// the state tables. Lives inside one transaction.
final class StoreAccess {
    let connection: SQLConnection
    let registry: Registry
    let devices: DeviceNumbers
    let meta: StoreMeta
    let joined: JoinedObjects
    let exceptionTokens: ExceptionTokens
    let digests: StateDigests
    let pageCache: PageCache
    /// This device.
    let device: DeviceID
    let clock: any WallClock
    let random: any RandomSource
    /// The app's functions for columns under a hook.
    let hooks: MergeHooks
    /// What runs in place of the app's triggers.
    @exclusivity(unchecked) var triggerCopies: TriggerCopies?
    /// The rows that Ferry writes, noted where somebody asks for them.
    @exclusivity(unchecked) var changedRows: ChangedRows?
    /// How many rows of new objects, and how many states, are written by one statement.
    @exclusivity(unchecked) var newRowsAtOnce = NewRows.usualNumber
    /// The tables that this process cannot write to.
    @exclusivity(unchecked) var waiting = WaitingTables()
    /// Whether rows wait since a pass that could not write them.
    @exclusivity(unchecked) var areRowsWaiting = false
    /// How many objects the rules are given at once, beside all that these concern.
    @exclusivity(unchecked) var seedsAtOnce = StoreAccess.usualSeeds
    /// More take more memory: 0.7 KB each, and as much for each of what they concern.
    static let usualSeeds = 8192
    /// How many conflicts this access recorded.
    @exclusivity(unchecked) var recordedConflicts = 0
    /// What Ferry changes in the key-value store.
    let keyValueChanges = KeyValueChanges()
    /// What Ferry took away in this transaction from rows that stay on this device.
    let departures: Departures
    /// Statements of `ConflictLog` and `ContextLog`, which replay runs often.
    let conflictInsertion: LazyStatement
    let contextSelection: LazyStatement
    @exclusivity(unchecked) private var knownOldTime: HybridTime?
    /// Tables of which a temporary one with the same columns was made, for computing indexes.
    @exclusivity(unchecked) private var shapes: Set<Int> = []
    @exclusivity(unchecked) private var objectTables: [Int: ObjectTable] = [:]
    @exclusivity(unchecked) private var readers: [Int: RowReader] = [:]
    @exclusivity(unchecked) private var writers: [Int: RowWriter] = [:]

    init(
        _ connection: SQLConnection, registry: Registry, clock: any WallClock, random: any RandomSource,
        hooks: MergeHooks, digests: StateDigests = StateDigests(), departures: Departures = Departures()
    ) throws {
        self.connection = connection
        self.registry = registry
        self.clock = clock
        self.random = random
        self.hooks = hooks
        self.digests = digests
        self.departures = departures
        devices = try DeviceNumbers(connection)
        conflictInsertion = LazyStatement(ConflictLog.insertion(of: 1), connection)
        contextSelection = LazyStatement(ContextLog.selection, connection)
        joined = JoinedObjects(connection)
        exceptionTokens = ExceptionTokens(connection)
        meta = StoreMeta(connection: connection)
        pageCache = PageCache(connection)
        guard let number = try meta.integer(.device) else {
            throw FerryError(.internalInconsistency, "The store does not say which device it is.")
        }
        device = try devices.device(Int(number))
    }

    /// Takes down which tables this process cannot write to, as far as a pass has met them.
    func noteWaitingTables() throws {
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

    /// Reads a table's rows.
    func reader(of table: Int) -> RowReader {
        if let known = readers[table] { return known }
        let made = RowReader(registry[table], connection)
        readers[table] = made
        return made
    }

    /// Writes a table's rows.
    func writer(of table: Int) -> RowWriter {
        if let known = writers[table] { return known }
        let made = RowWriter(registry[table], self)
        writers[table] = made
        return made
    }

    /// The references that the selection names, as far as this database has what belongs to them.
    func references() throws -> [UndeclaredReference] {
        guard let text = try meta.string(.selection) else { return [] }
        return try SelectionText.parse(text).references.filter { reference in
            guard let table = registry.table(named: reference.table), table.isLocal,
                let column = table.columnID(reference.column)
            else { return false }
            return table.columns[column].isLocal && registry.table(named: reference.parent)?.isLocal ?? false
        }
    }

    /// Runs `body` inside a savepoint. Where it throws, the savepoint is rolled back, and what this access holds in memory
    /// of it with it.
    func savepoint<Result>(_ body: () throws -> Result) throws -> Result {
        let (changedRows, changes, conflicts) = (changedRows, digests.changes, recordedConflicts)
        do {
            return try connection.savepoint(body)
        } catch {
            self.changedRows = changedRows
            digests.changes = changes
            recordedConflicts = conflicts
            throw error
        }
    }

    /// The name of a temporary table with the columns of another, a mapped key and generated ones included, and without its
    /// constraints.
    /// What is in it belongs to whoever asks.
    func shape(of table: TrackedTable) throws -> String {
        let name = "ferry_shape_\(table.id)"
        // A transaction that was rolled back took it along.
        let isThere = try connection.firstValue("SELECT 1 FROM temp.sqlite_schema WHERE name = ?", .text(name)) != nil
        if !shapes.insert(table.id).inserted, isThere { return "temp.\(name)" }
        // One of an earlier access may have other columns.
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

    /// What a column's default is now; `nil` where it has none.
    func defaultValue(of column: TrackedColumn) throws -> FieldValue? {
        guard let sql = column.defaultSQL else { return nil }
        return try connection.firstValue("SELECT \(sql)") ?? .null
    }

    /// The time of rows of which nobody knows when they were written.
    func oldTime() throws -> HybridTime {
        if let knownOldTime { return knownOldTime }
        let time = try meta.integer(.oldTime).map { HybridTime(rawValue: UInt64(bitPattern: $0)) } ?? .unknown
        knownOldTime = time
        return time
    }

    func setOldTime(_ time: HybridTime) throws {
        try meta.set(.oldTime, Int64(bitPattern: time.rawValue))
        knownOldTime = time
    }

    /// Reads the clock as the store has it.
    func hybridClock() throws -> HybridClock {
        HybridClock(now: HybridTime(rawValue: UInt64(bitPattern: try meta.integer(.clock) ?? 0)))
    }

    /// When a change was made that a trigger noted on a Julian day. A note from a clock that was ahead is followed by at most a
    /// day, as another device's time is: another copy of this database may publish the same note with that time, and what was
    /// written here since must win.
    func milliseconds(capturedOn julianDay: Double) -> Int64 {
        min(
            clock.milliseconds(captured: HybridClock.milliseconds(julianDay: julianDay)),
            clock.milliseconds() + HybridClock.maximumLeadMilliseconds)
    }

    func save(_ clock: HybridClock) throws {
        try meta.set(.clock, Int64(bitPattern: clock.now.rawValue))
    }

    /// What is replayed of every device's log.
    func versionVector() throws -> VersionVector { try Self.versionVector(connection) }

    static func versionVector(_ connection: SQLConnection) throws -> VersionVector {
        var vector = VersionVector()
        try connection.forEachRow("SELECT id, sequence, time FROM ferry_device WHERE sequence > 0") { row in
            if let id: DeviceID = row.id(0) {
                vector.advance(
                    id,
                    to: LogPosition(
                        sequence: UInt64(clamping: row.integer(1)),
                        time: HybridTime(rawValue: UInt64(bitPattern: row.integer(2)))))
            }
        }
        return vector
    }
}
