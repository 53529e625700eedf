import FerryContainer
import FerryCore
import Foundation

/// Where containers lie: folders always, and remote places where somebody can open them.
extension ReplicaEnvironment {
    /// The same environment, which can open one more kind of place.
    /// - Parameter kind: as `ContainerLocation.kind`.
    package func opening(_ kind: String, by opener: @escaping RemotePlaces.Opener) -> ReplicaEnvironment {
        var environment = self
        environment.openers[kind] = opener
        return environment
    }

    /// The place that a text names. Nothing is asked of a network yet.
    /// - Throws: `invalidArgument` for a text that is no location, and for a kind of place that this program cannot reach.
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
    /// The text under which a database keeps a place: a folder's path from the root, or a location as it is written in full.
    /// - Throws: `invalidArgument` for a text that is no location.
    static func fullPlace(_ text: String) throws -> String {
        let location = try ContainerLocation(text)
        return location.folderPath.map(absolutePath) ?? location.text
    }

    /// Ends requests to a remote container that are under way: a pass fails, and what waits goes with the next one. From any thread.
    package func interruptRequests() { openPlace.withLock { $0 }?.backend.interrupt() }

    /// The place of the database's container. A remote one is the same for the replica's whole life: it knows the listing.
    func place() throws -> any ContainerBackend {
        let text = identity.containerPath
        if let open = openPlace.withLock({ $0 }), open.text == text { return open.backend }
        let backend = try environment.backend(at: text)
        if backend.answersFromListing { openPlace.withLock { $0 = (text, backend) } }
        return backend
    }
}
