import FerryContainer
import FerryCore
import Foundation

/// Where containers lie: folders always, and remote places where somebody can open them.
extension ReplicaEnvironment {
    /// The same environment, with an opener for a further kind of place.
    /// - Parameter kind: as `ContainerLocation.kind`.
    package func opening(_ kind: String, by opener: @escaping RemotePlaces.Opener) -> ReplicaEnvironment {
        var environment = self
        environment.openers[kind] = opener
        return environment
    }

    /// The place named by a text. Nothing is asked of a network yet.
    /// - Throws: `invalidArgument` for a text that is no location, and for a kind of place beyond this program's reach.
    func backend(at place: String) throws -> any ContainerBackend {
        let location = try ContainerLocation(place)
        switch location {
        case .folder(let path): return FolderBackend(root: path, fileSystem: fileSystem, random: random)
        case .s3, .rclone:
            guard let opener = openers[location.kind] ?? RemotePlaces.opener(of: location.kind) else {
                throw FerryError(
                    .invalidArgument,
                    "This program reaches containers in folders alone, and no \(location.kind == "s3" ? "s3://" : "rclone:") "
                        + "places. Name a folder.", path: location.shortText)
            }
            return try opener(location)
        }
    }

    /// Opens the container in a place; as `Container.open`.
    func open(at place: String, expecting pin: ContainerPin? = nil, heads: HeadCache? = nil) throws -> Container {
        try Container.open(backend(at: place), expecting: pin, heads: heads)
    }
}

extension Replica {
    /// The text of a place in a database: a folder's path from the root, or the full text of a location.
    /// - Throws: `invalidArgument` for a text that is no location.
    static func fullPlace(_ text: String) throws -> String {
        let location = try ContainerLocation(text)
        return location.folderPath.map(absolutePath) ?? location.text
    }

    /// True if the database belongs to the container at a place.
    /// - Throws: `invalidArgument` for a text that is no location.
    package func isOf(containerPath: String) throws -> Bool {
        try equalBytes(identity.containerPath, Self.fullPlace(containerPath))
    }

    /// Ends running requests to a remote container: the pass fails, and waiting changes go with the next pass. From any
    /// thread.
    package func interruptRequests() { openPlace.withLock { $0 }?.backend.interrupt() }

    /// Goes on with the place of a container that this process opened for the database. The listing of a remote place stays one, and has
    /// this process's deeds.
    func goOn(with container: Container) {
        guard container.answersFromListing else { return }
        openPlace.withLock { $0 = (identity.containerPath, container.backend) }
    }

    /// The place of the database's container. A remote place stays the same for the replica's whole life: the place
    /// knows the listing.
    func place() throws -> any ContainerBackend {
        let text = identity.containerPath
        if text.isEmpty {
            throw FerryError(
                .containerMissing, "The database was made of a file, and belongs to no container.", path: store.path)
        }
        if let open = openPlace.withLock({ $0 }), equalBytes(open.text, text) { return open.backend }
        let backend = try environment.backend(at: text)
        if backend.answersFromListing { openPlace.withLock { $0 = (text, backend) } }
        return backend
    }
}
