/// External changes: what others did to the key-value store.
public struct KeyValueChange: Hashable, Sendable {
    public enum Reason: String, Hashable, Sendable {
        /// The first changes that ever came from other devices.
        case initialSync
        /// Other devices changed something.
        case remoteChange
        /// Another process on this device, or another `KeyValueStore` of this one, changed something.
        case localChange
        /// What other devices added goes beyond this store's limit of keys: it is kept, and no key can be added until
        /// some are removed.
        case quotaViolation
        /// The database belongs to another container now, or to none: everything may be different.
        case containerChange
    }

    public var reason: Reason
    /// The keys whose values were set or removed.
    public var keys: Set<String> = []
    /// The sets of which members were added or discarded.
    public var sets: Set<String> = []
    /// The counters that were added to.
    public var counters: Set<String> = []
}
