import FerryCore

/// The app's tables as described by the database's schema, in plain values.
struct Schema: Sendable {
    /// `PRAGMA schema_version` when the schema was read.
    let version: Int64
    /// Tables in order of creation.
    let tables: [SchemaTable]
    /// True if the app has its own triggers on any table.
    let hasTriggers: Bool
    /// Positions in `tables` by folded name.
    private let places: [String: Int]

    init(version: Int64, tables: [SchemaTable], hasTriggers: Bool) {
        self.version = version
        self.tables = tables
        self.hasTriggers = hasTriggers
        places = Dictionary(tables.enumerated().map { (foldedName($1.name), $0) }) { first, _ in first }
    }

    func table(_ name: String) -> SchemaTable? { places[foldedName(name)].map { tables[$0] } }
}

/// An ordinary table, a view or a virtual table of the app.
struct SchemaTable: Sendable {
    enum Kind: String, Sendable { case table, view, virtual, shadow }

    var name: String
    var kind: Kind
    var isWithoutRowID: Bool
    /// All columns except hidden columns; includes generated columns.
    var columns: [SchemaColumn]
    /// Names of the primary key's columns in key order; empty without a primary key.
    var primaryKey: [String]
    /// The collations by which SQLite compares the primary key, in key order. These come from the key's index and may
    /// differ from the columns' own collations (`PRIMARY KEY(name COLLATE NOCASE)`).
    var keyCollations: [String] = []
    /// True for an `INTEGER PRIMARY KEY`: an alias of the rowid, or the same type WITHOUT ROWID.
    var isIntegerKey: Bool
    var foreignKeys: [SchemaForeignKey]
    /// UNIQUE indexes and constraints, without the primary key's.
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
    /// An affinity, by the rules of https://www.sqlite.org/datatype3.html#determination_of_column_affinity
    enum Affinity: Sendable {
        case integer, text, blob, real, numeric

        /// A declared type with this affinity.
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
    /// The collation's name in capitals (`collationName`).
    var collation: String
    var isGenerated: Bool
    /// The expression of a generated column.
    var generatedSQL: String?
    /// The default as an expression with the same value in any statement (`DefaultText`).
    var defaultSQL: String?
    /// True if declared NOT NULL.
    var isNotNull: Bool
}

struct SchemaForeignKey: Sendable {
    var columns: [String]
    var parentTable: String
    /// The parent's columns, in the order of `columns`; empty for the parent's primary key.
    var parentColumns: [String]
    /// `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL` or `SET DEFAULT`.
    var onDelete: String
    var onUpdate: String
}

struct SchemaUniqueIndex: Sendable {
    var name: String
    var terms: [Term]
    /// The text of a partial index's WHERE clause.
    var condition: String?

    struct Term: Sendable {
        /// The column's name; `nil` for an expression.
        var column: String?
        /// The text of an expression.
        var expression: String?
        /// The collation in capitals.
        var collation: String
    }
}

/// Returns a collation's name in capitals. SQLite ignores letter case in names of collations
/// (https://www.sqlite.org/datatype3.html#collating_sequences).
func collationName(_ name: String) -> String {
    String(decoding: name.utf8.map { (0x61...0x7a).contains($0) ? $0 - 0x20 : $0 }, as: UTF8.self)
}
