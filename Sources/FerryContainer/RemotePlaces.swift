import FerryCore

/// What opens remote places in this process, by their kind (`ContainerLocation.kind`). A program that reaches more than folders says so
/// once, at its start. Each `ReplicaEnvironment` can have openers of its own, which come first.
package enum RemotePlaces {
    /// Opens a place. Nothing is asked of a network yet.
    package typealias Opener = @Sendable (ContainerLocation) throws -> any ContainerBackend

    private static let openers = Locked<[String: Opener]>([:])

    /// Says what opens a kind of place.
    package static func register(_ kind: String, _ opener: @escaping Opener) { openers.withLock { $0[kind] = opener } }

    /// What opens a kind of place; `nil` if nothing does.
    package static func opener(of kind: String) -> Opener? { openers.withLock { $0[kind] } }
}
