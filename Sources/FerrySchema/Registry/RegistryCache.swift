import FerryCore
import FerrySQL
import Synchronization

/// Caches the registries made last, until anything used to make them changes.
package final class RegistryCache: Sendable {
    package init() {}

    package typealias Entry = (registry: Registry, version: RegistryVersion)

    private let tracked = Mutex<Entry?>(nil)
    /// The cache for readers. A reader uses the schema as found; a writer first checks for pending work of tracking.
    private let read = Mutex<Entry?>(nil)

    /// The cached registry of a writer, if nothing has changed since. A hit proves the database tracked.
    package func current(_ connection: SQLConnection) throws -> Entry? {
        guard let known = tracked.withLock({ $0 }) else { return nil }
        let schema = try RegistryVersion.schema(connection)
        // After a schema change Ferry's tables may be missing.
        guard schema == known.version.schema,
            try RegistryVersion(connection, schema: schema) == known.version
        else { return nil }
        return known
    }

    /// Caches a writer's registry, without one-time work.
    package func keep(_ registry: Registry, _ version: RegistryVersion) {
        var plain = registry
        plain.news = SchemaNews()
        tracked.withLock { $0 = (plain, version) }
    }

    /// The registry of the present schema, for reading.
    package func asRead(_ connection: SQLConnection) throws -> Entry {
        let version = try RegistryVersion(connection)
        if let known = read.withLock({ $0 }), known.version == version { return known }
        let registry = try Registry(connection, SchemaReader(connection: connection).read())
        read.withLock { $0 = (registry, version) }
        return (registry, version)
    }

    /// Forgets the registry made in a failed transaction.
    package func forget() { tracked.withLock { $0 = nil } }

    /// Forgets everything, before the store opens a different file.
    package func forgetAll() {
        forget()
        read.withLock { $0 = nil }
    }
}

/// The version of a registry's sources: SQLite's schema version, the version of Ferry's tables, and the registered
/// content.
package struct RegistryVersion: Equatable {
    package let schema: Int
    /// The version of Ferry's tables, the numbers of tables and columns, the count of policy changes, the names of renamed
    /// tables and columns, and this device's number. A different process may have made the store a new device.
    private var counts: [FieldValue]

    package init(_ connection: SQLConnection) throws {
        try self.init(connection, schema: Self.schema(connection))
    }

    /// - Parameter schema: SQLite's schema version, read by the caller.
    package init(_ connection: SQLConnection, schema: Int) throws {
        self.schema = schema
        counts =
            try connection.rows(
                """
                SELECT \(MetaTable.expression(.version)),
                    \(RegisteredTables.counts),
                    \(MetaTable.expression(.policies)),
                    \(MetaTable.expression(.tableNames)),
                    \(MetaTable.expression(.columnNames)),
                    \(MetaTable.expression(.device))
                """
            ).first ?? []
    }

    package static func schema(_ connection: SQLConnection) throws -> Int {
        try connection.count("PRAGMA schema_version")
    }
}
