import FerryCore
import FerryMerge
import FerrySQL
import FerrySchema
import Foundation

/// A policy, and whether this process can apply the policy.
package struct StoredPolicy: Hashable, Sendable {
    /// The text of `PolicyTarget.text`; a newer version of Ferry may use a new form.
    @ComparedByBytes package var target: String
    @ComparedByBytes package var word: String
    /// False for an unknown word or an unregistered hook: then nothing of the table is replayed.
    package var isApplied: Bool
}

/// Reads policies, and writes them as ordinary changes that travel.
struct PolicySettings {
    private let access: StoreAccess

    init(_ access: StoreAccess) { self.access = access }

    /// The policies set, in the order of targets, without plain references. Tables and columns have their names in this
    /// database.
    func all() throws -> [StoredPolicy] {
        let wanted = try PolicyList(access.connection).wanted().filter { !$0.key.hasPrefix(DeclaredKey.prefix) }
        return wanted.sorted { $0.key < $1.key }.map { key, word in
            let target = plainText(key)
            let setting = PolicyTarget(text: target).map { PolicySetting($0, word) }
            return StoredPolicy(
                target: localText(of: target), word: word, isApplied: setting?.isKnown(access.hooks) ?? false)
        }
    }

    /// The rows to write for settings: the text of each target, and the word.
    /// - Throws: `invalidArgument` if a policy makes no sense for its target.
    func rows(_ settings: [PolicySetting]) throws -> [(target: String, word: String)] {
        try settings.map { setting in
            if let objection = try objection(to: setting) { throw FerryError(.invalidArgument, objection) }
            return (canonicalText(of: setting.target), setting.word)
        }
    }

    /// The exact keys of the possible texts of targets.
    func names(_ targets: [PolicyTarget]) -> Set<String> {
        Set((targets.map(canonicalText) + targets.map(\.text)).map(exactKey))
    }

    static func set(_ rows: [(target: String, word: String)], _ connection: SQLConnection) throws {
        for (target, word) in rows {
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

    /// - Returns: the number of removed policies.
    static func remove(_ names: Set<String>, _ connection: SQLConnection) throws -> Int {
        var removed = 0
        for target in names.map(plainText) {
            removed += try connection.count("SELECT count(*) FROM ferry_policy WHERE target = ?", .text(target))
            try connection.execute("DELETE FROM ferry_policy WHERE target = ?", .text(target))
        }
        return removed
    }

    /// Names a table as the table travels, and an unnamed UNIQUE constraint by table and columns: the same on every device.
    private func canonicalText(of target: PolicyTarget) -> String {
        switch target {
        case .table(let name): return PolicyTarget.table(table(name)?.name ?? name).text
        case .column(let name, let column):
            let known = table(name)
            let number = known?.columnID(column)
            let travelling = number.flatMap { known?.columns[$0].baseName } ?? column
            return PolicyTarget.column(table: known?.name ?? name, column: travelling).text
        case .index(let name): return text(ofIndex: name)
        }
    }

    /// A policy's target with the names of this database.
    private func localText(of text: String) -> String {
        switch PolicyTarget(text: text) {
        case .table(let name)?:
            return PolicyTarget.table(access.registry.table(named: name)?.localName ?? name).text
        case .column(let name, let column)?:
            guard let table = access.registry.table(named: name) else { return text }
            let number = table.column(ofPolicy: column)
            let local = number.flatMap { table.columns[$0].isLocal ? table.columns[$0].name : nil }
            return PolicyTarget.column(table: table.localName, column: local ?? column).text
        case .index(let name)?:
            for table in access.registry.tables.values where table.isLocal {
                guard let place = table.uniqueIndex(named: name), !equalBytes(table.uniqueIndexes[place].name, name)
                else {
                    continue
                }
                return PolicyTarget.index(table.localName(of: table.uniqueIndexes[place])).text
            }
            return text
        case nil: return text
        }
    }

    private func text(ofIndex name: String) -> String {
        for table in access.registry.tables.values {
            guard let place = table.uniqueIndex(named: name) else { continue }
            let index = table.uniqueIndexes[place]
            let isNameless = index.name.hasPrefix("sqlite_autoindex_")
            return PolicyTarget.index(isNameless ? table.columnName(of: index) : index.name).text
        }
        return PolicyTarget.index(name).text
    }

    /// Explains why a policy cannot be set; `nil` if possible.
    private func objection(to setting: PolicySetting) throws -> String? {
        switch setting.target {
        case .table(let name):
            guard table(name) != nil else { return noTable(name) }
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
            guard let table = table(name) else { return noTable(name) }
            return try objection(to: setting.word, column, table)
        }
    }

    private func objection(
        to word: String, _ name: String, _ table: TrackedTable
    ) throws -> String? {
        let full = "“\(table.localName).\(name)”"
        if table.generatedColumns.contains(where: { equalNames($0.name, name) }) {
            return "The column \(full) is generated: every device computes it from the others."
        }
        if table.isMapped, let key = table.keyColumns.first, equalNames(key, name) {
            return "The column \(full) is the key, which identifies the row; keys have no policy."
        }
        guard let number = table.columnID(name), table.columns[number].isLocal else {
            let near = NearName.question(name, among: table.columns.filter(\.isLocal).map(\.name))
            return "The table “\(table.localName)” has no column “\(name)”."
                + (near.isEmpty ? " Check the spelling." : near)
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

    private func table(_ name: String) -> TrackedTable? {
        access.registry.table(called: name).flatMap {
            $0.isLocal && !OwnNames.mayTravel($0.name) ? $0 : nil
        }
    }

    private func noTable(_ name: String) -> String {
        let names = access.registry.tables.values.map(\.localName).filter { !isFerryName($0) }.sorted()
        let near = NearName.question(name, among: names)
        return "No table “\(name)” travels from this database."
            + (near.isEmpty ? " Check the spelling; `ferry status` lists the tables." : near)
    }
}
