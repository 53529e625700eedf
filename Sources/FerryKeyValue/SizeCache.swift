import FerryContainer
import FerrySQL
import FerryStore

/// Remembers the number of keys and of sets' members, so that an addition need not count a million.
final class SizeCache: Sendable {
    /// While this stays the same, nobody has changed the key-value store.
    struct Version: Equatable, Sendable {
        /// Changes with other connections' commits.
        private let data: Int
        /// Changes with this connection's replays and with writes of key-value stores.
        private let revision: Int64

        init(_ connection: SQLConnection) throws {
            data = try connection.count("PRAGMA data_version")
            revision = try connection.keyValueRevision()
        }
    }

    private let shared = Locked<(version: Version?, sizes: [KeyValueName: Int])>((nil, [:]))

    func load(_ name: KeyValueName, _ version: Version) -> Int? {
        shared.withLock { $0.version == version ? $0.sizes[name] : nil }
    }

    /// Remembers a size as of a version of this store's own transaction; all other sizes stay.
    func save(_ size: Int, _ name: KeyValueName, _ version: Version) {
        shared.withLock { shared in
            if shared.version != version { shared.sizes = [:] }
            shared.version = version
            shared.sizes[name] = size
        }
    }
}
