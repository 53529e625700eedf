import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The app's database with Ferry's tables. Accesses the database through GRDB.
///
/// Every access is a single transaction on the writer's connection. For Ferry's writes foreign keys are off, because
/// the rules ensure them (Docs/Rules.md). Triggers are off too, so replay is not captured. On an app's connection both
/// are restored after the access.
public final class Store: Sendable {
    /// The database's path; empty for a database in memory.
    package let path: String
    let clock: any WallClock
    let random: any RandomSource
    let hooks = MergeHooks()
    /// The connection; replaced by `reopen`.
    let opened: Mutex<any DatabaseWriter>
    var writer: any DatabaseWriter { opened.withLock { $0 } }
    /// Opens the file again; `nil` for a connection provided by the caller.
    let open: (@Sendable () throws -> DatabaseQueue)?
    /// Statements cached between accesses, if the store owns its connection. On an app's connection they would stop the
    /// app from closing the connection.
    let kept: KeptStatements?
    /// True if nobody else uses the connection.
    private let isAlone: Bool
    /// Maximum bytes of values in a divisible changeset; tests set a smaller number.
    let maximumPackedBytes = Mutex(ChangeCapture.maximumBytes)
    /// Number of new rows a replay writes by a statement. Tests lower the number.
    let newRowsAtOnce = Mutex(StoreLimits.rowsAtOnce)
    /// Number of seeds given to the rules at once. Tests lower the number.
    let seedsAtOnce = Mutex(StoreLimits.seedsAtOnce)
    /// The page cache of a pass, in KiB. State and rows are accessed in the order of IDs, so rows and indexes under any
    /// other key are accessed at random.
    ///
    /// The cache takes 53 MB including SQLite's uncounted data beside each page (4,368 bytes instead of the counted
    /// 4,232). So a join of any size should need at most 128 MB in all.
    static let pageCacheKiB = 50_000
    private let permittedFastPaths = Mutex(FastPaths.all)
    /// Called before a transaction of Ferry takes SQLite's write lock, so that the transaction falls between the writes of other
    /// programs; `nil`: at once.
    package let beforeWriteLock = Mutex<(@Sendable (WriteUrgency) -> Void)?>(nil)
    /// How long Ferry's last transaction held SQLite's write lock.
    package let lockDuration = Mutex(Duration.zero)
    let countedFastPaths = Mutex(FastPathCounts())
    /// The fast paths that transactions may take: all, where nobody says otherwise. What they come to is the same.
    package var fastPaths: FastPaths {
        get { permittedFastPaths.withLock { $0 } }
        set { permittedFastPaths.withLock { $0 = newValue } }
    }
    /// How often they were taken since the store was opened.
    package var fastPathCounts: FastPathCounts { countedFastPaths.withLock { $0 } }
    /// True while several accesses form a single transaction.
    let isWhole = Mutex(false)
    /// True while a pass runs the app's hook, on the connection's thread.
    let isInAppsFunction = Mutex(false)
    /// True if everything committed by Ferry is on the disk. False at first: a process may have ended between a commit and its wait
    /// for the disk.
    private let isOnDisk = Mutex(false)
    private let replayHook = Mutex<ReplayHook?>(nil)
    let registries = RegistryCache()
    let lastVector = QueryMemo<VersionVector>()
    let lastReading = QueryMemo<StoreSummary>()
    let lastCounting = QueryMemo<MemberAcknowledgements.Known>()
    let lastMissing = QueryMemo<[ObjectID]>()
    let lastContentEpochs = QueryMemo<Set<EpochID>>()

    private let chosenKeyDirectory = Mutex<String?>(nil)
    /// The directory that an app chose for the secret keys of its devices; `nil`: this account's.
    package var keyDirectory: String? { chosenKeyDirectory.withLock { $0 } }

    /// Uses an app's own connection. The store writes through the connection and never closes it. Relative paths count from the current
    /// directory of this moment.
    /// - Parameter keyDirectory: where the secret keys of this device are, for a sealed container. It must lie outside of the shared
    ///   folder, is made where it is missing, and must always be the same. `nil`: a directory of this account, as the command has it.
    public convenience init(_ writer: any DatabaseWriter, keyDirectory: String? = nil) {
        self.init(writer, clock: SystemClock())
        chosenKeyDirectory.withLock { $0 = keyDirectory.map(Self.absolute) }
    }

    /// Uses an app's own connection, and the time and random numbers that are given.
    package convenience init(
        _ writer: any DatabaseWriter, clock: any WallClock, random: any RandomSource = SystemRandom()
    ) {
        self.init(writer, keepsStatements: false, clock: clock, random: random)
    }

    /// Takes over a connection. Prepared statements are cached between accesses, so small syncs are several times as
    /// fast. Close the connection by `close()`.
    package convenience init(
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
        path = Self.isInMemory(writer.path) ? "" : open == nil ? Self.absolute(writer.path) : writer.path
    }

