import FerryCore
import FerryMerge

/// Access to a tracked store: with its registry, and with a session.
extension Store {
    /// Runs a transaction of Ferry's on a tracked store, with the registry updated to the present schema.
    func access<Result>(
        _ body: (StoreAccess) throws -> (result: Result, changedTables: [String])
    ) throws -> Result {
        try forgettingRegistryOnFailure {
            try writeAsFerry { connection in try access(connection, body) }
        }
    }

    /// Forgets the registry made in a failed transaction.
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
        try access.noteWaitingTables()
        access.seedsAtOnce = seedsAtOnce.withLock { $0 }
        try takeUp(registry.news, access)
        let outcome = try body(access)
        let following = try StayingRows(access).settle()
        try access.digests.save(connection)
        return (outcome.result, outcome.changedTables + following)
    }

    /// Records unseen writes, then renews the object checksums used to find them.
    private func takeUp(_ news: SchemaNews, _ access: StoreAccess) throws {
        if news.unseen.isEmpty, news.reshaped.isEmpty { return }
        for unseen in news.unseen {
            guard let table = access.registry.tables[unseen.table], table.isLocal else { continue }
            _ = try UnseenWrites(
                access, table, covered: unseen.covered, wasAbsent: unseen.wasAbsent, wasThere: unseen.wasThere ?? false
            ).note()
        }
        for number in news.reshaped {
            guard let table = access.registry.tables[number] else { continue }
            try CheckRenewal(access, table).renewAll()
        }
        try SchemaNews(adopted: news.adopted, unproven: news.unproven).save(access.meta)
    }

    /// The session for a registry. Reuses the last session if statements are cached and nothing has changed.
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
        // Tracking may have changed schema and registry.
        let present = try RegistryVersion(connection)
        registries.keep(registry, present)
        return (registry, present)
    }

    /// Shows peers' values for tables and columns new to this database, and computes the checksums of objects not shown
    /// as written. Call once nothing is pending.
    /// - Returns: the numbers of the tables with possibly changed rows.
    func showKeptValues(_ access: StoreAccess) throws -> Set<Int> {
        let news = try SchemaNews.load(access.meta)
        let adopted = news.adopted
        let unproven = Set(news.unproven).union(adopted)
        if unproven.isEmpty { return [] }
        try SchemaNews().save(access.meta)
        var seeds: [RowToken] = []
        for table in unproven.sorted() {
            try access.connection.forEachRow(
                "SELECT object FROM ferry_exception WHERE \"table\" = ?", [.integer(Int64(table))]
            ) { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table, id: id)) }
            }
        }
        for table in adopted {
            guard let table = access.registry.tables[table], table.isLocal else { continue }
            try access.connection.forEachRow("SELECT object FROM \(table.objectTable) WHERE kept IS NOT NULL") { row in
                if let id: ObjectID = row.id(0) { seeds.append(RowToken(table: table.id, id: id)) }
            }
        }
        if seeds.isEmpty { return [] }
        try AppTriggers(access).run { _ = try RowMaintenance(access).settle(seeds: seeds) }
        return Set(seeds.map(\.table))
    }

    /// Runs a reading transaction on a tracked store, with the last registry.
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

/// The caches of a store owning its connection, kept between accesses. Unchecked, because only the writer's closures
/// use them, and these run in sequence.
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
