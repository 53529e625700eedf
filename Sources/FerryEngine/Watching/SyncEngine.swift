import FerryContainer
import FerryCore
import FerrySchema
import FerryStore
import Foundation

/// Keeps an app's database in step while the app runs.
///
///     let engine = try SyncEngine(Store(pool))
///     engine.start()
///     for await event in engine.events { … }
///
/// The app uses its GRDB pool or queue as before. Commits are published within milliseconds. Remote changes appear in
/// the app's tables, and GRDB's `ValueObservation` sees them, WITHOUT ROWID tables included. The database must already
/// belong to a container (`Replica.create`, `Replica.join` or the command line).
///
/// - Passes run on a thread of the engine, and take turns with passes of further processes.
/// - An in-memory database has no file to watch: call `sync` after writing.
/// - The engine is safe to use from any thread.
/// - Several engines, and `ferry watch`, may exist for the same database: the leader keeps the database in step, and
///   the rest follow (`WatchLoop`).
/// - A released engine stops by itself.
public final class SyncEngine: Sendable {
    /// The engine's present activity.
    public enum State: Sendable {
        /// The engine does not watch. `sync` works all the same.
        case stopped
        case running
        /// A different process or engine keeps the database in step, and this engine takes over at its end. `sync`
        /// works all the same.
        case following
        /// The engine watches, the last pass failed, and the engine tries again.
        case failing(FerryError)
    }

    public let replica: Replica
    public var store: Store { replica.store }
    private let configuration: WatchConfiguration
    let core: SyncEngineCore

    /// - Parameters:
    ///   - policies: how tables, indexes and columns merge (`Replica.declarePolicies`).
    ///   - hooks: the app's functions for columns under the policy `hook:NAME`, by name (`MergeHook`).
    /// - Throws: `notTracked` if the database belongs to no container; `invalidArgument` if a policy makes no sense for
    ///   its target.
    public convenience init(
        _ store: Store, policies: [PolicySetting] = [], hooks: [String: MergeHook] = [:]
    ) throws {
        try self.init(
            store, policies: policies, hooks: hooks, configuration: WatchConfiguration(), environment: .live(for: store)
        )
    }

    /// Keeps a database in step as a configuration says, in the outside world that is given.
    package convenience init(
        _ store: Store, policies: [PolicySetting] = [], hooks: [String: MergeHook] = [:],
        configuration: WatchConfiguration, environment: ReplicaEnvironment = .live
    ) throws {
        for (name, function) in hooks { store.registerMergeHook(name, function) }
        let replica = try Replica(store, environment: environment)
        if !policies.isEmpty { try replica.declarePolicies(policies) }
        self.init(replica, configuration: configuration)
    }

    /// Uses a replica, as returned by `Replica.create` and `Replica.join`.
    public convenience init(_ replica: Replica) { self.init(replica, configuration: WatchConfiguration()) }

    /// Uses a replica as a configuration says.
    package init(_ replica: Replica, configuration: WatchConfiguration) {
        self.replica = replica
        self.configuration = configuration
        core = SyncEngineCore(replica)
    }

    deinit {
        core.stopWatching()
        core.finishStreams()
    }

    // MARK: Watching

    /// Starts watching, on a separate thread; has no effect while watching.
    public func start() { core.startWatching(configuration) }

    /// Stops watching. A running pass is finished first; no pass begins after this call returns.
    public func stop() async {
        guard let watch = core.stopWatching() else { return }
        await watch.waitUntilEnded()
    }

    public var state: State { core.state }

    /// True if the engine watches, failing or not.
    public var isRunning: Bool { if case .stopped = state { false } else { true } }

    /// The events from now on. Every call makes a new stream, which ends with the engine. A slow reader misses the
    /// oldest of more than 256 events.
    public var events: AsyncStream<SyncEvent> { core.makeStream() }

    // MARK: On request

    /// Makes a thorough pass both ways now, whether the engine watches or not. Calls during a pass share the next pass,
    /// so changes committed before a call are published when the call returns.
    /// - Throws: as `Replica.sync`. Nothing is lost then, and a later pass does the rest.
    @discardableResult
    public func sync() async throws -> SyncReport { try await core.sync() }

    /// Returns the status from the store and the container's heads.
    public func status() async throws -> StatusReport {
        try await core.onQueue { try $0.status() }
    }
}
