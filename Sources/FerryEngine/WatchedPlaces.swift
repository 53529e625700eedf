import FerryContainer
import FerryCore

/// The folders and files of which a `WatchLoop` is told changes.
struct WatchedPlaces: Equatable {
    /// The container's folders, but for this device's own: what it writes itself is no news.
    var directories: [String]
    /// The database with its journals, by which every commit shows, and the container's folder, which can go and come.
    /// The lock file beside the database, which every pass opens, is not among them.
    var files: [String]

    /// - Throws: what keeps the container from being read.
    init(_ replica: Replica) throws {
        self.init(unreachableContainerOf: replica)
        let container = try replica.openContainer()
        directories = container.watchedDirectories(of: try container.devices().filter { $0 != replica.identity.device })
    }

    init(unreachableContainerOf replica: Replica) {
        self.init(databaseOf: replica)
        directories = [replica.identity.containerPath]
        files.insert(replica.identity.containerPath, at: 0)
    }

    /// The database alone, for one that makes no passes.
    init(databaseOf replica: Replica) {
        directories = []
        files = []
        if !replica.store.path.isEmpty {
            let path = Replica.absolutePath(replica.store.path)
            files += [path, path + "-wal", path + "-journal"]
        }
    }
}
