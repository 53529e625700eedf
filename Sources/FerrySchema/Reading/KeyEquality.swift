import FerryCore

/// Relates object IDs derived from a primary key to SQLite's equality of keys.
///
/// IDs travel, and must be the same on every device and with every version of Ferry. So IDs are derived from bytes by
/// the column's collation, if the collation is built into SQLite.
///
/// SQLite may call more keys equal than the IDs do: the constraint names a different collation, or the app has its own
/// collation. Then the key is claimed like a UNIQUE value, and objects with equal keys are a single row (Docs/Rules.md,
/// "What is equal").
package enum KeyEquality {
    /// The collations in every SQLite.
    package static let builtIn: Set<String> = ["BINARY", "NOCASE", "RTRIM"]

    /// The name of the key's claim in `TrackedTable.uniqueIndexes`; never the name of a schema's index.
    package static let indexName = "primary key"

    /// The collation under which values of a key's column derive the same ID.
    /// - Parameters:
    ///   - column: the column's own collation.
    ///   - key: the collation of the primary key for this column.
    package static func identityCollation(column: String, key: String) -> String {
        equalNames(column, key) && builtIn.contains(column) ? column : "BINARY"
    }

    /// The collations under which a table's key values derive the same ID, in key order, by the table's own schema.
    package static func identityCollations(of table: SchemaTable) -> [String] {
        zip(table.primaryKey, table.keyCollations).map { name, collation in
            identityCollation(column: table.column(name)?.collation ?? "BINARY", key: collation)
        }
    }

    /// True if SQLite may tell apart keys that derive the same ID under recorded collations.
    package static func tellsMoreApart(_ table: SchemaTable, than recorded: [String]) -> Bool {
        recorded.count == table.keyCollations.count
            && zip(recorded, table.keyCollations).contains { $0 != "BINARY" && !equalNames($0, $1) }
    }

    /// True if two lists name the same collations.
    package static func areSame(_ collations: [String], _ others: [String]) -> Bool {
        collations.count == others.count && zip(collations, others).allSatisfy(equalNames)
    }

    /// True if a key may have several spellings with different IDs under a built-in collation. An example is a UUID
    /// used as the ID, with and without trailing spaces.
    package static func hasSpellings(of key: [SchemaColumn]) -> Bool {
        key.count == 1 && key[0].collation == "RTRIM" && key[0].affinity == .text
    }
}

extension FieldValue {
    /// True if SQLite stores the value as NULL.
    @inlinable package var isNull: Bool {
        switch self {
        case .null: true
        case .real(let real): real.isNaN
        default: false
        }
    }
}