    /// A path that stays the same where an app changes its current directory.
    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") || path.hasPrefix("file:") { return path }
        return FileManager.default.currentDirectoryPath + "/" + path
    }

    /// True for GRDB's paths of databases in memory: `:memory:`, and a URI for a database shared under a name.
    private static func isInMemory(_ path: String) -> Bool {
        path.isEmpty || path == ":memory:" || path.hasPrefix("file:") && path.contains("mode=memory")
    }

    /// Opens an existing database file.
    /// - Throws: `databaseMissing`, `notADatabase`, `busy`, `inputOutput`.
    package convenience init(
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
        guard let kind = FileKind(at: path) else {
            throw FerryError(.databaseMissing, "There is no database at \(path). Check the path.", path: path)
        }
        // Opening a pipe or a device for SQLite does no good.
        if kind != .regular {
            let word = kind == .directory ? "a directory" : "no regular file"
            throw FerryError(.notADatabase, "\(path) is \(word). Name the file of the database.", path: path)
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeoutSeconds)
        configuration.label = "Ferry"
        // SQLite accepts texts in double quotes by default, and the app's triggers and views may have such texts.
        configuration.acceptsDoubleQuotedStringLiterals = true
        // GRDB's authorizer learns the tables and columns of GRDB's statements, for observers. This connection has no
        // observers. SQLite would call the authorizer for every column of every prepared statement: a third of the
        // preparation time.
        configuration.prepareDatabase {
            sqlite3_set_authorizer($0.sqliteConnection, nil, nil)
            // A statement of GRDB's would take longer than the rest of opening.
            guard let handle = $0.sqliteConnection else { return }
            let connection = SQLConnection(handle)
            defer { connection.finalizeStatements() }
            try connection.executeScript("PRAGMA cache_size = -\(pageCacheKiB)")
            try connection.relaxCommits()
        }
        // The journal mode is the app's choice. A queue leaves the mode unchanged.
        return try translating(path) { try DatabaseQueue(path: path, configuration: configuration) }
    }

    /// The app's function called in the transaction of each replay by this store, before the commit. Set the hook
    /// before the first sync. Further processes, including the command `ferry`, replay without the hook.
    public var willCommitReplay: ReplayHook? {
        get { replayHook.withLock { $0 } }
        set { replayHook.withLock { $0 = newValue } }
    }

    /// True if functions of the app take part in replays: further processes lack them.
    package var hasHooks: Bool { willCommitReplay != nil || !hooks.isEmpty }

    /// Closes the connection opened by `init(path:)` or taken over by `init(owning:)`.
    package func close() throws {
        try Self.translating(path) {
            writer.writeWithoutTransaction { _ in kept?.clear() }
            try writer.close()
        }
    }

    // MARK: Access

    /// Reads in a single transaction.
    package func read<Result>(_ body: (SQLConnection) throws -> Result) throws -> Result {
        // Uses the writer's connection: it sees the latest commits and is never a snapshot.
        try Self.translating(path) {
            try onWriter { database in
                let connection = try connection(database)
                defer { if kept == nil { connection.finalizeStatements() } }
                if database.isInsideTransaction { return try body(connection) }
                return try connection.reading { try body(connection) }
            }
        }
    }

    /// Writes like an app, with triggers and foreign keys on, so writes are captured. On a connection of Ferry's own the write
    /// survives a loss of power; an app's connection is as the app has it.
    package func write<Result>(_ body: (SQLConnection) throws -> Result) throws -> Result {
        try writing(asApp: true, durably: isAlone, body)
    }

    /// Writes only to Ferry's tables without triggers: the connection keeps its last mode.
    /// - Parameter durably: true if the write must survive a loss of power, whatever the connection's setting, so the
    ///   write may be published.
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
                beforeWriteLock.withLock { $0 }?(.note)
                func work() throws {
                    try database.inTransaction(.immediate) {
                        result = try connection.guardingFile { try body(connection) }
                        return .commit
                    }
                }
                try durably ? self.durably(connection, work) : work()
                guard let result else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return result
            }
        }
    }

    /// Writes as Ferry, with foreign keys and triggers off. After the return, writes survive a loss of power and may be
    /// published.
    /// - Parameter body: returns a result and the names of the app's changed tables, so observations of the app's own
    ///   connection are notified.
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
                        // GRDB cannot name a table with a quote in its name, so nobody can observe such a table. A connection
                        // that nobody else uses has no observers.
                        for table in made.changedTables where !isAlone && !table.unicodeScalars.contains("\"") {
                            try database.notifyChanges(in: Table(table))
                        }
                        outcome = made
                    }
                    if isPart { return try connection.savepoint(run) }
                    beforeWriteLock.withLock { $0 }?(.pass)
                    try durably(connection) {
                        var start = ContinuousClock.now
                        try database.inTransaction(.immediate) {
                            start = .now
                            try connection.guardingFile(run)
                            return .commit
                        }
                        lockDuration.withLock { $0 = start.duration(to: .now) }
                    }
                }
                if isPart, kept != nil {} else if case .success = work, isAlone {} else { try beAsTheApp(connection) }
                try work.get()
                guard let outcome else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return outcome.result
            }
        }
    }

    /// Runs a transaction whose writes survive a loss of power once this call has returned (`SQLConnection.durably`).
    func durably<Result>(_ connection: SQLConnection, _ transaction: () throws -> Result) throws -> Result {
        isOnDisk.withLock { $0 = false }
        let result = try connection.durably(transaction)
        isOnDisk.withLock { $0 = true }
        return result
    }

    /// Makes what was committed survive a loss of power, before anything of it is published. Mostly nothing is to do.
    /// - Throws: `inputOutput`.
    package func makeDurable() throws {
        if isOnDisk.withLock({ $0 }) { return }
        try Self.translating(path) { try onWriter { try connection($0).synchronizeLog() } }
        isOnDisk.withLock { $0 = true }
    }

    /// Turns triggers and foreign keys off. Each switch makes SQLite prepare every statement anew. So a connection
    /// nobody else uses keeps its last mode.
    func beAsFerry(_ connection: SQLConnection) throws {
        if connection.isAsFerry { return }
        connection.appEnforcesForeignKeys = try connection.count("PRAGMA foreign_keys") != 0
        try connection.executeScript("PRAGMA foreign_keys = OFF")
        try connection.setTriggersEnabled(false)
        connection.isAsFerry = true
    }

    /// Restores the connection's mode before `beAsFerry`.
    func beAsTheApp(_ connection: SQLConnection) throws {
        guard connection.isAsFerry else { return }
        try connection.setTriggersEnabled(true)
        try connection.executeScript("PRAGMA foreign_keys = \(connection.appEnforcesForeignKeys ? "ON" : "OFF")")
        connection.isAsFerry = false
    }

    /// Reads in a single transaction without blocking writers in WAL mode. Uses a separate connection for a file, and
    /// the store's connection for a database in memory.
    /// - Parameter check: runs in a transaction that blocks writers while the reading transaction begins. `body` sees
    ///   the same content.
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
                    guard let handle = database.sqliteConnection else { throw Self.closed(path) }
                    let connection = SQLConnection(handle, openedBy: database)
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

    /// Runs `body`, which writes nothing, in a transaction blocking writers.
    private func whileNobodyWrites(_ body: (SQLConnection) throws -> Void) throws {
        try onWriter { database in
            let connection = try connection(database)
            defer { if kept == nil { connection.finalizeStatements() } }
            try database.inTransaction(.immediate) {
                try body(connection)
                // With a rollback journal, any commit waits for all readers: here for the reader that has just begun.
                // So the transaction rolls back.
                return .rollback
            }
        }
    }

    /// Writes a consistent copy of the database: https://www.sqlite.org/lang_vacuum.html#vacuuminto
    func vacuum(into path: String) throws {
        try Self.translating(self.path) { try writer.vacuum(into: path) }
    }

    func connection(_ database: Database) throws -> SQLConnection {
        guard let handle = database.sqliteConnection else { throw Self.closed(path) }
        if let connection = kept?.connection, connection.handle == handle { return connection }
        let connection = SQLConnection(handle, openedBy: database)
        kept?.connection = connection
        return connection
    }

    /// Runs `body` and converts GRDB's errors to Ferry's.
    static func translating<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as DatabaseError {
            var translated = SQLConnection.error(
                error.extendedResultCode.rawValue, message: error.message ?? "unknown error", while: error.sql ?? "")
            if let failure = missingTable(translated, path) { throw failure }
            translated.path = path
            translated.cause = error
            throw translated
        } catch var error as FerryError {
            if let failure = missingTable(error, path) { throw failure }
            if error.path == nil, [.notADatabase, .busy, .databaseCorrupt, .inputOutput].contains(error.code) {
                error.path = path
            }
            throw error
        }
    }

    /// The failure to tell if SQLite misses a table of Ferry's; `nil` for any other error.
    private static func missingTable(_ error: FerryError, _ path: String) -> FerryError? {
        guard let refusal = error.cause as? SQLiteRefusal else { return nil }
        return OwnRemains.missingTable(refusal).map { OwnRemains.failure([$0], in: path) }
    }

    // MARK: Identity

    /// The device and container of the store; `nil` for an untracked database.
    /// - Throws: `storeTooNew` for tables of a newer version of Ferry.
    public func identity() throws -> StoreIdentity? {
        try read { try Self.identity($0) }
    }

    /// The identity of a connection's database (`identity`).
    package static func identity(_ connection: SQLConnection) throws -> StoreIdentity? {
        try StoreIdentity.read(connection)
    }
}
