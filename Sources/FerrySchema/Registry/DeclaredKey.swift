import FerryCore
import FerrySQL

/// A foreign key of the schema by names, for use outside of a single database.
package struct DeclaredKey: Hashable, Sendable {
    @ComparedByBytes package var child: String
    /// The names of both tables in the database.
    @ComparedByBytes package var localChild: String
    @ComparedByBytes package var localParent: String
    @ComparedByBytes package var columns: [String]
    /// The names under which `columns` travel.
    @ComparedByBytes package var travellingColumns: [String]
    @ComparedByBytes package var parent: String
    /// In the order of `columns`.
    @ComparedByBytes package var parentColumns: [String]
    /// The collations by which SQLite compares `parentColumns`.
    @ComparedByBytes package var collations: [String]
    /// The columns of the child's primary key.
    @ComparedByBytes package var childKey: [String]

    /// The target of the policy that makes this key a plain reference: `reference:song.album_id=album`.
    ///
    /// The text is the same on every device: ASCII letters fold, as in names. The text is compared and never parsed,
    /// because names may hold any character.
    package var target: String {
        foldedText("\(Self.prefix)\(child).\(travellingColumns.joined(separator: ","))=\(parent)")
    }

    package static let prefix = "reference:"
    /// The policy's word after data broke the foreign key, and after a person named the foreign key. Any word makes the
    /// key a plain reference.
    package static let brokenWord = "broken"
    package static let namedWord = "named"

    /// The condition for a row of `child` without a parent row, as in `PRAGMA foreign_key_check`. NULL refers to
    /// nothing. Values are compared with the parent column's affinity and collation; unary plus removes the child's
    /// affinity. https://www.sqlite.org/datatype3.html#comparison_expressions
    package var isBroken: String {
        let present = columns.map { "child.\(quoted($0)) IS NOT NULL" }
        let equal = columns.indices.map { place in
            "parent.\(quoted(parentColumns[place])) = +child.\(quoted(columns[place])) COLLATE \(quoted(collations[place]))"
        }
        return """
            \(present.joined(separator: " AND ")) AND NOT EXISTS (
            SELECT 1 FROM main.\(quoted(localParent)) AS parent WHERE \(equal.joined(separator: " AND ")))
            """
    }

    /// Counts the rows without a parent row.
    /// - Parameters:
    ///   - keyless: true for the local rows with a NULL in their key, false for all remaining rows.
    ///   - limit: the count stops here.
    package func brokenRows(_ connection: SQLConnection, keyless: Bool = false, limit: Int = -1) throws -> Int {
        let isKeyless = (["FALSE"] + childKey.map { "child.\(quoted($0)) IS NULL" }).joined(separator: " OR ")
        return try connection.count(
            "SELECT count(*) FROM (SELECT 1 FROM main.\(quoted(localChild)) AS child "
                + "WHERE \(isBroken) AND \(keyless ? "" : "NOT ")(\(isKeyless)) LIMIT \(limit))")
    }
}

extension Registry {
    /// The foreign keys of travelling tables followed by the rules, in the order of their texts.
    package var declaredKeys: [DeclaredKey] {
        let keys = tables.values.flatMap { $0.foreignKeys.filter { $0.action != .none }.compactMap(\.declared) }
        return keys.sorted { textOrder($0.target, $1.target) }
    }
}

extension Schema {
    /// Resolves a foreign key's parent columns by name; `nil` for a key unusable in SQLite (`flaw` gives the reason).
    package func declaredKey(_ key: SchemaForeignKey, of child: SchemaTable) -> DeclaredKey? {
        guard flaw(of: key, in: child) == nil, let parent = table(key.parentTable) else { return nil }
        let names = key.parentColumns.isEmpty ? parent.primaryKey : key.parentColumns
        // SQLite finds an unnamed parent key by the primary key's index. The index may have its own collations.
        let isKey = Self.areSame(names, parent.primaryKey)
        let collations = names.map { name in
            let place = isKey ? parent.primaryKey.firstIndex { equalNames($0, name) } : nil
            return place.flatMap { $0 < parent.keyCollations.count ? parent.keyCollations[$0] : nil }
                ?? parent.column(name)?.collation ?? "BINARY"
        }
        return DeclaredKey(
            child: child.name, localChild: child.localName, localParent: parent.localName, columns: key.columns,
            travellingColumns: key.columns.map(child.travellingName), parent: parent.name,
            parentColumns: names.map { parent.column($0)?.name ?? $0 }, collations: collations,
            childKey: child.primaryKey)
    }

    /// Explains why SQLite cannot enforce a foreign key: no parent table, or no unique parent columns. SQLite calls
    /// this a “foreign key mismatch”. https://www.sqlite.org/foreignkeys.html#fk_indexes
    /// - Returns: `nil` for a working foreign key; a part of a sentence about the key otherwise.
    package func flaw(of key: SchemaForeignKey, in child: SchemaTable) -> String? {
        guard let parent = table(key.parentTable) else { return "there is no table “\(key.parentTable)”" }
        guard parent.kind == .table else { return "“\(parent.localName)” is no ordinary table" }
        let names = key.parentColumns.isEmpty ? parent.primaryKey : key.parentColumns
        if names.isEmpty { return "“\(parent.localName)” has no primary key" }
        guard names.count == key.columns.count else {
            return "it has \(key.columns.count) columns and the key of “\(parent.localName)” has \(names.count)"
        }
        if let missing = names.first(where: { parent.column($0) == nil }) {
            return "“\(parent.localName)” has no column “\(missing)”"
        }
        let isNamedAsItIs =
            key.parentColumns.isEmpty
            || zip(parent.primaryKey, parent.keyCollations).allSatisfy { name, collation in
                parent.column(name).map { equalNames($0.collation, collation) } ?? false
            }
        if Self.areSame(names, parent.primaryKey), isNamedAsItIs {
            // SQLite looks up integer keys by integers alone, and a REAL column holds none.
            let isReal =
                parent.isIntegerKey && !parent.isWithoutRowID && child.column(key.columns[0])?.affinity == .real
            return isReal ? "“\(key.columns[0])” holds reals, and the keys of “\(parent.localName)” are integers" : nil
        }
        let isUnique = parent.uniqueIndexes.contains { index in
            index.condition == nil && Self.areSame(names, index.terms.compactMap(\.column))
                && index.terms.allSatisfy { term in
                    term.column.flatMap { parent.column($0) }.map { equalNames($0.collation, term.collation) } ?? false
                }
        }
        return isUnique ? nil : "\(names.joined(separator: ", ")) of “\(parent.localName)” is not unique"
    }

    /// The generated column from or to which a foreign key leads; `nil` without one. Generated columns never travel, so no rule follows
    /// such a foreign key.
    package func generatedColumn(of key: SchemaForeignKey, in child: SchemaTable) -> SchemaColumn? {
        let columns = key.columns.compactMap { child.column($0) }
        let parent = table(key.parentTable)
        return (columns + key.parentColumns.compactMap { parent?.column($0) }).first(where: \.isGenerated)
    }

    private static func areSame(_ left: [String], _ right: [String]) -> Bool {
        left.count == right.count && left.allSatisfy { name in right.contains { equalNames($0, name) } }
    }
}
