import FerryCore
import Synchronization

/// The registries that were made last, for as long as nothing that they were made of has changed.
final class RegistryCache: Sendable {
    typealias Entry = (registry: Registry, version: RegistryVersion)

    private let tracked = Mutex<Entry?>(nil)
    /// The same for reading, which takes the schema as it is: a writer has to look first what tracking must do for it.
    private let read = Mutex<Entry?>(nil)

    /// The one that a writer made, where nothing has changed since: the database is tracked then.
    func current(_ connection: SQLConnection) throws -> Entry? {
        guard let known = tracked.withLock({ $0 }) else { return nil }
        let schema = try RegistryVersion.schema(connection)
        // With another schema Ferry's tables may not be there.
        guard schema == known.version.schema,
            try RegistryVersion(connection, schema: schema) == known.version
        else { return nil }
        return known
    }

    /// Keeps what a writer made, without what it was to do once.
    func keep(_ registry: Registry, _ version: RegistryVersion) {
        var plain = registry
        plain.news = SchemaNews()
        tracked.withLock { $0 = (plain, version) }
    }

    /// The registry of the schema as it is, for reading.
    func asRead(_ connection: SQLConnection) throws -> Entry {
        let version = try RegistryVersion(connection)
        if let known = read.withLock({ $0 }), known.version == version { return known }
        let registry = try Registry(connection, SchemaReader(connection: connection).read())
        read.withLock { $0 = (registry, version) }
        return (registry, version)
    }

    /// Forgets what was made in a transaction that failed.
    func forget() { tracked.withLock { $0 = nil } }

    /// Forgets everything: another file is read from now on.
    func forgetAll() {
        forget()
        read.withLock { $0 = nil }
    }
}

/// Tells whether a registry is still right: SQLite's number of the schema, the version of Ferry's tables, and what the
/// registry holds.
struct RegistryVersion: Equatable {
    let schema: Int
    /// The version of Ferry's tables, the numbers of tables and columns, the count of changes of policies, and this
    /// device's number: another process may have made the store a new device.
    private var counts: [FieldValue]

    init(_ connection: SQLConnection) throws {
        try self.init(connection, schema: Self.schema(connection))
    }

    /// - Parameter schema: SQLite's number of the schema, where it was read already.
    init(_ connection: SQLConnection, schema: Int) throws {
        self.schema = schema
        counts =
            try connection.rows(
                """
                SELECT (SELECT value FROM ferry_meta WHERE name = 'version'),
                    (SELECT count(*) FROM ferry_table), (SELECT count(*) FROM ferry_column),
                    (SELECT value FROM ferry_meta WHERE name = 'policies'),
                    (SELECT value FROM ferry_meta WHERE name = 'device')
                """
            ).first ?? []
    }

    static func schema(_ connection: SQLConnection) throws -> Int { try connection.count("PRAGMA schema_version") }
}
