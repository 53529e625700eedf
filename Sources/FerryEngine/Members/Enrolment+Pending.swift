import FerryContainer
import FerryCore

extension Enrolment {
    /// Whether a container lets in its members alone.
    /// - Throws: as `Container.open`.
    package static func isNeeded(containerPath: String, environment: ReplicaEnvironment) throws -> Bool {
        try environment.open(at: Replica.fullPlace(containerPath)).details.sealing != .none
    }

    /// The failure of a call in need of an enrolment without an answer so far.
    package static func pending(_ path: String) -> FerryError {
        FerryError(
            .enrolmentPending,
            "This device is not let in yet. Run the same command again once it is; what was begun goes on.", path: path)
    }
}
