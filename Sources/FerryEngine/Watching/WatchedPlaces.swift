import FerryContainer
import FerryCore

/// What a `WatchLoop` is told changes of.
struct WatchedPlaces: Equatable {
    /// The container's folder; `nil` for one that makes no passes.
    private var containerPath: String?
    /// The devices in whose folders something can be news: what this one writes itself is none. `nil` where the container
    /// cannot be read: then its own folder is watched all the same.
    private var devices: [DeviceID]?
    private var databasePath: String

    /// The container and the database.
    /// - Parameter container: `nil` where it cannot be read.
    init(_ replica: Replica, _ container: Container?) {
        self.init(databaseOf: replica)
        containerPath = replica.identity.containerPath
        devices = try? container?.devices().filter { $0 != replica.identity.device }  // the pass that follows says why
    }

    /// The database alone, for one that makes no passes.
    init(databaseOf replica: Replica) {
        databasePath = replica.store.path.isEmpty ? "" : Replica.absolutePath(replica.store.path)
    }

    /// The folders, of many devices many.
    func directories(in container: Container?) -> [String] {
        if let container, let devices { return container.watchedDirectories(of: devices) }
        return containerPath.map { [$0] } ?? []
    }

    /// The container's folder, which can go and come, and the database with its journals, by which every commit shows. The
    /// lock file beside the database, which every pass opens, is not among them.
    var files: [String] {
        let database = databasePath.isEmpty ? [] : [databasePath, databasePath + "-wal", databasePath + "-journal"]
        return (containerPath.map { [$0] } ?? []) + database
    }
}
