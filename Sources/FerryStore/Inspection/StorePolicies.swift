import FerryCore
import FerryMerge
import Foundation

/// A policy, and whether this process can apply the policy.
public struct StoredPolicy: Hashable, Sendable {
    /// The text of `PolicyTarget.text`; a newer version of Ferry may use a new form.
    public var target: String
    public var word: String
    /// False for an unknown word or an unregistered hook: then nothing of the table is replayed.
    public var isApplied: Bool
}

extension Store {
    /// Registers the app's function for columns under the policy `hook:NAME`. Call before the first pass. Until then
    /// nothing is replayed for tables with such a column.
    /// - Parameter function: pure, and the same on every device.
    public func registerMergeHook(_ name: String, _ function: @escaping MergeHook) {
        hooks.register(name, function)
    }

    /// The policies set by any device, in the order of their targets. (`plainReferences` lists the plain references
    /// travelling with them.)
    public func policies() throws -> [StoredPolicy] {
        try readAccess { access in
            let wanted = try PolicyList(access.connection).wanted().filter { !$0.key.hasPrefix(DeclaredKey.prefix) }
            return wanted.sorted { $0.key < $1.key }.map { target, word in
                let setting = PolicyTarget(text: target).map { PolicySetting($0, word) }
                return StoredPolicy(target: target, word: word, isApplied: setting?.isKnown(hooks) ?? false)
            }
        }
    }

    /// Sets policies, as an ordinary change that travels; the next pass applies them here.
    ///
    /// Setting an existing policy writes nothing.
    /// - Throws: `invalidArgument` for a policy unsuitable for its target; nothing is changed then.
    public func setPolicies(_ settings: [PolicySetting]) throws {
        let named = try readAccess { access in
            try settings.map { setting -> (target: String, word: String) in
                if let objection = try Self.objection(to: setting, access) {
                    throw FerryError(.invalidArgument, objection)
                }
                return (Self.canonicalText(of: setting.target, access.registry), setting.word)
            }
        }
        try write { connection in
            for (target, word) in named {
                if word == ColumnPolicy.lastWriterWins.word {
                    try connection.execute("DELETE FROM ferry_policy WHERE target = ?", .text(target))
                    continue
                }
                try connection.execute(
                    """
                    INSERT INTO ferry_policy(target, policy) VALUES (?1, ?2)
                    ON CONFLICT(target) DO UPDATE SET policy = excluded.policy WHERE policy <> excluded.policy
                    """, .text(target), .text(word))
            }
        }
    }

    /// Removes policies, as an ordinary change that travels; the next pass applies the removal here.
    /// - Returns: the number of removed policies.
    public func removePolicies(_ targets: [PolicyTarget]) throws -> Int {
        let names = try readAccess { access in targets.map { Self.canonicalText(of: $0, access.registry) } }
        return try write { connection in
            var removed = 0
            // Policies under a different form of the name are removed too.
            for target in Set(names + targets.map(\.text)) {
                removed += try connection.count("SELECT count(*) FROM ferry_policy WHERE target = ?", .text(target))
                try connection.execute("DELETE FROM ferry_policy WHERE target = ?", .text(target))
            }
            return removed
        }
    }

    /// Sets policies declared in the app's code, if the declaration changed since the last time.
    /// - Throws: as `setPolicies`.
    public func declarePolicies(_ settings: [PolicySetting]) throws {
        let declared = Dictionary(settings.map { ($0.target.text, $0.word) }) { $1 }
        let known: [String: String]? = try read { try StoreMeta(connection: $0).json(.declaredPolicies) }
        if known == declared { return }
        try setPolicies(settings.filter { known?[$0.target.text] != $0.word })
        try note { try StoreMeta(connection: $0).set(.declaredPolicies, json: declared) }
    }

    /// The devices whose changesets cannot be replayed: the content is inadmissible, or changes a table under an
    /// unknown policy. Problems found only by replaying are not included.
    public func refusals(of changesets: [Changeset]) throws -> [DeviceID: FerryError] {
        try readAccess { access in
            var gate = PolicyGate(changesets)
            gate.withdrawInadmissible(ChangesetAdmission(clock))
            try gate.noteObstacles(access)
            gate.withdraw(access.registry, hooks)
            return gate.refused
        }
    }

    /// Names an unnamed UNIQUE constraint by table and columns, the same on every device.
    private static func canonicalText(of target: PolicyTarget, _ registry: Registry) -> String {
        guard case .index(let name) = target else { return target.text }
        for table in registry.tables.values {
            guard let place = table.uniqueIndex(named: name) else { continue }
            let index = table.uniqueIndexes[place]
            let isNameless = index.name.hasPrefix("sqlite_autoindex_")
            return PolicyTarget.index(isNameless ? table.columnName(of: index) : index.name).text
        }
        return target.text
    }

    /// Explains why a policy cannot be set; `nil` if possible.
    private static func objection(to setting: PolicySetting, _ access: StoreAccess) throws -> String? {
        switch setting.target {
        case .table(let name):
            guard table(name, access) != nil else { return noTable(name) }
            if setting.word == PolicyWord.deleteWins { return nil }
            return "A table's policy is “\(PolicyWord.deleteWins)”, not “\(setting.word)”. "
                + "A column is named with its table: “\(name).column”."
        case .index(let name):
            guard access.registry.tables.values.contains(where: { $0.isLocal && $0.uniqueIndex(named: name) != nil })
            else {
                return "No table that travels has a UNIQUE index “\(name)”. Name it as the schema does, or by its "
                    + "table and columns, as in “index:song(isrc)”."
            }
            return setting.word == PolicyWord.hideLoser
                ? nil : "An index's policy is “\(PolicyWord.hideLoser)”, not “\(setting.word)”."
        case .column(let name, let column):
            guard let table = table(name, access) else { return noTable(name) }
            return try objection(to: setting.word, column, table, access)
        }
    }

    private static func objection(
        to word: String, _ name: String, _ table: TrackedTable, _ access: StoreAccess
    ) throws -> String? {
        let full = "“\(table.name).\(name)”"
        if table.generatedColumns.contains(where: { equalNames($0.name, name) }) {
            return "The column \(full) is generated: every device computes it from the others."
        }
        if table.isMapped, let key = table.keyColumns.first, equalNames(key, name) {
            return "The column \(full) is the key, which identifies the row; keys have no policy."
        }
        guard let number = table.columnID(name), table.columns[number].isLocal else {
            return "The table “\(table.name)” has no column “\(name)”. Check the spelling."
        }
        if let objection = table.objectionToPolicy(of: number) {
            return "The column \(full) \(objection); such columns have no policy."
        }
        guard let policy = ColumnPolicy(word: word) else {
            return "There is no policy “\(word)” for a column. There are lastWriterWins, firstWriterWins, max, min, "
                + "counter, set and hook:NAME."
        }
        switch (policy, table.columns[number].affinity) {
        case (.counter, .text), (.counter, .real):
            return "A counter counts in integers, which the column \(full) does not keep as such. "
                + "Declare it INTEGER."
        case (.set, .integer), (.set, .real), (.set, .numeric):
            return "A set is a JSON array as text, which the column \(full) is not for. Declare it TEXT."
        default: return nil
        }
    }

    private static func table(_ name: String, _ access: StoreAccess) -> TrackedTable? {
        access.registry.table(named: name).flatMap {
            $0.isLocal && !SchemaReader.trackedOwnTables.contains($0.name) ? $0 : nil
        }
    }

    private static func noTable(_ name: String) -> String {
        "No table “\(name)” travels from this database. Check the spelling; `ferry status` lists the tables."
    }
}
