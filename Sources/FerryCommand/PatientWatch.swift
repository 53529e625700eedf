import Ferry
import FerryContainer
import FerryMirror
import Synchronization

/// Keeps a database in step until `stop`, also over times without the database: deleted, replaced, or on a disk that is not mounted.
///
/// A watch of a single database is not patient: it ends with the failure, and a service begins again. A watch of several goes on with the
/// others meanwhile, and opens this one again after 1, 2, 4 and then every 8 seconds. A database missing at the start counts as one that
/// went away.
///
/// `run` works on the calling thread; `stop` may be called from any thread.
final class PatientWatch: Sendable {
    private static let maximumMilliseconds = 8000

    let reporter: WatchReporter
    private let database: String
    private let recorder: MetricsFile.Recorder?
    private let isPatient: Bool
    /// Wakes a wait for the database.
    private let watcher = ChangeWatcher()
    private let state: Mutex<State>

    /// A database at the start of a watch.
    enum Start {
        case present(Replica)
        /// No file is at the path.
        case missing(FerryError)

        var replica: Replica? {
            switch self {
            case .present(let replica): replica
            case .missing: nil
            }
        }
    }

    private struct State {
        /// `nil` before a database that was missing at the start has come.
        var watch: RunningWatch?
        /// Why there is no database at the start, until that is told.
        var missing: FerryError?
        var isStopped = false
    }

    init(
        _ database: String, _ start: Start, _ reporter: WatchReporter, _ recorder: MetricsFile.Recorder?,
        isPatient: Bool
    ) {
        self.database = database
        self.reporter = reporter
        self.recorder = recorder
        self.isPatient = isPatient
        switch start {
        case .present(let replica): state = Mutex(State(watch: RunningWatch(replica, reporter, recorder)))
        case .missing(let error): state = Mutex(State(missing: error))
        }
    }

    func stop() {
        let watch = state.withLock { state in
            state.isStopped = true
            return state.watch
        }
        reporter.isEnding()
        watch?.loop.stop()
        watcher.wake()
    }

    /// Watches until `stop`, or until the database can no longer be kept in step and nobody waits for it.
    func run() {
        var watch = state.withLock { $0.watch }
        if let missing = state.withLock({ $0.missing }) { reporter.tell(.failed(missing)) }
        while true {
            watch?.loop.run()
            watch?.mirrors.stop()
            guard isPatient, let next = openedAgain() else { return }
            watch = next
        }
    }

    /// Waits until the database can be opened.
    /// - Returns: `nil` after `stop`.
    private func openedAgain() -> RunningWatch? {
        var pause = 1000
        var reason = reporter.failureCode
        while !state.withLock({ $0.isStopped }) {
            _ = watcher.wait(timeoutMilliseconds: pause)
            pause = min(2 * pause, Self.maximumMilliseconds)
            let replica: Replica
            do {
                replica = try Replica(path: database)
            } catch {
                let error = FerryError(from: error)
                // Why the database cannot be opened is told once. A reason met once may be of a copy half there.
                if error.code == reason, error.code != reporter.failureCode { reporter.tell(.failed(error)) }
                reason = error.code
                continue
            }
            let watch = RunningWatch(replica, reporter, recorder?.following(replica.store))
            let isStopped = state.withLock { state in
                if !state.isStopped { state.watch = watch }
                return state.isStopped
            }
            return isStopped ? nil : watch
        }
        return nil
    }
}

/// A loop with the reporter of the loop's events.
struct RunningWatch: Sendable {
    let loop: WatchLoop
    let mirrors: MirrorWatch

    init(_ replica: Replica, _ reporter: WatchReporter, _ recorder: MetricsFile.Recorder?) {
        reporter.willWatch(container: replica.identity.containerPath)
        var configuration = WatchConfiguration()
        // Writers beside this process may lack a busy timeout.
        configuration.givesWritersRoom = true
        let mirrors = MirrorWatch(replica) { reporter.tell($0) }
        self.mirrors = mirrors
        loop = WatchLoop(replica, configuration: configuration) { event in
            reporter.tell(event)
            switch event {
            // Only the leading process makes passes, of documents and of mirrors.
            case .synced:
                mirrors.start()
                mirrors.databaseChanged()
            case .databaseChanged, .reopened: mirrors.databaseChanged()
            case .started, .following, .leading, .failed, .stopped: break
            }
            recorder?.record(event)
        }
    }
}
