import FerryCore
import FerrySQL

/// The foreign keys of the schema counted as plain references in the whole container. Some device's data broke them, or
/// a person named them (Docs/Rules.md, "Foreign keys that the data breaks").
///
/// They travel like policies (`PolicyList`), and are never removed.
package struct PlainReferenceList {
    package let connection: SQLConnection

    package init(_ connection: SQLConnection) { self.connection = connection }

    /// The exact keys of the applied targets (`DeclaredKey.target`): state and rows conform to them.
    package func applied() throws -> Set<String> { Self.targets(in: try PolicyList(connection).applied()) }

    package static func targets(in policies: [String: String]) -> Set<String> {
        Set(policies.keys.filter { $0.hasPrefix(DeclaredKey.prefix) })
    }

    /// The exact keys of the targets set by changesets.
    package static func targets(in changesets: [Changeset]) -> Set<String> {
        let prefix = Array(DeclaredKey.prefix.utf8)
        var found: Set<String> = []
        for changeset in changesets {
            for changes in changeset.tables where equalNames(changes.name, PolicyList.table) {
                for value in changes.values {
                    guard case .text(let bytes) = value, bytes.starts(with: prefix) else { continue }
                    found.insert(exactKey(String(decoding: bytes, as: UTF8.self)))
                }
            }
        }
        return found
    }

    /// Adds foreign keys, as an ordinary change travelling with the next changeset. Sessions must be made anew
    /// afterward.
    /// - Parameter word: the reason.
    package func enter(_ keys: [DeclaredKey], as word: String = DeclaredKey.brokenWord) throws {
        for target in Set(keys.map { exactKey($0.target) }).sorted().map(plainText) {
            let text = FieldValue.text(ArraySlice(target.utf8))
            // The target may be set already, for the next pass to apply.
            if try connection.count("SELECT EXISTS(SELECT 1 FROM ferry_policy WHERE target = ?)", text) == 0 {
                try connection.execute("INSERT INTO ferry_policy VALUES (?, ?)", text, .text(word))
                // Triggers are off.
                if let list = try RegisteredTables(connection).generations(of: PolicyList.table).first {
                    try PendingTable(connection).note(.insert, in: list.number, [text])
                }
            }
            try connection.execute(
                "INSERT OR IGNORE INTO ferry_policy_applied VALUES (?, ?)", text, .text(word))
        }
        let meta = MetaTable(connection: connection)
        try meta.set(.policies, (meta.integer(.policies) ?? 0) + 1)
    }
}
