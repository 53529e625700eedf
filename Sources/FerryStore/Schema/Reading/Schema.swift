import FerryCore

/// What the database's schema says of the app's tables, as plain values.
struct Schema: Sendable {
    /// `PRAGMA schema_version` when it was read.
    let version: Int64
    /// In the order of their creation.
    let tables: [SchemaTable]
    /// Whether the app has triggers of its own on any table.
    let hasTriggers: Bool
    /// The places of tables by folded name.
    private let places: [String: Int]

    init(version: Int64, tables: [SchemaTable], hasTriggers: Bool) {
        self.version = version
        self.tables = tables
        self.hasTriggers = hasTriggers
        places = Dictionary(tables.enumerated().map { (foldedName($1.name), $0) }) { first, _ in first }
    }

    func table(_ name: String) -> SchemaTable? { places[foldedName(name)].map { tables[$0] } }
}

/// An ordinary table, a view or a virtual table of the app's.
struct SchemaTable: Sendable {
    enum Kind: String, Sendable { case table, view, virtual, shadow }

    var name: String
    var kind: Kind
    var isWithoutRowID: Bool
    /// All columns but hidden ones, generated columns included.
    var columns: [SchemaColumn]
    /// Names of the primary key's columns in key order; empty where there is none.
    var primaryKey: [String]
    /// The collations by which SQLite compares the primary key, in key order: those of its index, which may be others than
    /// the columns' own (`PRIMARY KEY(name COLLATE NOCASE)`).
    var keyCollations: [String] = []
    /// Whether the key is an `INTEGER PRIMARY KEY`: an alias of the rowid, or the same type WITHOUT ROWID.
    var isIntegerKey: Bool
    var foreignKeys: [SchemaForeignKey]
    /// UNIQUE indexes and constraints, other than the primary key.
    var uniqueIndexes: [SchemaUniqueIndex]
    var isAutoincrement: Bool
    var isStrict = false
    /// The texts of CHECK constraints.
    var checks: [String] = []

    func column(_ name: String) -> SchemaColumn? {
        columns.first { equalNames($0.name, name) }
    }
}

struct SchemaColumn: Sendable {
    /// https://www.sqlite.org/datatype3.html#determination_of_column_affinity
    enum Affinity: Sendable {
        case integer, text, blob, real, numeric

        /// A declared type that has it.
        var type: String {
            switch self {
            case .integer: "INTEGER"
            case .text: "TEXT"
            case .blob: "BLOB"
            case .real: "REAL"
            case .numeric: "NUMERIC"
            }
        }
    }

    var name: String
    var affinity: Affinity
    /// The name of its collation, in capitals (`collationName`).
    var collation: String
    var isGenerated: Bool
    /// The expression of a generated column.
    var generatedSQL: String?
    /// Its default value, as an expression that has this value in any statement (`DefaultText`).
    var defaultSQL: String?
    /// Whether it is declared NOT NULL.
    var isNotNull: Bool
}

struct SchemaForeignKey: Sendable {
    var columns: [String]
    var parentTable: String
    /// The parent's columns, in the order of `columns`; empty: its primary key.
    var parentColumns: [String]
    /// `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL` or `SET DEFAULT`.
    var onDelete: String
    var onUpdate: String
}

struct SchemaUniqueIndex: Sendable {
    var name: String
    var terms: [Term]
    /// The text of a partial index's WHERE.
    var condition: String?

    struct Term: Sendable {
        /// `nil` for an expression.
        var column: String?
        /// The text of an expression.
        var expression: String?
        /// In capitals.
        var collation: String
    }
}

/// The name of a collation as Ferry compares such names: in capitals, for to SQLite they are one in any letter case
/// (https://www.sqlite.org/datatype3.html#collating_sequences).
func collationName(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x61...0x7a).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self)
}
