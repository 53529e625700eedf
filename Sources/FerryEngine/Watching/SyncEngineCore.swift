import FerryContainer
import FerryCore
import FerryStore
import Foundation

/// The part of a `SyncEngine` shared with its threads and tasks, so that the engine itself can be released while they
/// end.
///
/// Invariants:
/// - `watch` is the running watch; `nil` once the watch ended or was told to stop.
/// - At most a single requested pass runs (`current`), and at most a single pass waits for the running pass (`next`).
final class SyncEngineCore: Sendable {
    private let replica: Replica
    /// The queue for passes on request: passes block, and Swift's own threads must not.
    private let queue = DispatchQueue(label: "Ferry.SyncEngine")
    private let shared = Locked(Shared())
    private let streams = EventStreams<SyncEvent>()
    /// Whoever shows the engine's activity: told of each change, and then reads `activity`.
    private let activities = EventStreams<Void>()
    /// Whoever shows the status: told where it may be another one.
    private let news = EventStreams<Void>()

    /// What the engine does, for whoever shows it.
    struct Activity: Sendable {
        /// Why the last pass failed; `nil` after a success.
        var failure: FerryError?
        /// When a pass last succeeded, in milliseconds since the Unix epoch.
        var successMilliseconds: Int64?
        /// How far the pass under way is; `nil` while there is none with anything to do.
        var progress: SyncProgress?
    }

    private struct Shared {
        var watch: Watch?
        var activity = Activity()
        /// True if another process or engine keeps the database in step.
        var isFollowing = false
        /// The running pass, and the pass waiting behind the running pass; new calls share the latter.
        var current: Task<SyncReport, any Error>?
        var next: Task<SyncReport, any Error>?
    }

    init(_ replica: Replica) { self.replica = replica }

    // MARK: Watching

    /// A run of a `WatchLoop` on its thread.
    final class Watch: Sendable {
        let loop: WatchLoop
        private let end = Locked(End())

        private struct End {
            var hasEnded = false
            var waiting: [CheckedContinuation<Void, Never>] = []
        }

        init(_ loop: WatchLoop) { self.loop = loop }

        func run() {
            loop.run()
            let waiting = end.withLock { end in
                end.hasEnded = true
                defer { end.waiting = [] }
                return end.waiting
            }
            for continuation in waiting { continuation.resume() }
        }

        func waitUntilEnded() async {
            await withCheckedContinuation { continuation in
                let hasEnded = end.withLock { end in
                    if !end.hasEnded { end.waiting.append(continuation) }
                    return end.hasEnded
                }
                if hasEnded { continuation.resume() }
            }
        }
    }

    func startWatching(_ configuration: WatchConfiguration) {
        let watch = shared.withLock { shared -> Watch? in
            guard shared.watch == nil else { return nil }
            let passes = PassFollower(
                progress: { [weak self] in self?.progressHandler() },
                ended: { [weak self] in self?.noteEnd(ofPass: $0) })
            let watch = Watch(
                WatchLoop(replica, configuration: configuration, passes: passes) { [weak self] in self?.note($0) })
            shared.watch = watch
            shared.activity.failure = nil
            return watch
        }
        guard let watch else { return }
        let thread = Thread { [weak self] in
            watch.run()
            // The loop also ends by itself, if the database can no longer be kept in step.
            self?.forget(watch)
        }
        thread.name = "Ferry.WatchLoop"
        thread.start()
    }

    private func forget(_ watch: Watch) {
        shared.withLock { if $0.watch === watch { $0.watch = nil } }
        activities.yield(())
    }

    /// Stops the loop, and forgets the loop.
    @discardableResult
    func stopWatching() -> Watch? {
        let watch = shared.withLock { shared in
            defer { shared.watch = nil }
            return shared.watch
        }
        watch?.loop.stop()
        activities.yield(())
        return watch
    }

    var state: SyncEngine.State {
        shared.withLock { shared in
            if shared.watch == nil { return .stopped }
            return shared.activity.failure.map { .failing($0) } ?? (shared.isFollowing ? .following : .running)
        }
    }

    // MARK: Events

    private func note(_ event: SyncEvent) {
        shared.withLock { shared in
            switch event {
            case .synced: shared.activity.failure = nil
            case .failed(let error): shared.activity.failure = error
            case .following: shared.isFollowing = true
            case .started, .leading, .stopped: shared.isFollowing = false
            case .databaseChanged, .reopened: break
            }
        }
        streams.yield(event)
        activities.yield(())
        // The end of the pass is news already.
        if case .synced = event { return }
        news.yield(())
    }

    func makeStream() -> AsyncStream<SyncEvent> { streams.makeStream(.bufferingNewest(256)) }

    func finishStreams() {
        streams.finish()
        activities.finish()
        news.finish()
    }

    // MARK: Activity

    var activity: Activity { shared.withLock { $0.activity } }

    /// An element after each change of the activity and of the state. Several changes in quick succession are one.
    func makeActivityStream() -> AsyncStream<Void> { activities.makeStream(.bufferingNewest(1)) }

    /// An element after each pass, and after each event of another kind. A pass without changes may have read that another device
    /// has replayed everything; a pass that failed leaves changes behind. Several in quick succession are one.
    func makeNewsStream() -> AsyncStream<Void> { news.makeStream(.bufferingNewest(1)) }

    /// The handler of the progress of a pass that begins; `nil` if nobody looks.
    func progressHandler() -> ProgressHandler? {
        if activities.isEmpty { return nil }
        return { [weak self] progress in
            // A pass that finds nothing to do has no progress.
            guard let self, progress.completed > 0 else { return }
            shared.withLock { $0.activity.progress = progress }
            activities.yield(())
        }
    }

    private func noteEnd(ofPass hasSucceeded: Bool) {
        let now = hasSucceeded ? replica.environment.clock.milliseconds() : nil
        shared.withLock { shared in
            shared.activity.progress = nil
            if let now { shared.activity.successMilliseconds = now }
        }
        activities.yield(())
        news.yield(())
    }

    // MARK: Passes on request

    func sync() async throws -> SyncReport {
        let task = shared.withLock { shared in
            if let next = shared.next { return next }
            let current = shared.current
            let task = Task.detached { [self] in
                _ = await current?.result
                self.shared.withLock { shared in
                    shared.current = shared.next
                    shared.next = nil
                }
                return try await pass()
            }
            shared.next = task
            return task
        }
        return try await task.value
    }

    private func pass() async throws -> SyncReport {
        defer { shared.withLock { $0.current = nil } }
        do {
            let progress = progressHandler()
            let report = try await onQueue { try $0.sync(progress: progress) }
            noteEnd(ofPass: true)
            note(.synced(report))
            return report
        } catch let error as FerryError {
            noteEnd(ofPass: false)
            note(.failed(error))
            throw error
        }
    }

    /// Runs `body` on a queue where blocking is allowed.
    func onQueue<Result: Sendable>(_ body: @escaping @Sendable (Replica) throws -> Result) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { [replica] in continuation.resume(with: Swift.Result { try body(replica) }) }
        }
    }
}
