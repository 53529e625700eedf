import Ferry
import FerryContainer
import FerryMirror
import Synchronization

/// Keeps a database in step until `stop`, also over times without the database: deleted, replaced, or on a disk that is not mounted.
///
/// A watch of a single database is not patient: it ends with the failure, and a service begins again. A watch of several goes on with the
/// others meanwhile, and opens this one again after 1, 2, 4 and then every 8 seconds.
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

    private struct State {
        var watch: RunningWatch
        var isStopped = false
    }

    /// - Parameter replica: of the database, opened already.
    init(
        _ database: String, _ replica: Replica, _ reporter: WatchReporter, _ recorder: MetricsFile.Recorder?,
        isPatient: Bool
    ) {
        self.database = database
        self.reporter = reporter
        self.recorder = recorder
        self.isPatient = isPatient
        state = Mutex(State(watch: RunningWatch(replica, reporter, recorder)))
    }

    func stop() {
        let watch = state.withLock { state in
            state.isStopped = true
            return state.watch
        }
        reporter.isEnding()
        watch.loop.stop()
        watcher.wake()
    }

    /// Watches until `stop`, or until the database can no longer be kept in step and nobody waits for it.
    func run() {
        var watch = state.withLock { $0.watch }
        while true {
            watch.loop.run()
            watch.mirrors.stop()
            guard isPatient, let next = openedAgain() else { return }
            watch = next
        }
    }

    /// Waits until the database can be opened.
    /// - Returns: `nil` after `stop`.
    private func openedAgain() -> RunningWatch? {
        var pause = 1000
        while !state.withLock({ $0.isStopped }) {
            _ = watcher.wait(timeoutMilliseconds: pause)
            pause = min(2 * pause, Self.maximumMilliseconds)
            // Why it cannot be opened was told when the database went, and the next turn tries again.
            guard let replica = try? Replica(path: database) else { continue }
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
