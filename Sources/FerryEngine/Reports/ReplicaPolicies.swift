import FerryCore
import FerryStore

extension Replica {
    /// The policies that are set, by whatever device, and whether this process can apply each.
    public func policies() throws -> [StoredPolicy] { try store.policies() }

    /// Sets policies of tables, indexes and columns. What is written from now on merges by them on this device; the next
    /// sync tells the others.
    /// - Throws: `invalidArgument` where a policy makes no sense for what it is about; nothing is changed then. `busy`.
    public func setPolicies(_ settings: [PolicySetting]) throws {
        try lock.withLock {
            try store.setPolicies(settings)
            try takeUpPolicies()
        }
    }

    /// Takes policies off: the last writer wins again, and rows with one UNIQUE value are joined.
    /// - Returns: the number of policies that were set.
    public func removePolicies(_ targets: [PolicyTarget]) throws -> Int {
        try lock.withLock {
            let removed = try store.removePolicies(targets)
            try takeUpPolicies()
            return removed
        }
    }

    /// Sets policies that an app declares in its code, once: where a person, or an app of another version, has set
    /// another since, that stays until the declaration changes.
    /// - Throws: as `setPolicies`.
    public func declarePolicies(_ settings: [PolicySetting]) throws {
        try lock.withLock {
            try store.declarePolicies(settings)
            try takeUpPolicies()
        }
    }

    /// Packs what was written before under the former policies. The container need not be there.
    private func takeUpPolicies() throws {
        // A copy packs nothing before it has a device ID of its own, for which the container is needed.
        if try isCopied() { return }
        if try store.needsPass() { _ = try store.pass(replaying: [], seal: sealer(for: identity)) }
    }
}
