import FerryCore
import FerryMerge
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The app's database with Ferry's tables in it. The only type that knows GRDB.
///
/// Every access is one transaction on the writer's connection. Where Ferry writes, foreign keys are off, because the rules
/// answer for them (Docs/Rules.md), and so are triggers, so that replay is not captured; on an app's connection both are as
/// before after it.
public final class Store: Sendable {
    /// The database's path; empty for one in memory.
    public let path: String
    let clock: any WallClock
    let random: any RandomSource
    let hooks = MergeHooks()
    /// The connection; another one after `reopen`.
    let opened: Mutex<any DatabaseWriter>
    var writer: any DatabaseWriter { opened.withLock { $0 } }
    /// How the store opened the file itself; `nil` for a connection that it was given.
    let open: (@Sendable () throws -> DatabaseQueue)?
    /// Statements kept between accesses, where the store owns its connection. On an app's connection they would keep the
    /// app from closing it.
    let kept: KeptStatements?
    /// Whether nobody else uses the connection.
    private let isAlone: Bool
    /// The most bytes of values in a changeset that can be divided; tests set a smaller number.
    let maximumPackedBytes = Mutex(ChangeCapture.maximumBytes)
    /// How many rows of new objects a replay writes by one statement. Tests make them few.
    let newRowsAtOnce = Mutex(NewRows.usualNumber)
    /// How many objects the rules are given at once. Tests make them few.
    let seedsAtOnce = Mutex(StoreAccess.usualSeeds)
    /// The page cache of a pass, in KiB: state and rows are touched in the order of IDs, so rows and indexes under other keys
    /// are touched at random. 61 MB with what SQLite keeps beside each page and does not count here (4,368 bytes where it counts
    /// 4,232): with it, a join of any size is to need no more than 128 MB in all.
    static let pageCacheKiB = 58_000
    /// Whether several accesses are one transaction now.
    let isWhole = Mutex(false)
    private let replayHook = Mutex<ReplayHook?>(nil)
    let registries = RegistryCache()
    let lastVector = ReadingMemo<VersionVector>()
    let lastReading = ReadingMemo<StoreReading>()
    let lastCounting = ReadingMemo<CountingDevices.Known>()
    let lastMissing = ReadingMemo<[ObjectID]>()

    /// Uses an app's own connection. The store writes through it and never closes it.
    public convenience init(
        _ writer: any DatabaseWriter, clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom()
    ) {
        self.init(writer, keepsStatements: false, clock: clock, random: random)
    }

    /// Uses a connection that is the store's from now on: its prepared statements are kept from one access to the next,
    /// which makes small syncs several times as fast. Close it by `close()`.
    public convenience init(
        owning writer: any DatabaseWriter, clock: any WallClock = SystemClock(),
        random: any RandomSource = SystemRandom()
    ) {
        self.init(writer, keepsStatements: true, clock: clock, random: random)
    }

    private init(
        _ writer: any DatabaseWriter, keepsStatements: Bool, open: (@Sendable () throws -> DatabaseQueue)? = nil,
        clock: any WallClock, random: any RandomSource
    ) {
        kept = keepsStatements ? KeptStatements() : nil
        isAlone = open != nil
        self.open = open
        opened = Mutex(writer)
        self.clock = clock
        self.random = random
        path = Self.isInMemory(writer.path) ? "" : writer.path
    }

    /// GRDB's paths of databases in memory: `:memory:`, and a URI for those that are shared under a name.
    private static func isInMemory(_ path: String) -> Bool {
        path.isEmpty || path == ":memory:" || path.hasPrefix("file:") && path.contains("mode=memory")
    }

    /// Opens a database file that exists.
    /// - Throws: `databaseMissing`, `notADatabase`, `busy`, `inputOutput`.
    public convenience init(
        path: String, busyTimeoutSeconds: Double = 10, clock: any WallClock = SystemClock(),
        random: any RandomSource = SystemRandom()
    ) throws {
        let open: @Sendable () throws -> DatabaseQueue = {
            try Self.queue(path: path, busyTimeoutSeconds: busyTimeoutSeconds)
        }
        self.init(try open(), keepsStatements: true, open: open, clock: clock, random: random)
        try read { connection in _ = try connection.count("SELECT count(*) FROM sqlite_schema") }
    }

    private static func queue(path: String, busyTimeoutSeconds: Double) throws -> DatabaseQueue {
        guard FileManager.default.fileExists(atPath: path) else {
            throw FerryError(.databaseMissing, "There is no database at \(path). Check the path.", path: path)
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeoutSeconds)
        configuration.label = "Ferry"
        // GRDB learns from its authorizer what its own statements read and write, for observers, which this connection has
        // none of. It is asked about every column of every statement that anybody prepares: a third of preparing them.
        configuration.prepareDatabase {
            sqlite3_set_authorizer($0.sqliteConnection, nil, nil)
            try $0.execute(sql: "PRAGMA cache_size = -\(pageCacheKiB)")
        }
        // The journal mode is the app's choice: a queue leaves it as it is.
        return try translating(path) { try DatabaseQueue(path: path, configuration: configuration) }
    }

