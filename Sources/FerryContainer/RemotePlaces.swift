import FerryCore

/// The openers of remote places in this process, by their kind (`ContainerLocation.kind`). A program with access to
/// more than folders registers openers once, at the start. Each `ReplicaEnvironment` can have further openers, and
/// these come first.
package enum RemotePlaces {
    /// Opens a place. Nothing is asked of a network yet.
    package typealias Opener = @Sendable (ContainerLocation) throws -> any ContainerBackend

    private static let openers = Locked<[String: Opener]>([:])

    /// Registers the opener of a kind of place.
    package static func register(_ kind: String, _ opener: @escaping Opener) { openers.withLock { $0[kind] = opener } }

    /// The opener of a kind of place; `nil` without an opener.
    package static func opener(of kind: String) -> Opener? { openers.withLock { $0[kind] } }
}
