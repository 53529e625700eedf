import FerryContainer
import FerryCore

/// The places whose changes a `WatchLoop` is told.
struct WatchedPlaces: Equatable {
    /// The container's folder; `nil` for a loop without passes.
    @ComparedByBytes private var containerPath: String?
    /// The devices whose folders may bring news: this device's own files never do. In a sealed container also those of newcomers,
    /// which ask there. `nil` if the container is unreadable; then only its folder is watched.
    private var devices: [DeviceID]?
    @ComparedByBytes private var databasePath: String

    private init(_ containerPath: String?, _ devices: [DeviceID]?, _ replica: Replica) {
        self.containerPath = containerPath
        self.devices = devices
        databasePath = replica.store.path.isEmpty ? "" : Replica.absolutePath(replica.store.path)
    }

    /// Watches the container and the database.
    /// - Parameter container: `nil` if unreadable.
    init(_ replica: Replica, _ container: Container?) {
        let devices = try? container?.directories().filter { $0 != replica.identity.device }  // the next pass says why
        self.init(replica.identity.containerPath, devices, replica)
    }

    /// Watches the database alone, for a loop without passes.
    init(databaseOf replica: Replica) { self.init(nil, nil, replica) }

    /// The folders to watch; many for many devices.
    func directories(in container: Container?) -> [String] {
        if let container, let devices { return container.watchedDirectories(of: devices) }
        return containerPath.map { [$0] } ?? []
    }

    /// The container's folder, which can go and come, and the database with its journals, which show every commit. The
    /// lock file beside the database is not watched, because every pass opens the lock file.
    var files: [String] {
        let database = databasePath.isEmpty ? [] : [databasePath, databasePath + "-wal", databasePath + "-journal"]
        return (containerPath.map { [$0] } ?? []) + database
    }
}

extension Replica {
    /// The folders and files whose changes may be news of this database, for whoever only looks at it.
    package func watchedPlaces() -> (directories: [String], files: [String]) {
        let container = try? openContainer()  // whoever looks is told why there is none
        let places = WatchedPlaces(self, container)
        return (places.directories(in: container), places.files)
    }
}
