import FerryCore
import FerryEngine
import FerrySQL
import FerryStore
import Foundation

/// Values by key, sets and counters that all devices share, in the habits of `NSUbiquitousKeyValueStore`.
///
///     let settings = try KeyValueStore(engine)
///     try settings.set("dark", forKey: "theme")
///     try settings.add("article-17", toSet: "read")
///     try settings.increment("launches")
///
/// Content is in tables of the app's database that travel like the app's own tables. So a write is durable when the
/// call returns, with or without the container, and other processes see the write at once. How concurrent writes merge:
/// Docs/KeyValue.md. Names and members are compared as Swift compares strings, so they are kept in Unicode's composed
/// form.
///
/// Safe to use from any thread. Every call is a short transaction. A call inside a transaction of the same GRDB connection, as in
/// `write { … }` or in a hook, throws `invalidArgument`.
public final class KeyValueStore: Sendable {
    public let limits: KeyValueLimits
    let engine: SyncEngine
    var store: Store { engine.store }
    /// Tells this store's own changes from others'.
    let writer: UniqueID<KeyValueWriter> = SystemRandom().makeID()
    let broadcast: ChangeBroadcast
    private let sizes = SizeCache()
    private let follower: Task<Void, Never>

    /// Uses an engine, whose events bring news of external changes.
    /// - Throws: `notTracked` if the database left its container.
    public init(_ engine: SyncEngine, limits: KeyValueLimits = KeyValueLimits()) throws {
        self.engine = engine
        self.limits = limits
        let broadcast = try ChangeBroadcast(engine.store, writer: writer, limits: limits)
        self.broadcast = broadcast
        let events = engine.events
        follower = Task.detached {
            for await event in events {
                switch event {
                // The next event finds the same news and makes up for a failure to read now. A watch fails and ends where the database left
                // its container.
                case .synced(let report):
                    try? broadcast.check()
                    if report.published.changes > 0 { broadcast.suspectValues() }
                case .databaseChanged:
                    try? broadcast.check()
                    broadcast.suspectValues()
                case .reopened, .failed, .stopped: try? broadcast.check()
                case .started, .following, .leading: break
                }
            }
        }
    }

    /// Uses a database without keeping the database in step: `synchronize` does so on request.
    public convenience init(_ store: Store, limits: KeyValueLimits = KeyValueLimits()) throws {
        try self.init(SyncEngine(store), limits: limits)
    }

    deinit {
        follower.cancel()
        broadcast.finish()
    }

    // MARK: Syncing

    /// Syncs with the container now, and tells external changes. Not needed for durability, nor where the engine
    /// watches.
    /// - Throws: as `SyncEngine.sync`. Everything written is safe, and goes out later.
    @discardableResult
    public func synchronize() async throws -> SyncReport {
        let report = try await engine.sync()
        try broadcast.check()
        return report
    }

    /// Reports external changes that are in the database already: for processes in which no engine watches.
    public func checkForChanges() throws { try broadcast.check() }

    // MARK: Access

    /// Writes in a transaction and records the changes.
    /// - Parameters:
    ///   - counted: the name that `body` counts, if any.
    ///   - body: returns its result, whether anything changed, and how many of `counted` there are then.
    func write<Result>(
        _ name: KeyValueName, counting counted: KeyValueName? = nil,
        _ body: (SQLConnection) throws -> (result: Result, hasChanged: Bool, size: Int?)
    ) throws -> Result {
        var size: (value: Int, version: SizeCache.Version)?
        let outcome = try store.write { connection in
            let outcome = try body(connection)
            if outcome.hasChanged { try connection.recordKeyValueChanges([name], by: writer) }
            if let value = outcome.size { size = (value, try SizeCache.Version(connection)) }
            return outcome
        }
        if let size, let counted { sizes.save(size.value, counted, size.version) }
        if outcome.hasChanged { broadcast.reportOwn(name) }
        return outcome.result
    }

    /// The size of a name's content, without counting if nothing changed since this store's last count. `nil` if the
    /// size does not matter, because `additions` more cannot exceed `limit`.
    func size(
        of name: KeyValueName, adding additions: Int, atMost limit: Int, _ connection: SQLConnection,
        counting count: () throws -> Int
    ) throws -> Int? {
        if try connection.largestKeyValueCount(name.kind) + additions <= limit { return nil }
        if let known = sizes.load(name, try SizeCache.Version(connection)) { return known }
        return try count()
    }

    /// The composed form of a name or member.
    static func composed(_ string: String) -> String {
        string.utf8.allSatisfy { $0 < 0x80 } ? string : string.precomposedStringWithCanonicalMapping
    }

    /// - Throws: `invalidArgument` for an empty name, `limitExceeded` for a long name.
    func checked(_ name: String) throws -> String {
        let composed = Self.composed(name)
        try limits.check(name: composed)
        return composed
    }
}

extension FieldValue {
    /// A text's characters.
    var string: String? {
        if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
    }
}
