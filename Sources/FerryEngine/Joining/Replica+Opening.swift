import FerryCore
import FerryStore
import Foundation

extension Replica {
    /// Opens a database and its container, in any state: call at each start of an app, once the app's tables are there.
    ///
    /// A database of a container is opened, also while the folder is away. Any other database joins the container in the folder, or makes a
    /// container if a person chose so. Where somebody has to let this device in, the call waits for the admission. A cancelled wait goes on
    /// with the next call.
    /// - Parameters:
    ///   - containerPath: the folder. A database with a container elsewhere goes on there, unless the same container is here. Then the
    ///     database is told the new place (`relocate`), as after a system has moved an app's folders.
    ///   - choice: a person's choice. Only `first` and `firstUnsealed` make a container, and never where a container may be on its way.
    ///   - device: name, tables and rows of a database without a container so far.
    ///   - onEvent: hears of a wait, once, and of progress.
    /// - Throws: the database is unchanged then.
    ///   - `containerMissing`, `containerEmpty`: there is no container. Say that the folder may not be mounted or synced, and offer to
    ///     try again or to make this device the first one.
    ///   - `fileNotThereYet`: a container is on its way. Try again later.
    ///   - `storeIncomplete`: somebody emptied the database since it was opened last, as GRDB's `eraseDatabaseOnSchemaChange` does.
    ///   - `keyMissing`: the container is sealed. Ask for a code, and call again with `further`.
    ///   - `codeRefused`: the code was used or is over, or the recovery code is a different container's. Ask for a new code. An invitation's code
    ///     of a different container waits for ever, because only the inviting device knows its codes.
    ///   - `notSealed`: the container is open, and this device was to make a sealed container. Join with `existing`, if wanted.
    ///   - `invalidArgument`: the container is open, and a code was given for a sealed container. Ask who made the container before you
    ///     join.
    ///   - `containerMismatch`: the folder's container is not the database's own. Choose another folder.
    ///   - `CancellationError` if the task was cancelled during the wait; as `create`, `Enrolment.join` and `enrol`.
    public static func open(
        _ store: Store, containerPath: String, as choice: ContainerChoice = .existing, device: NewDevice = NewDevice(),
        onEvent: (@Sendable (OpeningEvent) -> Void)? = nil
    ) async throws -> (replica: Replica, result: OpeningResult) {
        var progress: ProgressHandler?
        if let onEvent { progress = { onEvent(.progress($0)) } }
        let opening = ReplicaOpening(
            store: store, containerPath: containerPath, choice: choice, device: device,
            progress: progress, environment: .live(for: store))
        let opened: (replica: Replica, result: OpeningResult)
        switch try await onThread({ try opening.begin() }) {
        case .done(let replica, let result): opened = (replica, result)
        case .waits(let enrolment, let state):
            if case .waiting(let words) = state { onEvent?(.waiting(words: words)) }
            try await enrolment.waitUntilAdmitted()
            opened = try await onThread { try opening.end(enrolment) }
        }
        // Without the mark nobody notices an emptied database, and nothing worse.
        try? await onThread { try SchemaMark(store).note() }
        return opened
    }

    /// Runs a body on a separate thread: Swift's own threads must not block.
    private static func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Swift.Result { try body() }) }
            thread.name = "Ferry.Opening"
            // As the main thread's: other threads have too little for deep schemas.
            thread.stackSize = 8 << 20
            thread.start()
        }
    }
}
