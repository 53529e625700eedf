import FerryCore

/// How the IDs that are derived of a primary key stand to what SQLite takes for one key.
///
/// IDs travel, and must be the same on every device and with every version of Ferry. So they are derived of bytes that
/// SQLite's own collations make equal, by the collation of the column. Where SQLite takes more for one key than that, because
/// another collation stands in the constraint or the collation is the app's own, the key is claimed like a UNIQUE value, and
/// objects with one key are one row (Docs/Rules.md, "What is equal").
enum KeyEquality {
    /// The collations that every SQLite has.
    static let builtIn: Set<String> = ["BINARY", "NOCASE", "RTRIM"]

    /// The name of the claim in `TrackedTable.uniqueIndexes`; no index of a schema's has it.
    static let indexName = "primary key"

    /// The collation under which values of a key's column derive one ID.
    /// - Parameters:
    ///   - column: the column's own collation.
    ///   - key: the one by which the primary key compares it.
    static func identityCollation(column: String, key: String) -> String {
        column == key && builtIn.contains(column) ? column : "BINARY"
    }

    /// Whether one key may have several spellings whose IDs differ although their collation is SQLite's own: a UUID, which
    /// is its own ID, with and without spaces behind it.
    static func hasSpellings(of key: [SchemaColumn]) -> Bool {
        key.count == 1 && key[0].collation == "RTRIM" && key[0].affinity == .text
    }
}

extension TrackedTable {
    /// Whether the primary key is claimed like a UNIQUE value, because IDs tell apart what SQLite does not.
    var isKeyClaimed: Bool { uniqueIndexes.contains(where: \.isKey) }

    /// Whether SQLite compares the primary key in another way than the IDs that are derived of it, or than its columns.
    var hasKeyOfItsOwn: Bool {
        isKeyClaimed
            || keyCollations.indices.contains { place in
                columnID(keyColumns[place]).map { columns[$0].collation } != keyCollations[place]
            }
    }

    /// The collation under which values of a part of the key derive one ID.
    func identityCollation(_ place: Int) -> String {
        place < identityCollations.count ? identityCollations[place] : "BINARY"
    }

    /// The collation by which a foreign key finds rows by one of some columns of this table.
    func offerCollation(_ column: Int, among columns: [Int]) -> String {
        if columns.count == keyColumnIDs.count, let place = keyColumnIDs.firstIndex(of: column),
            place < keyCollations.count, keyColumnIDs.allSatisfy(columns.contains)
        {
            return keyCollations[place]
        }
        return self.columns[column].collation
    }
}

extension FieldValue {
    /// Whether SQLite stores it as NULL.
    var isNull: Bool {
        switch self {
        case .null: true
        case .real(let real): real.isNaN
        default: false
        }
    }
}
