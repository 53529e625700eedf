import FerryContainer
import FerryCore
import FerrySchema
import FerryStore

/// Finds others' changes and reports them to listeners.
///
/// The database numbers the changes of the key-value store, whoever makes them (`SQLConnection.keyValueChanges`). The
/// broadcast remembers the last number reported. So a check costs only the new changes and misses none, in whatever
/// process a change was made.
final class ChangeBroadcast: Sendable {
    private let store: Store
    private let writer: UniqueID<KeyValueWriter>
    private let limits: KeyValueLimits
    /// The last changes reported. Held while the database is read, so that two checks at once report everything once.
    private let told: Locked<Told>
    private let listeners = Locked(Listeners())

    private struct Told {
        var revision: Int64
        var identity: StoreIdentity?
    }

    private struct Listeners {
        var count = 0
        var isFinished = false
        var all: [Int: AsyncStream<KeyValueChange>.Continuation] = [:]
        var named: [Int: (name: KeyValueName, signal: AsyncStream<Void>.Continuation)] = [:]
        /// Followers that could not read their value. The next check signals them again.
        var unread: Set<KeyValueName> = []
    }

    init(_ store: Store, writer: UniqueID<KeyValueWriter>, limits: KeyValueLimits) throws {
        self.store = store
        self.writer = writer
        self.limits = limits
        guard let identity = try store.identity() else {
            throw FerryError(.notTracked, "The database belongs to no container yet. Create or join one first.")
        }
        told = Locked(Told(revision: try store.read { try $0.keyValueRevision() }, identity: identity))
    }

    // MARK: Finding out

    /// Reports others' changes since the last check, and signals again each follower that could not read a value.
    func check() throws {
        let unread = listeners.withLock { listeners in
            defer { listeners.unread = [] }
            return listeners.unread
        }
        for name in unread { reportOwn(name) }
        let changes = try told.withLock { try news(&$0) }
        for change in changes { tell(change) }
    }

    private func news(_ told: inout Told) throws -> [KeyValueChange] {
        let identity = try store.identity()
        guard let identity, identity.container == told.identity?.container, try isSame(identity.device, told)
        else { return identity == told.identity ? [] : [try containerChange(identity, &told)] }
        told.identity = identity
        let (found, revision, keyCount) = try store.read { connection in
            let found = try connection.keyValueChanges(after: told.revision)
            let hasNewKeys = found.contains { $0.name.kind == .value && $0.writer == nil }
            let count = hasNewKeys ? try connection.count("SELECT count(*) FROM ferry_kv_value") : 0
            return (found, try connection.keyValueRevision(), count)
        }
        let isFirst = told.revision == 0
        told.revision = revision
        var remote = KeyValueChange(reason: isFirst ? .initialSync : .remoteChange)
        var local = KeyValueChange(reason: .localChange)
        for (name, author) in found {
            if author == nil { remote.insert(name) } else if author != writer { local.insert(name) }
        }
        var changes = [remote, local].filter { !$0.isEmpty }
        if keyCount > limits.keys { changes.append(KeyValueChange(reason: .quotaViolation, keys: remote.keys)) }
        return changes
    }

    /// True if a device is the reported device, perhaps under a new ID.
    private func isSame(_ device: DeviceID, _ told: Told) throws -> Bool {
        if device == told.identity?.device { return true }
        return try store.reading().formerDevices.contains { $0.device == told.identity?.device }
    }

    private func containerChange(_ identity: StoreIdentity?, _ told: inout Told) throws -> KeyValueChange {
        var change = KeyValueChange(reason: .containerChange)
        told = Told(revision: 0, identity: identity)
        guard identity != nil else { return change }
        try store.read { connection in
            told.revision = try connection.keyValueRevision()
            change.keys = Set(try connection.rows("SELECT key FROM ferry_kv_value").compactMap { $0[0].string })
            change.sets = Set(
                try connection.rows("SELECT DISTINCT \"set\" FROM ferry_kv_member").compactMap { $0[0].string })
            change.counters = Set(
                try connection.rows("SELECT DISTINCT counter FROM ferry_kv_counter").compactMap { $0[0].string })
        }
        return change
    }

    // MARK: Telling

    private func tell(_ change: KeyValueChange) {
        let (all, named) = listeners.withLock { listeners in
            (Array(listeners.all.values), listeners.named.values.filter { change.concerns($0.name) }.map(\.signal))
        }
        for continuation in all { continuation.yield(change) }
        for signal in named { signal.yield() }
    }

    /// Names whose followers wait for the next check.
    var unread: Set<KeyValueName> { listeners.withLock { $0.unread } }

    /// Records that a follower could not read its value. Only the next check signals the follower again.
    func recordUnread(_ name: KeyValueName) { listeners.withLock { _ = $0.unread.insert(name) } }

    /// Reports to the followers of a name that this store changed the value.
    func reportOwn(_ name: KeyValueName) {
        let named = listeners.withLock { listeners in
            listeners.named.values.filter { $0.name == name }.map(\.signal)
        }
        for signal in named { signal.yield() }
    }

    /// Lets the followers of values and counters read again: somebody may have written by SQL, which is in no record of changes. A value that is
    /// the same is not told. A set may have a million members, so its followers do not read without a reason.
    func suspectValues() {
        let signals = listeners.withLock { listeners in
            listeners.named.values.filter { $0.name.kind != .set }.map(\.signal)
        }
        for signal in signals { signal.yield() }
    }

    /// A stream of external changes.
    func changes() -> AsyncStream<KeyValueChange> {
        let (stream, continuation) = AsyncStream.makeStream(of: KeyValueChange.self)
        let number = add { $0.all[$1] = continuation }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { _ = $0.all.removeValue(forKey: number ?? 0) }
        }
        if number == nil { continuation.finish() }
        return stream
    }

    /// A stream that yields at once and after every change of a name; changes merge until the reader takes them.
    func signals(of name: KeyValueName) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        continuation.yield()
        let number = add { $0.named[$1] = (name, continuation) }
        continuation.onTermination = { [weak self] _ in
            self?.listeners.withLock { _ = $0.named.removeValue(forKey: number ?? 0) }
        }
        if number == nil { continuation.finish() }
        return stream
    }

    private func add(_ register: (inout Listeners, Int) -> Void) -> Int? {
        listeners.withLock { listeners in
            if listeners.isFinished { return nil }
            listeners.count += 1
            register(&listeners, listeners.count)
            return listeners.count
        }
    }

    /// Ends all streams.
    func finish() {
        // Outside of the lock: ending a stream calls its `onTermination`.
        let (all, named) = listeners.withLock { listeners in
            listeners.isFinished = true
            return (Array(listeners.all.values), listeners.named.values.map(\.signal))
        }
        for continuation in all { continuation.finish() }
        for signal in named { signal.finish() }
    }
}

extension KeyValueChange {
    fileprivate var isEmpty: Bool { keys.isEmpty && sets.isEmpty && counters.isEmpty }

    fileprivate mutating func insert(_ name: KeyValueName) {
        switch name.kind {
        case .value: keys.insert(name.name)
        case .set: sets.insert(name.name)
        case .counter: counters.insert(name.name)
        }
    }

    fileprivate func concerns(_ name: KeyValueName) -> Bool {
        if reason == .containerChange { return true }
        return switch name.kind {
        case .value: keys.contains(name.name)
        case .set: sets.contains(name.name)
        case .counter: counters.contains(name.name)
        }
    }
}
