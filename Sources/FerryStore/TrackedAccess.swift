import FerryCore
import FerryMerge

/// Access to a store that is tracked: with its registry, and with what works on that.
extension Store {
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
            registries.forget()
            kept?.access = nil
            throw error
        }
    }

    private func access<Result>(
        _ connection: SQLConnection, _ body: (StoreAccess) throws -> (result: Result, changedTables: [String])
    ) throws -> (result: Result, changedTables: [String]) {
        let (registry, version) = try currentRegistry(connection)
        let access = try makeAccess(connection, registry, version)
        access.newRowsAtOnce = newRowsAtOnce.withLock { $0 }
        for table in registry.reshaped { try CheckRenewal(access, access.registry[table]).renewAll() }
        let adopted = try showKeptValues(
            access, registry.adopted, exceptionsOf: Set(registry.reshaped + registry.adopted + registry.unproven))
        let outcome = try body(access)
        let following = try StayingRows(access).settle()
        try access.digests.save(connection)
        return (outcome.result, outcome.changedTables + adopted + following)
    }

    /// What works on the registry; the one of the last access where statements are kept and nothing has changed.
    private func makeAccess(
        _ connection: SQLConnection, _ registry: Registry, _ version: RegistryVersion
    ) throws -> StoreAccess {
        guard let kept else {
            return try StoreAccess(connection, registry: registry, clock: clock, random: random, hooks: hooks)
        }
        if let known = kept.access, known.connection === connection, kept.version == version { return known }
        let access = try StoreAccess(connection, registry: registry, clock: clock, random: random, hooks: hooks)
        kept.access = access
        kept.version = version
        return access
    }

    /// The registry for the present schema.
    /// - Throws: `notTracked`.
    private func currentRegistry(
        _ connection: SQLConnection
    ) throws -> (registry: Registry, version: RegistryVersion) {
        if let cached = try registries.current(connection) { return cached }
        guard try Self.identity(connection) != nil else { throw Self.notTracked }
        let registry = try Tracking(connection, clock: clock, random: random).currentRegistry()
        // Tracking may have changed both.
        let present = try RegistryVersion(connection)
        registries.keep(registry, present)
        return (registry, present)
    }

    /// Shows what peers wrote to tables and columns that this database has only got now.
    /// - Parameter reshaped: the tables of which other columns count for what is not shown as written.
    private func showKeptValues(
        _ access: StoreAccess, _ adopted: [Int], exceptionsOf reshaped: Set<Int>
    ) throws -> [String] {
        var seeds: [RowToken] = []
        for table in reshaped.sorted() {
            try access.connection.forEachRow(
                "SELECT object FROM ferry_exception WHERE \"table\" = ?", [.integer(Int64(table))]
            ) { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table, id: id)) }
            }
        }
        for table in adopted {
            try access.connection.forEachRow(
                "SELECT object FROM \(access.registry[table].objectTable) WHERE kept IS NOT NULL"
            ) { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table, id: id)) }
            }
        }
        if seeds.isEmpty { return [] }
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds) }
        return adopted.map { access.registry[$0].name }
    }

    /// A reading transaction on a tracked store, as its registry was last.
    func readAccess<Result>(_ body: (StoreAccess) throws -> Result) throws -> Result {
        try read { connection in
            if let cached = try registries.current(connection) {
                return try body(makeAccess(connection, cached.registry, cached.version))
            }
            guard try Self.identity(connection) != nil else { throw Self.notTracked }
            try StoreTables.checkVersion(StoreMeta(connection: connection))
            let (registry, version) = try registries.asRead(connection)
            return try body(makeAccess(connection, registry, version))
        }
    }
}

/// What a store that owns its connection keeps from one access to the next. Unchecked, because it is touched only
/// inside the writer's closures, which run one after another.
final class KeptStatements: @unchecked Sendable {
    var connection: SQLConnection?
    var access: StoreAccess?
    var version: RegistryVersion?

    func clear() {
        access = nil
        connection?.finalizeStatements()
        connection = nil
    }
}
