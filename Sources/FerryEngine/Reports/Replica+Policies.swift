import FerryCore
import FerryStore

extension Replica {
    /// Returns the policies set by any device, and whether this process can apply each policy.
    package func policies() throws -> [StoredPolicy] { try store.policies() }

    /// Sets policies of tables, indexes and columns. Later writes on this device merge by them; the next sync announces
    /// them.
    /// - Throws: `invalidArgument` if a policy makes no sense for its target; nothing is changed then. `busy`.
    package func setPolicies(_ settings: [PolicySetting]) throws {
        try lock.withLock {
            try store.setPolicies(settings)
            try applyPolicies()
        }
    }

    /// Removes policies: the last writer wins again, and rows with the same UNIQUE value are unified.
    /// - Returns: the number of removed policies.
    package func removePolicies(_ targets: [PolicyTarget]) throws -> Int {
        try lock.withLock {
            let removed = try store.removePolicies(targets)
            try applyPolicies()
            return removed
        }
    }

    /// Sets policies declared in an app's code, once. If a person, or a different version of the app, has set a
    /// different policy since, this policy stays until the declaration changes.
    /// - Throws: as `setPolicies`.
    public func declarePolicies(_ settings: [PolicySetting]) throws {
        try lock.withLock {
            try store.declarePolicies(settings)
            try applyPolicies()
        }
    }

    /// Packs earlier writes under the former policies. The container is not needed.
    private func applyPolicies() throws {
        // A copy packs nothing before it has a device ID of its own, for which the container is needed.
        if try isCopied() { return }
        if try store.needsPass() { _ = try store.pass(replaying: [], encode: segmentEncoding(for: identity)) }
    }
}
