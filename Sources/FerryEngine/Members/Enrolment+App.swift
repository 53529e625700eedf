import FerryCore
import FerryStore
import Foundation

/// The calls of an app. The app's store says where the keys are.
extension Enrolment {
    /// Whether a container lets in its members alone, so that a join takes an enrolment.
    /// - Throws: `containerMissing`, `containerEmpty`.
    public static func isNeeded(containerPath: String) throws -> Bool {
        try isNeeded(containerPath: containerPath, environment: .live)
    }

    /// Asks to be let in, or goes on with an earlier enrolment.
    /// - Parameters:
    ///   - store: the database to join, or to be let in again (`Replica.enrol`).
    ///   - way: a code is for one device, once. With `.words` show the words of `state`, for a person to type on a member.
    /// - Throws: `invalidArgument` for an open container; `codeRefused` for a different container's recovery code; `fileNotThereYet` while
    ///   the folder's syncer has not brought the first record; `keyExposed`, `inputOutput`.
    public static func begin(for store: Store, containerPath: String, by way: Way) throws -> Enrolment {
        try begin(containerPath: containerPath, by: way, environment: .live(for: store))
    }

    /// An earlier enrolment without an end, by any way; `nil` if there is none.
    public static func pending(for store: Store, containerPath: String) throws -> Enrolment? {
        try pending(containerPath: containerPath, environment: .live(for: store))
    }

    /// Waits until this device is let in. Changes of the folder end a pause at once; a folder that reports no changes is looked at each
    /// second.
    ///
    /// With `.words` show the words of `state` before. The call may be made again, also after the app was started anew.
    /// - Returns: `State.admitted`.
    /// - Throws: as `state`; `CancellationError` where the task was cancelled. The enrolment is there to go on.
    @discardableResult
    public func waitUntilAdmitted() async throws -> State { try await waitUntilAdmitted(ContainerWait()) }

    func waitUntilAdmitted(_ wait: ContainerWait) async throws -> State {
        let admitted = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<State?, any Error>) in
                // The wait blocks, and Swift's own threads must not.
                let thread = Thread { continuation.resume(with: Result { try self.admitted(wait) }) }
                thread.name = "Ferry.Enrolment"
                thread.start()
            }
        } onCancel: {
            wait.stop()
        }
        guard let admitted else { throw CancellationError() }
        return admitted
    }

    /// Blocks the thread until this device is let in; `nil` where the wait was stopped.
    private func admitted(_ wait: ContainerWait) throws -> State? {
        try wait.until(places: placesOfMembers) {
            let state = try state()
            if case .waiting = state { return nil }
            return state
        }
    }

    /// Joins an app's own open database to the container, as the admitted device. The app must have made the tables before.
    /// - Throws: `enrolmentPending` while nobody has let the device in; `codeRefused` as `state`; `alreadyTracked`. The database is
    ///   unchanged then.
    public func join(
        _ store: Store, name: String? = nil, options: JoinOptions = JoinOptions(), progress: ProgressHandler? = nil
    ) throws -> (replica: Replica, report: JoinReport) {
        try ReplicaSetup(environment: environment, progress: progress, enrolment: self).join(
            store, containerPath: path, name: name, options: options)
    }
}
