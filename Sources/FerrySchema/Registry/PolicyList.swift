import FerryCore
import FerryMerge
import FerrySQL

/// The policies of a store: the wanted policies, set by people on any device (`ferry_policy`, a travelling table), and
/// the applied policies (`ferry_policy_applied`). State and rows conform to the applied policies. The two differ from a
/// write until the pass applying the write.
package struct PolicyList {
    package static let table = OwnNames.policyTable

    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// Wanted policies by the exact key of the target. A value other than a text cannot be applied.
    package func wanted() throws -> [String: String] { try read(Self.table) }
    package func applied() throws -> [String: String] { try read("ferry_policy_applied") }

    /// Computes the policies applied after this process has adopted the wanted policies. A policy impossible for this
    /// process is marked, so a capable process can adopt the policy later. Effects of an earlier adoption remain.
    package func target(_ hooks: MergeHooks) throws -> [String: String] {
        let applied = try applied()
        var policies: [String: String] = [:]
        for (text, word) in try wanted() {
            let isKnown = PolicyTarget(text: plainText(text)).map { PolicySetting($0, word).isKnown(hooks) } ?? true
            policies[text] =
                isKnown || applied[text].map { equalBytes($0, word) } ?? false ? word : Self.unknownMark + word
        }
        return policies
    }

    private static let unknownMark = "?"

    /// The word of an applied policy, without the mark.
    package static func word(_ applied: String) -> String {
        applied.hasPrefix(unknownMark) ? String(applied.dropFirst(unknownMark.count)) : applied
    }

    private func read(_ table: String) throws -> [String: String] {
        var policies: [String: String] = [:]
        try connection.forEachRow("SELECT target, policy FROM \(table)") {
            policies[exactKey($0.string(0))] = $0.string(1)
        }
        return policies
    }

    /// - Parameter policies: by the exact key of the target.
    package func apply(_ policies: [String: String]) throws {
        try connection.execute("DELETE FROM ferry_policy_applied")
        for (target, policy) in policies {
            try connection.execute(
                "INSERT INTO ferry_policy_applied VALUES (?, ?)", .text(plainText(target)), .text(policy))
        }
        let meta = MetaTable(connection: connection)
        try meta.set(.policies, (meta.integer(.policies) ?? 0) + 1)
    }
}

extension Registry {
    /// Assigns the policies to tables, indexes and columns.
    /// - Parameter policies: by the exact key of the target.
    package mutating func take(_ policies: [String: String]) {
        for (text, word) in policies.sorted(by: { $0.key < $1.key }) {
            guard let target = PolicyTarget(text: plainText(text)) else { continue }
            take(PolicySetting(target, PolicyList.word(word)))
        }
    }

    private func take(_ setting: PolicySetting) {
        switch setting.target {
        case .table(let name):
            for table in tables(named: name) {
                table.policies.append(setting)
                table.deletionWins = setting.word == PolicyWord.deleteWins
            }
        case .index(let name):
            for table in tables.values {
                guard let place = table.uniqueIndex(named: name) else { continue }
                table.policies.append(setting)
                if setting.word == PolicyWord.hideLoser { table.uniqueIndexes[place].hidesLosers = true }
            }
        case .column(let name, let column):
            for table in tables(named: name) {
                table.policies.append(setting)
                guard let number = table.column(ofPolicy: column), table.objectionToPolicy(of: number) == nil,
                    let policy = ColumnPolicy(word: setting.word)
                else { continue }
                table.columns[number].policy = policy
                table.hasColumnPolicies = table.columns.contains { $0.policy != .lastWriterWins }
            }
        }
    }
}

extension TrackedTable {
    /// Explains why a column allows no policy: keys and references merge by their own rules. `nil` if a policy can be
    /// set.
    package func objectionToPolicy(of column: Int) -> String? {
        if keyColumnIDs.contains(column) { return "is part of the key, which identifies the row" }
        if columns[column].reference != nil || foreignKeys.contains(where: { $0.columns.contains(column) }) {
            return "refers to another table"
        }
        return nil
    }

    /// The column that a policy means by its travelling name.
    package func column(ofPolicy name: String) -> Int? {
        localColumns.first { equalNames($0.baseName, name) }?.id ?? columnID(travelling: name)
    }

    /// The position of a UNIQUE index, by name or by table and columns.
    package func uniqueIndex(named name: String) -> Int? {
        let wanted = Self.spaceless(name)
        return uniqueIndexes.indices.first { equalNames(uniqueIndexes[$0].name, name) }
            ?? uniqueIndexes.indices.first { equalBytes(columnName(of: uniqueIndexes[$0]), wanted) }
            ?? uniqueIndexes.indices.first { equalBytes(localName(of: uniqueIndexes[$0]), wanted) }
    }

    /// Names an unnamed UNIQUE constraint by the travelling names: `song(isrc)`.
    package func columnName(of index: TrackedUniqueIndex) -> String {
        Self.spaceless("\(name)(\(terms(of: index, \.baseName)))")
    }

    /// Names an unnamed UNIQUE constraint by the names in the database.
    package func localName(of index: TrackedUniqueIndex) -> String {
        Self.spaceless("\(localName)(\(terms(of: index, \.name)))")
    }

    private func terms(of index: TrackedUniqueIndex, _ name: KeyPath<TrackedColumn, String>) -> String {
        index.terms.map { term in term.column.map { columns[$0][keyPath: name] } ?? term.expression ?? "" }
            .joined(separator: ",")
    }

    private static func spaceless(_ name: String) -> String {
        foldedText(String(String.UnicodeScalarView(name.unicodeScalars.filter { $0 != " " })))
    }

    /// The table's first policy this process cannot apply; `nil` if all can be applied.
    package func unknownPolicy(_ hooks: MergeHooks) -> PolicySetting? { policies.first { !$0.isKnown(hooks) } }
}

extension PolicySetting {
    /// True if this process can apply the policy: the word is known, and a hook is registered.
    package func isKnown(_ hooks: MergeHooks) -> Bool {
        switch target {
        case .table: return word == PolicyWord.deleteWins
        case .index: return word == PolicyWord.hideLoser
        case .column:
            guard let policy = ColumnPolicy(word: word) else { return false }
            if case .hook(let name) = policy { return hooks[name] != nil }
            return true
        }
    }
}
