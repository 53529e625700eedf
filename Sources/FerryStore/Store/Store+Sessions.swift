import FerryCore
import FerrySQL
import FerrySchema

/// Transactions on a tracked store, with the registry and the session.
extension Store {
    /// Runs a transaction of Ferry that stages nothing. The registry is first brought up to the present schema, and all
    /// obligations are settled in the end (`StoreSession`).
    func transaction<Result>(_ body: (StoreSession) throws -> Result) throws -> Result {
        try session(encoding: nil, nil, body)
    }

    /// Runs a transaction of Ferry that stages changes.
    /// - Parameters:
    ///   - encode: encodes staged changes as segments.
    ///   - hook: the app's work in a replaying transaction.
    func transaction<Result>(
        encoding encode: SegmentEncoding, hook: ReplayHook? = nil, _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        try withoutActuallyEscaping(encode) { try session(encoding: $0, hook, body) }
    }

    private func session<Result>(
        encoding: SegmentEncoding?, _ hook: ReplayHook?, _ body: (StoreSession) throws -> Result
    ) throws -> Result {
        try forgettingRegistryOnFailure {
            try writeAsFerry { connection in
                let (access, news) = try writingAccess(connection)
                let session = try StoreSession(
                    access, encoding: encoding, hook: hook, maximumPackedBytes: maximumPackedBytes.withLock { $0 })
                try session.takeUp(news)
                let result = try body(session)
                let counts = session.access.fastPathLog.takeCounts()
                countedFastPaths.withLock { $0.add(counts) }
                return (result, try session.commit())
            }
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

    /// An access for writing, and the one-time work of a changed schema. The work never lies in the access, because the
    /// store keeps the access for further transactions.
    private func writingAccess(_ connection: SQLConnection) throws -> (access: StoreAccess, news: SchemaNews) {
        var (registry, version) = try currentRegistry(connection)
        let news = registry.news
        registry.news = SchemaNews()
        let access = try makeAccess(connection, registry, version)
        access.newRowsAtOnce = newRowsAtOnce.withLock { $0 }
        access.seedsAtOnce = seedsAtOnce.withLock { $0 }
        access.fastPaths = fastPaths
        try access.recordWaitingTables()
        return (access, news)
    }

    var surroundings: StoreAccess.Surroundings { .init(clock: clock, random: random, hooks: hooks) }

    /// The session for a registry. Reuses the last session if statements are cached and nothing has changed.
    private func makeAccess(
        _ connection: SQLConnection, _ registry: Registry, _ version: RegistryVersion
    ) throws -> StoreAccess {
        guard let kept else {
            return try StoreAccess(connection, registry: registry, surroundings)
        }
        if let known = kept.access, known.connection === connection, kept.version == version { return known }
        let access = try StoreAccess(connection, registry: registry, surroundings)
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
        try StoreIdentity.required(connection)
        // What a reader of this process knows need not be read again.
        let registry = try Tracking(connection, clock: clock, random: random)
            .currentRegistry { [registries] in try registries.asRead(connection).registry }
        // Tracking may have changed schema and registry.
        let present = try RegistryVersion(connection)
        registries.keep(registry, present)
        return (registry, present)
    }

    /// Runs a reading transaction on a tracked store, with the last registry.
    func readAccess<Result>(_ body: (StoreAccess) throws -> Result) throws -> Result {
        try read { connection in
            if let cached = try registries.current(connection) {
                return try body(makeAccess(connection, cached.registry, cached.version))
            }
            try StoreIdentity.required(connection)
            try StoreTables.checkVersion(MetaTable(connection: connection))
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
