import FerryCore

/// Finds the table that a foreign key means whose parent is gone.
///
/// A widespread migration renames a table out of the way, makes the table anew, copies the rows, and drops the renamed one. SQLite's RENAME
/// TO takes the foreign keys of other tables along (https://www.sqlite.org/lang_altertable.html), so these name a table that is gone: the
/// defect of Django's `"note__old"`. SQLite enforces such a key no more. The app goes on as before, and so do the references.
package enum VanishedParent {
    /// What such tools put before and after a name, in lower case.
    private static let prefixes = [
        "temporary_", "temp_", "tmp_", "old_", "_old_", "_temp_", "_tmp_", "backup_", "_", "__",
    ]
    private static let suffixes = [
        "_old", "__old", "_temp", "_tmp", "_temporary", "_backup", "_bak", "_orig", "_original", "_copy", "_before",
        "_old_old",
    ]

    /// The table that has the place of a missing one.
    /// - Parameters:
    ///   - missing: a name that no table or view has.
    ///   - columns: the parent's columns that the key names; empty for the primary key.
    /// - Returns: `nil` without any, and with several.
    package static func heir(of missing: String, _ columns: [String], among tables: [SchemaTable]) -> String? {
        let missing = foldedName(missing)
        let found = tables.filter { table in
            guard table.kind == .table, isFormerName(missing, of: foldedName(table.localName)) else { return false }
            return columns.isEmpty ? !table.primaryKey.isEmpty : columns.allSatisfy { table.column($0) != nil }
        }
        return found.count == 1 ? found[0].localName : nil
    }

    /// True for a name that tools give to a table which is in the way: `note__old`, `temporary_note`, `_note_old_20240131`.
    /// - Parameters:
    ///   - missing: a name in lower case.
    ///   - name: the table's name, in lower case.
    package static func isFormerName(_ missing: String, of name: String) -> Bool {
        // A date or a number may stand at the end.
        let undated = String(missing.reversed().drop { $0.isASCII && $0.isNumber || $0 == "_" }.reversed())
        return ([""] + prefixes).contains { prefix in
            ([""] + suffixes).contains { suffix in
                guard !prefix.isEmpty || !suffix.isEmpty else { return false }
                let former = prefix + name + suffix
                return missing == former || !suffix.isEmpty && undated == former
            }
        }
    }
}

extension [SchemaTable] {
    /// The tables with foreign keys that lead to the heirs of tables which are gone.
    func followingVanishedParents() -> [SchemaTable] {
        let present = Set(map { foldedName($0.localName) })
        func isGone(_ key: SchemaForeignKey) -> Bool { !present.contains(foldedName(key.parentTable)) }
        guard contains(where: { $0.foreignKeys.contains(where: isGone) }) else { return self }
        return map { table in
            var table = table
            for index in table.foreignKeys.indices where isGone(table.foreignKeys[index]) {
                let key = table.foreignKeys[index]
                if let heir = VanishedParent.heir(of: key.parentTable, key.parentColumns, among: self) {
                    table.foreignKeys[index].parentTable = heir
                    table.foreignKeys[index].hasVanishedParent = true
                }
            }
            return table
        }
    }
}
