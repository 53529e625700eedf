import FerryCore
import FerryMerge

/// The policies of a store: those that people set, on whatever device (`ferry_policy`, a table that travels), and those
/// that state and rows are in line with (`ferry_policy_applied`). They differ from the moment of a write until the pass
/// that takes it up.
struct PolicyList {
    static let table = "ferry_policy"

    let connection: SQLConnection

    init(_ connection: SQLConnection) { self.connection = connection }

    /// By target; whatever a row holds that is no text, nobody can apply.
    func wanted() throws -> [String: String] { try read(Self.table) }
    func applied() throws -> [String: String] { try read("ferry_policy_applied") }

    /// What state and rows are in line with once this process has taken up what is wanted. A policy that it cannot apply is
    /// marked, so that it is taken up again by one that can; what such a one did before stays done.
    func target(_ hooks: MergeHooks) throws -> [String: String] {
        let applied = try applied()
        var policies: [String: String] = [:]
        for (text, word) in try wanted() {
            let isKnown = PolicyTarget(text: text).map { PolicySetting($0, word).isKnown(hooks) } ?? true
            policies[text] = isKnown || applied[text] == word ? word : Self.unknownMark + word
        }
        return policies
    }

    private static let unknownMark = "?"

    /// The word of an applied policy without its mark.
    static func word(_ applied: String) -> String {
        applied.hasPrefix(unknownMark) ? String(applied.dropFirst(unknownMark.count)) : applied
    }

    private func read(_ table: String) throws -> [String: String] {
        var policies: [String: String] = [:]
        try connection.forEachRow("SELECT target, policy FROM \(table)") { policies[$0.string(0)] = $0.string(1) }
        return policies
    }

    func apply(_ policies: [String: String]) throws {
        try connection.execute("DELETE FROM ferry_policy_applied")
        for (target, policy) in policies {
            try connection.execute("INSERT INTO ferry_policy_applied VALUES (?, ?)", .text(target), .text(policy))
        }
        let meta = StoreMeta(connection: connection)
        try meta.set(.policies, (meta.integer(.policies) ?? 0) + 1)
    }
}

extension Registry {
    /// Gives tables, indexes and columns the policies that are set for them.
    mutating func take(_ policies: [String: String]) {
        for (text, word) in policies.sorted(by: { $0.key < $1.key }) {
            guard let target = PolicyTarget(text: text) else { continue }
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
                guard let number = table.columnID(column), table.objectionToPolicy(of: number) == nil,
                    let policy = ColumnPolicy(word: setting.word)
                else { continue }
                table.columns[number].policy = policy
                table.hasColumnPolicies = table.columns.contains { $0.policy != .lastWriterWins }
            }
        }
    }
}

extension TrackedTable {
    /// Why a column's values merge by the rules for keys and references alone; `nil` where a policy can be set.
    func objectionToPolicy(of column: Int) -> String? {
        if keyColumnIDs.contains(column) { return "is part of the key, which identifies the row" }
        if columns[column].reference != nil || foreignKeys.contains(where: { $0.columns.contains(column) }) {
            return "refers to another table"
        }
        return nil
    }

    /// The place of a UNIQUE index, by its name or by table and columns.
    func uniqueIndex(named name: String) -> Int? {
        let wanted = Self.spaceless(name)
        return uniqueIndexes.indices.first {
            foldedName(uniqueIndexes[$0].name) == foldedName(name) || columnName(of: uniqueIndexes[$0]) == wanted
        }
    }

    /// A name for a UNIQUE constraint that has none: `song(isrc)`.
    func columnName(of index: TrackedUniqueIndex) -> String {
        let terms = index.terms.map { term in term.column.map { columns[$0].name } ?? term.expression ?? "" }
        return Self.spaceless("\(name)(\(terms.joined(separator: ",")))")
    }

    private static func spaceless(_ name: String) -> String { foldedName(String(name.filter { $0 != " " })) }

    /// The first policy of the table's that this process cannot apply; `nil` where it can apply all.
    func unknownPolicy(_ hooks: MergeHooks) -> PolicySetting? { policies.first { !$0.isKnown(hooks) } }
}

extension PolicySetting {
    /// Whether this process can apply it: it knows the word, and has the hook.
    func isKnown(_ hooks: MergeHooks) -> Bool {
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
