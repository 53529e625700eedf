/// External changes: changes of others to the key-value store.
public struct KeyValueChange: Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable {
        /// The first changes ever from other devices.
        case initialSync
        /// Other devices changed something.
        case remoteChange
        /// Another process on this device, or another `KeyValueStore` of this process, changed something.
        case localChange
        /// Other devices' additions go beyond this store's limit of keys. They are kept, and no key can be added until
        /// some are removed.
        case quotaViolation
        /// The database belongs to another container now, or to none: everything may be different.
        case containerChange
    }

    public var reason: Reason
    /// The keys whose values were set or removed.
    public var keys: Set<String> = []
    /// The sets with added or discarded members.
    public var sets: Set<String> = []
    /// The counters with additions.
    public var counters: Set<String> = []
}