    /// What the app does in the transaction of each replay that this store makes, before it is committed. Set it before
    /// the first sync. Other processes, the command `ferry` among them, replay without it.
    public var willCommitReplay: ReplayHook? {
        get { replayHook.withLock { $0 } }
        set { replayHook.withLock { $0 = newValue } }
    }

    /// Whether functions of the app's take part in replays: other processes do not have them.
    public var hasHooks: Bool { willCommitReplay != nil || !hooks.isEmpty }

    /// Closes the connection that `init(path:)` opened or `init(owning:)` was given.
    public func close() throws {
        try Self.translating(path) {
            writer.writeWithoutTransaction { _ in kept?.clear() }
            try writer.close()
        }
    }

    // MARK: Access

    /// Reads in one transaction.
    public func read<Result>(_ body: (SQLConnection) throws -> Result) throws -> Result {
        // On the writer's connection, which sees what was just committed and is never a snapshot.
        try Self.translating(path) {
            try onWriter { database in
                let connection = try connection(database)
                defer { if kept == nil { connection.finalizeStatements() } }
                if database.isInsideTransaction { return try body(connection) }
                var result: Result?
                try database.inTransaction(.deferred) {
                    result = try body(connection)
                    return .commit
                }
                guard let result else { throw FerryError(.internalInconsistency, "A read returned nothing.") }
                return result
            }
        }
    }

    /// Writes as an app does: with triggers and foreign keys on, so that what is written is captured.
    public func write<Result>(_ body: (SQLConnection) throws -> Result) throws -> Result {
        try writing(asApp: true, durably: false, body)
    }

    /// Writes to tables of Ferry's alone that have no triggers: the connection stays as it was used last.
    /// - Parameter durably: once it returns, what was written outlives a loss of power, as the connection is set
    ///   otherwise: the container may be told of it.
    func note<Result>(durably: Bool = false, _ body: (SQLConnection) throws -> Result) throws -> Result {
        try writing(asApp: false, durably: durably, body)
    }

    private func writing<Result>(
        asApp: Bool, durably: Bool, _ body: (SQLConnection) throws -> Result
    ) throws -> Result {
        try Self.translating(path) {
            try onWriter { database in
                let connection = try connection(database)
                let appsLastKey = connection.lastInsertedKey
                defer {
                    connection.lastInsertedKey = appsLastKey
                    if kept == nil { connection.finalizeStatements() }
                }
                if database.isInsideTransaction {
                    if asApp { throw FerryError(.internalInconsistency, "A write of the app's within another.") }
                    return try connection.savepoint { try body(connection) }
                }
                if asApp { try beAsTheApp(connection) }
                var result: Result?
                func work() throws {
                    try database.inTransaction(.immediate) {
                        result = try body(connection)
                        return .commit
                    }
                }
                try durably ? connection.durably(work) : work()
                guard let result else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return result
            }
        }
    }

    /// Writes as Ferry: foreign keys and triggers off. Once it returns, what was written outlives a loss of power: the
    /// container may be told of it.
    /// - Parameter body: returns its result and the names of the app's tables that it changed, so that observations of
    ///   the app's own connection hear of them.
    func writeAsFerry<Result>(
        _ body: (SQLConnection) throws -> (result: Result, changedTables: [String])
    ) throws -> Result {
        try Self.translating(path) {
            try onWriter { database in
                let connection = try connection(database)
                let appsLastKey = connection.lastInsertedKey
                defer {
                    connection.lastInsertedKey = appsLastKey
                    if kept == nil { connection.finalizeStatements() }
                }
                let isPart = database.isInsideTransaction
                try beAsFerry(connection)
                var outcome: (result: Result, changedTables: [String])?
                let work = Swift.Result {
                    func run() throws {
                        let made = try body(connection)
                        // GRDB cannot name a table with a quote in its name, so nobody can observe it either.
                        for table in made.changedTables where !table.contains("\"") {
                            try database.notifyChanges(in: Table(table))
                        }
                        outcome = made
                    }
                    if isPart { return try connection.savepoint(run) }
                    try connection.durably {
                        try database.inTransaction(.immediate) {
                            try run()
                            return .commit
                        }
                    }
                }
                if isPart, kept != nil {} else if case .success = work, isAlone {} else { try beAsTheApp(connection) }
                try work.get()
                guard let outcome else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return outcome.result
            }
        }
    }

    /// Turns triggers and foreign keys off. Each switch makes SQLite prepare every statement anew, so a connection that
    /// nobody else uses stays as it was used last.
    func beAsFerry(_ connection: SQLConnection) throws {
        if connection.isAsFerry { return }
        connection.appEnforcesForeignKeys = try connection.count("PRAGMA foreign_keys") != 0
        try connection.executeScript("PRAGMA foreign_keys = OFF")
        try connection.setTriggersEnabled(false)
        connection.isAsFerry = true
    }

