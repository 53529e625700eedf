import FerryCore
import FerrySQL

/// The app's tables as described by the database's schema, in plain values.
package struct Schema: Sendable {
    /// `PRAGMA schema_version` when the schema was read.
    package let version: Int64
    /// Tables in order of creation.
    package let tables: [SchemaTable]
    /// True if the app has its own triggers on any table.
    package let hasTriggers: Bool
    /// Positions in `tables` by folded name.
    private let places: [String: Int]

    package init(version: Int64, tables: [SchemaTable], hasTriggers: Bool) {
        self.version = version
        self.tables = tables
        self.hasTriggers = hasTriggers
        places = Dictionary(tables.enumerated().map { (foldedName($1.name), $0) }) { first, _ in first }
    }

    package func table(_ name: String) -> SchemaTable? { places[foldedName(name)].map { tables[$0] } }
}

/// An ordinary table, a view or a virtual table of the app.
package struct SchemaTable: Sendable {
    package enum Kind: String, Sendable { case table, view, virtual, shadow }

    /// The name under which the table travels (`TableNames`).
    package var name: String
    /// The name in the database.
    package var localName: String
    package var kind: Kind
    package var isWithoutRowID: Bool
    /// All columns except hidden columns; includes generated columns.
    package var columns: [SchemaColumn]
    /// Names of the primary key's columns in key order; empty without a primary key.
    package var primaryKey: [String]
    /// The collations by which SQLite compares the primary key, in key order. These come from the key's index and may
    /// differ from the columns' own collations (`PRIMARY KEY(name COLLATE NOCASE)`).
    package var keyCollations: [String] = []
    /// True for an `INTEGER PRIMARY KEY`: an alias of the rowid, or the same type WITHOUT ROWID.
    package var isIntegerKey: Bool
    package var foreignKeys: [SchemaForeignKey]
    /// UNIQUE indexes and constraints, without the primary key's.
    package var uniqueIndexes: [SchemaUniqueIndex]
    package var isAutoincrement: Bool
    package var isStrict = false
    /// The texts of CHECK constraints.
    package var checks: [String] = []

    package func column(_ name: String) -> SchemaColumn? {
        columns.first { equalNames($0.name, name) }
    }

    /// The column that travels under a name.
    package func column(travelling name: String) -> SchemaColumn? {
        columns.first { equalNames($0.travellingName, name) }
    }

    /// The name under which a column travels.
    package func travellingName(_ column: String) -> String { self.column(column)?.travellingName ?? column }

    /// The name in SQL.
    package var quotedName: String { quoted(localName) }
}

@usableFromInline package struct SchemaColumn: Sendable {
    /// An affinity, by the rules of https://www.sqlite.org/datatype3.html#determination_of_column_affinity
    @usableFromInline package enum Affinity: String, Codable, Sendable {
        case integer, text, blob, real, numeric

        /// A declared type with this affinity.
        package var type: String {
            switch self {
            case .integer: "INTEGER"
            case .text: "TEXT"
            case .blob: "BLOB"
            case .real: "REAL"
            case .numeric: "NUMERIC"
            }
        }
    }

    package var name: String
    /// The name under which the column travels (`ColumnNames`).
    package var travellingName: String
    package var affinity: Affinity
    /// The collation's name in capitals (`collationName`).
    package var collation: String
    package var isGenerated: Bool
    /// The expression of a generated column.
    package var generatedSQL: String?
    /// The default as an expression with the same value in any statement (`DefaultText`).
    package var defaultSQL: String?
    /// True if declared NOT NULL.
    package var isNotNull: Bool
}

package struct SchemaForeignKey: Sendable {
    package var columns: [String]
    /// The name under which the parent travels (`TableNames`).
    package var parentTable: String
    /// The parent's columns, in the order of `columns`; empty for the parent's primary key.
    package var parentColumns: [String]
    /// `NO ACTION`, `RESTRICT`, `CASCADE`, `SET NULL` or `SET DEFAULT`.
    package var onDelete: String
    package var onUpdate: String
    /// True if the parent that the key names is gone, and `parentTable` has its place (`VanishedParent`). SQLite enforces no such key.
    package var hasVanishedParent = false
}

package struct SchemaUniqueIndex: Sendable {
    package var name: String
    package var terms: [Term]
    /// The text of a partial index's WHERE clause.
    package var condition: String?

    package struct Term: Sendable {
        /// The column's name; `nil` for an expression.
        package var column: String?
        /// The text of an expression.
        package var expression: String?
        /// The collation in capitals.
        package var collation: String
    }
}
