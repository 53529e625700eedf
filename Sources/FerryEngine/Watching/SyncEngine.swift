import FerryContainer
import FerryCore
import FerryStore
import Foundation

/// Keeps an app's database in step while the app runs.
///
///     let engine = try SyncEngine(Store(pool))
///     engine.start()
///     for await event in engine.events { … }
///
/// The app goes on using its GRDB pool or queue as before: what it commits is published within milliseconds, and what
/// other devices did appears in its tables, where GRDB's `ValueObservation` sees it, WITHOUT ROWID tables included. The
/// database must belong to a container already (`Replica.create`, `Replica.join` or the command line).
///
/// Passes run on a thread of the engine's and take turns with those of other processes. A database in memory has no
/// file to watch: call `sync` after writing. Safe to use from any thread; several engines, and `ferry watch`, may exist
/// for one database: one of them keeps it in step, the others follow (`WatchLoop`).
/// An engine that is let go stops by itself.
public final class SyncEngine: Sendable {
    /// What the engine does now.
    public enum State: Sendable {
        /// It does not watch. `sync` works all the same.
        case stopped
        case running
        /// Another process, or another engine of this one, keeps the database in step; this one takes over when that
        /// ends. `sync` works all the same.
        case following
        /// It watches, and the last pass failed; it is tried again.
        case failing(FerryError)
    }

    public let replica: Replica
    public var store: Store { replica.store }
    private let configuration: WatchConfiguration
    let core: SyncEngineCore

    /// - Parameters:
    ///   - policies: how tables, indexes and columns merge (`Replica.declarePolicies`).
    ///   - hooks: the app's functions for columns under the policy `hook:NAME`, by their names (`MergeHook`).
    /// - Throws: `notTracked` where the database belongs to no container; `invalidArgument` where a policy makes no
    ///   sense for what it is about.
    public convenience init(
        _ store: Store, policies: [PolicySetting] = [], hooks: [String: MergeHook] = [:],
        configuration: WatchConfiguration = WatchConfiguration(), environment: ReplicaEnvironment = .live
    ) throws {
        for (name, function) in hooks { store.registerMergeHook(name, function) }
        let replica = try Replica(store, environment: environment)
        if !policies.isEmpty { try replica.declarePolicies(policies) }
        self.init(replica, configuration: configuration)
    }

    /// Uses a replica, as `Replica.create` and `Replica.join` return it.
    public init(_ replica: Replica, configuration: WatchConfiguration = WatchConfiguration()) {
        self.replica = replica
        self.configuration = configuration
        core = SyncEngineCore(replica)
    }

    deinit {
        core.stopWatching()
        core.finishStreams()
    }

    // MARK: Watching

    /// Begins to watch, on a thread of its own; has no effect while it does.
    public func start() { core.startWatching(configuration) }

    /// Ends watching. A pass that is under way is finished first; when this returns, no further one begins.
    public func stop() async {
        guard let watch = core.stopWatching() else { return }
        await watch.waitUntilEnded()
    }

    public var state: State { core.state }

    /// Whether the engine watches, failing or not.
    public var isRunning: Bool { if case .stopped = state { false } else { true } }

    /// What happens from now on. Every call makes a stream of its own, which ends with the engine; who reads too slowly
    /// misses the oldest of more than 256 events.
    public var events: AsyncStream<SyncEvent> { core.makeStream() }

    // MARK: On request

    /// Makes a thorough pass both ways now, whether the engine watches or not. Calls that come while one is under way
    /// share the next one, so that what was committed before a call is published when it returns.
    /// - Throws: as `Replica.sync`; nothing is lost then, and a later pass does what is left.
    @discardableResult
    public func sync() async throws -> SyncReport { try await core.sync() }

    /// What the store and the container's heads tell.
    public func status() async throws -> StatusReport {
        try await core.onQueue { try $0.status() }
    }
}
