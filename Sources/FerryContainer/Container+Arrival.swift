import FerryCore

/// A place without a marker that is no empty place: a container is on its way there.
extension Container {
    /// Finds something in a place that only a container has, or a container that a syncer or a provider has not brought whole yet:
    /// the devices' directories, the marker under the name of a placeholder or of a temporary file, the marker of a copy under way.
    /// - Returns: the name; `nil` where nothing tells of a container.
    package static func signOfArrival(in backend: any ContainerBackend) throws -> String? {
        try backend.list("", after: nil).first { isSignOfArrival($0) }
    }

    static func isSignOfArrival(_ name: String) -> Bool {
        let marker = ContainerDescription.fileName
        return name == devicesDirectory || name == ContainerDescription.carriedFileName
            // `.container.json.icloud`, `.syncthing.container.json.tmp`, `container.json.1a2b3c4d.partial`
            || name != marker && name.contains(marker)
            || name.hasPrefix("container.sync-conflict-")
    }
}
