import FerryStore

/// Following changes. Streams end with the store.
extension KeyValueStore {
    /// Others' changes from now on, without this store's own calls. Every call makes a stream of its own. Nothing is
    /// missed while nobody reads the stream, so read the stream or let it go.
    public var externalChanges: AsyncStream<KeyValueChange> { broadcast.changes() }

    /// The value of a key now and after every change, whoever makes the change; `nil` without a value. A slow reader
    /// gets the newest value only. A change by SQL is told once the engine has sent it.
    public func values(forKey key: String) -> AsyncStream<KeyValue?> {
        let name = KeyValueName(.value, Self.composed(key))
        return stream(of: name) { try $0.value(forKey: name.name) }
    }

    /// A counter now and after every change, as `values(forKey:)`.
    public func values(ofCounter counter: String) -> AsyncStream<Int64> {
        let name = KeyValueName(.counter, Self.composed(counter))
        return stream(of: name) { try $0.counter(name.name) }
    }

    /// The members of a set now and after every change by a `KeyValueStore` of any process, or by another device. Changes by SQL on this device
    /// are told with the next such change. For a very large set with many changes prefer `externalChanges` and `contains`.
    public func members(followingSet set: String) -> AsyncStream<Set<String>> {
        let name = KeyValueName(.set, Self.composed(set))
        return stream(of: name) { try $0.members(ofSet: name.name) }
    }

    private func stream<Value: Equatable & Sendable>(
        of name: KeyValueName, _ read: @escaping @Sendable (KeyValueStore) throws -> Value
    ) -> AsyncStream<Value> {
        let signals = broadcast.signals(of: name)
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task.detached { [weak self] in
            var last: Value?
            for await _ in signals {
                guard let self else { break }
                // The loss of the error is harmless: the next check signals again, and a later error comes from there.
                guard let value = try? read(self) else {
                    self.broadcast.recordUnread(name)
                    continue
                }
                if value == last { continue }
                last = value
                continuation.yield(value)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