    /// Makes the connection what it was before `beAsFerry`.
    func beAsTheApp(_ connection: SQLConnection) throws {
        guard connection.isAsFerry else { return }
        try connection.setTriggersEnabled(true)
        try connection.executeScript("PRAGMA foreign_keys = \(connection.appEnforcesForeignKeys ? "ON" : "OFF")")
        connection.isAsFerry = false
    }

    /// Reads in one transaction for which no writer waits in WAL mode: on a connection of its own where the database is a
    /// file, on the store's where it is in memory.
    /// - Parameter check: is run in a transaction that keeps writers off while the reading one begins; what it saw is
    ///   what `body` sees.
    func readAside<Result>(
        after check: (SQLConnection) throws -> Void, _ body: (SQLConnection) throws -> Result
    ) throws -> Result {
        if path.isEmpty {
            return try read {
                try check($0)
                return try body($0)
            }
        }
        return try Self.translating(path) {
            var configuration = writer.configuration
            configuration.readonly = true
            configuration.label = "Ferry snapshot"
            let aside = try DatabaseQueue(path: path, configuration: configuration)
            let work = Swift.Result {
                try aside.inDatabase { database in
                    guard let handle = database.sqliteConnection else {
                        throw FerryError(.database, "The database is closed.")
                    }
                    let connection = SQLConnection(handle, of: database)
                    defer { connection.finalizeStatements() }
                    let result = Swift.Result {
                        try whileNobodyWrites { own in
                            try check(own)
                            try connection.executeScript("BEGIN; SELECT count(*) FROM sqlite_schema")
                        }
                        return try body(connection)
                    }
                    connection.finalizeStatements()
                    if database.isInsideTransaction { try connection.executeScript("ROLLBACK") }
                    return try result.get()
                }
            }
            try aside.close()
            return try work.get()
        }
    }

    /// Runs `body`, which writes nothing, in a transaction that keeps writers off.
    private func whileNobodyWrites(_ body: (SQLConnection) throws -> Void) throws {
        try writer.writeWithoutTransaction { database in
            let connection = try connection(database)
            defer { if kept == nil { connection.finalizeStatements() } }
            try database.inTransaction(.immediate) {
                try body(connection)
                // In a rollback journal a commit, of nothing too, waits for all readers: for the one that just began.
                return .rollback
            }
        }
    }

    /// Writes a consistent copy of the database: https://www.sqlite.org/lang_vacuum.html#vacuuminto
    func vacuum(into path: String) throws {
        try Self.translating(self.path) { try writer.vacuum(into: path) }
    }

    func connection(_ database: Database) throws -> SQLConnection {
        guard let handle = database.sqliteConnection else {
            throw FerryError(.database, "The database is closed.")
        }
        if let connection = kept?.connection, connection.handle == handle { return connection }
        let connection = SQLConnection(handle, of: database)
        kept?.connection = connection
        return connection
    }

    /// Runs `body` and turns GRDB's errors into Ferry's.
    static func translating<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            var translated = SQLConnection.error(
                error.resultCode.rawValue, message: error.message ?? "unknown error", while: error.sql ?? "")
            translated.path = path
            translated.cause = error
            throw translated
        } catch var error as FerryError {
            if error.path == nil, [.notADatabase, .busy, .databaseCorrupt, .inputOutput].contains(error.code) {
                error.path = path
            }
            throw error
        }
    }

    // MARK: Being tracked

    /// Which device and container the store belongs to; `nil` where it is not tracked.
    /// - Throws: `storeTooNew` where a newer Ferry made its tables.
    public func identity() throws -> StoreIdentity? {
        try read { try Self.identity($0) }
    }

    /// The identity of a database that a connection has open (`identity`).
    public static func identity(_ connection: SQLConnection) throws -> StoreIdentity? {
        guard try OwnNames.areMade(connection) else { return nil }
        let meta = StoreMeta(connection: connection)
        let version = try meta.integer(.version) ?? 0
        if version > StoreTables.version {
            throw FerryError(
                .storeTooNew, "A newer Ferry keeps this database (its tables have version \(version)). Update Ferry.")
        }
        guard let number = try meta.integer(.device), let container: ContainerID = try meta.id(.container) else {
            return nil
        }
        let row = try connection.rows("SELECT id, name FROM ferry_device WHERE number = ?", .integer(number)).first
        guard case .blob(let bytes)? = row?[0], let device = DeviceID(bytes: bytes), case .text(let name)? = row?[1]
        else { throw FerryError(.internalInconsistency, "The store does not say which device it is.") }
        return StoreIdentity(
            device: device, deviceName: String(decoding: name, as: UTF8.self), container: container,
            containerName: try meta.string(.containerName) ?? "", containerPath: try meta.string(.containerPath) ?? "")
    }

    static var notTracked: FerryError {
        FerryError(.notTracked, "The database belongs to no container yet. Run `ferry init` or `ferry join` first.")
    }
}
