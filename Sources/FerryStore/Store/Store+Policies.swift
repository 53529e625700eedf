import FerryCore
import FerryMerge
import FerrySchema

extension Store {
    /// Registers the app's function for columns under the policy `hook:NAME`. Call before the first pass. Until then
    /// nothing is replayed for tables with such a column.
    /// - Parameter function: pure, and the same on every device.
    public func registerMergeHook(_ name: String, _ function: @escaping MergeHook) {
        hooks.register(name, function)
    }

    /// The policies set by any device, in the order of their targets. (`plainReferences` lists the plain references
    /// travelling with them.)
    package func policies() throws -> [StoredPolicy] { try readAccess { try PolicySettings($0).all() } }

    /// Sets policies, as an ordinary change that travels; the next pass applies them here.
    ///
    /// Setting an existing policy writes nothing.
    /// - Throws: `invalidArgument` for a policy unsuitable for its target; nothing is changed then.
    package func setPolicies(_ settings: [PolicySetting]) throws {
        let rows = try readAccess { try PolicySettings($0).rows(settings) }
        try write { try PolicySettings.set(rows, $0) }
    }

    /// Removes policies, as an ordinary change that travels; the next pass applies the removal here.
    /// - Returns: the number of removed policies.
    package func removePolicies(_ targets: [PolicyTarget]) throws -> Int {
        // Policies under a different form of the name are removed too.
        let names = try readAccess { PolicySettings($0).names(targets) }
        return try write { try PolicySettings.remove(names, $0) }
    }

    /// Sets policies declared in the app's code, if the declaration changed since the last time.
    /// - Throws: as `setPolicies`.
    package func declarePolicies(_ settings: [PolicySetting]) throws {
        let declared = Dictionary(settings.map { (exactKey($0.target.text), $0.word) }) { $1 }
        let known = try read {
            try MetaTable(connection: $0).json(.declaredPolicies, as: [String: String].self)?.byExactKeys
        }
        if let known, [String: String].areEqualBytes(known, declared) { return }
        try setPolicies(
            settings.filter { setting in
                !(known?[exactKey(setting.target.text)].map { equalBytes($0, setting.word) } ?? false)
            })
        try note { try MetaTable(connection: $0).set(.declaredPolicies, json: declared) }
    }

    /// The devices whose changesets cannot be replayed: the content is inadmissible, or changes a table under an
    /// unknown policy. Problems found only by replaying are not included.
    package func refusals(of changesets: [Changeset]) throws -> [DeviceID: FerryError] {
        var gate = PolicyGate(changesets)
        gate.withdrawInadmissible(ChangesetAdmission(clock))
        return try readAccess { access in
            _ = try access.withdrawWaiting(&gate)
            return gate.refused
        }
    }
}
