import FerryCore
import FerryMerge
import Foundation
import GRDB
import GRDBSQLite
import Synchronization

/// The app's database with Ferry's tables in it. The only type that knows GRDB.
///
/// Every access is one transaction on the writer's connection. During it foreign keys are off, because the rules
/// answer for them (Docs/Merge.md), and so are triggers, so that replay is not captured; both are as before after it.
public final class Store: Sendable {
    /// The database's path; empty for one in memory.
    public let path: String
    let clock: any WallClock
    let random: any RandomSource
    private let writer: any DatabaseWriter
    private let cache = Mutex<(version: RegistryVersion, registry: Registry)?>(nil)

    /// Uses an app's own connection. The store writes through it and never closes it.
    public init(
        _ writer: any DatabaseWriter, clock: any WallClock = SystemClock(), random: any RandomSource = SystemRandom()
    ) {
        self.writer = writer
        self.clock = clock
        self.random = random
        path = writer.path
    }

    /// Opens a database file that exists.
    /// - Throws: `databaseMissing`, `notADatabase`, `busy`, `inputOutput`.
    public convenience init(
        path: String, busyTimeoutSeconds: Double = 10, clock: any WallClock = SystemClock(),
        random: any RandomSource = SystemRandom()
    ) throws {
        guard FileManager.default.fileExists(atPath: path) else {
            throw FerryError(.databaseMissing, "There is no database at \(path). Check the path.", path: path)
        }
        var configuration = Configuration()
        configuration.busyMode = .timeout(busyTimeoutSeconds)
        configuration.label = "Ferry"
        // The journal mode is the app's choice: a queue leaves it as it is.
        let queue = try Self.translating(path) { try DatabaseQueue(path: path, configuration: configuration) }
        self.init(queue, clock: clock, random: random)
        try read { connection in _ = try connection.count("SELECT count(*) FROM sqlite_schema") }
    }

    /// Closes the connection that `init(path:)` opened.
    public func close() throws { try Self.translating(path) { try writer.close() } }

    // MARK: Access

    /// Reads in one transaction.
    public func read<Result>(_ body: (SQLConnection) throws -> Result) throws -> Result {
        // On the writer's connection, which sees what was just committed and is never a snapshot.
        try Self.translating(path) {
            try writer.writeWithoutTransaction { database in
                let connection = try Self.connection(database)
                defer { connection.finalizeStatements() }
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
        try Self.translating(path) {
            try writer.writeWithoutTransaction { database in
                let connection = try Self.connection(database)
                defer { connection.finalizeStatements() }
                var result: Result?
                try database.inTransaction(.immediate) {
                    result = try body(connection)
                    return .commit
                }
                guard let result else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return result
            }
        }
    }

    /// Writes as Ferry: foreign keys and triggers off.
    /// - Parameter body: returns its result and the names of the app's tables that it changed, so that observations of
    ///   the app's own connection hear of them.
    func writeAsFerry<Result>(
        _ body: (SQLConnection) throws -> (result: Result, changedTables: [String])
    ) throws -> Result {
        try Self.translating(path) {
            try writer.writeWithoutTransaction { database in
                let connection = try Self.connection(database)
                defer { connection.finalizeStatements() }
                let foreignKeys = try connection.count("PRAGMA foreign_keys")
                try connection.executeScript("PRAGMA foreign_keys = OFF")
                try connection.setTriggersEnabled(false)
                var outcome: (result: Result, changedTables: [String])?
                let work = Swift.Result {
                    try database.inTransaction(.immediate) {
                        let made = try body(connection)
                        // GRDB cannot name a table with a quote in its name, so nobody can observe it either.
                        for table in made.changedTables where !table.contains("\"") {
                            try database.notifyChanges(in: Table(table))
                        }
                        outcome = made
                        connection.finalizeStatements()
                        return .commit
                    }
                }
                try connection.setTriggersEnabled(true)
                if foreignKeys != 0 { try connection.executeScript("PRAGMA foreign_keys = ON") }
                try work.get()
                guard let outcome else { throw FerryError(.internalInconsistency, "A write returned nothing.") }
                return outcome.result
            }
        }
    }

    /// Writes a consistent copy of the database: https://www.sqlite.org/lang_vacuum.html#vacuuminto
    func vacuum(into path: String) throws {
        try Self.translating(self.path) { try writer.vacuum(into: path) }
    }

    private static func connection(_ database: Database) throws -> SQLConnection {
        guard let handle = database.sqliteConnection else {
            throw FerryError(.database, "The database is closed.")
        }
        return SQLConnection(handle)
    }

    /// Runs `body` and turns GRDB's errors into Ferry's.
    private static func translating<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
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

    static func identity(_ connection: SQLConnection) throws -> StoreIdentity? {
        guard try connection.count("SELECT count(*) FROM sqlite_schema WHERE name = 'ferry_meta'") != 0 else {
            return nil
        }
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

    /// A transaction of Ferry's on a tracked store, with the registry brought up to the present schema.
    func access<Result>(
        _ body: (StoreAccess) throws -> (result: Result, changedTables: [String])
    ) throws -> Result {
        try forgettingRegistryOnFailure {
            try writeAsFerry { connection in try access(connection, body) }
        }
    }

    /// What was made of the schema in a transaction that fails is undone with it.
    private func forgettingRegistryOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            cache.withLock { $0 = nil }
            throw error
        }
    }

    private func access<Result>(
        _ connection: SQLConnection, _ body: (StoreAccess) throws -> (result: Result, changedTables: [String])
    ) throws -> (result: Result, changedTables: [String]) {
        guard try Self.identity(connection) != nil else { throw Self.notTracked }
        let registry = try currentRegistry(connection)
        let access = try StoreAccess(connection, registry: registry, clock: clock, random: random)
        let adopted = try showKeptValues(access)
        let outcome = try body(access)
        return (outcome.result, outcome.changedTables + adopted)
    }

    /// The registry for the present schema: the one made last where nothing has changed since.
    private func currentRegistry(_ connection: SQLConnection) throws -> Registry {
        let version = try RegistryVersion(connection)
        if let cached = cache.withLock({ $0 }), cached.version == version { return cached.registry }
        let registry = try Tracking(connection, clock: clock, random: random).currentRegistry()
        // Tracking may have changed both.
        let present = try RegistryVersion(connection)
        var plain = registry
        plain.adopted = []
        cache.withLock { $0 = (present, plain) }
        return registry
    }

    /// Shows what peers wrote to tables and columns that this database has only got now.
    private func showKeptValues(_ access: StoreAccess) throws -> [String] {
        var seeds: [RowToken] = []
        for table in access.registry.adopted {
            try access.connection.forEachRow(
                "SELECT object FROM \(access.registry[table].objectTable) WHERE kept IS NOT NULL"
            ) { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table, id: id)) }
            }
        }
        if seeds.isEmpty { return [] }
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds) }
        return access.registry.adopted.map { access.registry[$0].name }
    }

    /// A reading transaction on a tracked store, as its registry was last.
    func readAccess<Result>(_ body: (StoreAccess) throws -> Result) throws -> Result {
        try read { connection in
            guard try Self.identity(connection) != nil else { throw Self.notTracked }
            let version = try RegistryVersion(connection)
            let registry: Registry
            if let cached = cache.withLock({ $0 }), cached.version == version {
                registry = cached.registry
            } else {
                registry = try Registry(connection, SchemaReader(connection: connection).read())
            }
            return try body(StoreAccess(connection, registry: registry, clock: clock, random: random))
        }
    }

    static var notTracked: FerryError {
        FerryError(.notTracked, "The database belongs to no container yet. Run `ferry init` or `ferry join` first.")
    }
}

/// Tells whether a registry is still right: SQLite's number of the schema, and what the registry holds.
private struct RegistryVersion: Equatable {
    var schema: Int
    var tables: Int
    var columns: Int

    init(_ connection: SQLConnection) throws {
        schema = try connection.count("PRAGMA schema_version")
        tables = try connection.count("SELECT count(*) FROM ferry_table")
        columns = try connection.count("SELECT count(*) FROM ferry_column")
    }
}
