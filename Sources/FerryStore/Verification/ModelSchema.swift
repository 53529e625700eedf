import FerryCore

/// A schema for verification: plain values, read independently of capture and replay.
///
/// Tables and columns are identified by their array positions. Names are in lower case, as SQLite compares them.
struct ModelSchema {
    struct Column {
        var name: String
        var type: String
        var collation: String
        /// The target table of values travelling as references.
        var reference: Int?
        /// The default's text, an SQL expression.
        var defaultSQL: String?
        var isNotNull: Bool
        /// True if no foreign key ensures a parent row.
        var isUnchecked = false
        /// True for a column storing every value unchanged: ANY in a STRICT table.
        var isAny = false

        /// A type by which an unconstrained column converts values like this column.
        var scratchType: String { isAny ? "BLOB" : Self.text(ofType: type) }

        /// Quotes a declared type: a type may have words that SQLite reads as a type in quotes only.
        static func text(ofType type: String) -> String { type.isEmpty ? "" : quoted(type) }
    }

    enum Action { case restrict, cascade, setNull, setDefault }

    struct ForeignKey {
        var columns: [Int]
        var parent: Int
        /// The parent's columns, in the order of `columns`.
        var parentColumns: [Int]
        /// True for a reference to the parent's mapped key: the value is an object.
        var isMapped: Bool
        var action: Action

        /// True if a row without its target is shown with a cleared reference.
        var isClearing: Bool { action == .setNull || action == .setDefault }
    }

    struct Unique {
        /// In lower case.
        var name: String
        var terms: [Term]
        /// The text of a partial index's WHERE.
        var condition: String?

        struct Term {
            /// `nil` for an expression.
            var column: Int?
            var sql: String
            var collation: String
        }

        /// True if SQLite must compute a row's terms.
        var isComputed: Bool { condition != nil || terms.contains { $0.column == nil } }
    }

    struct Table {
        var name: String
        /// The declared name.
        var spelling: String
        /// All stored columns, without generated columns.
        var columns: [Column]
        /// The primary key.
        var key: [Int]
        /// The collations of the key's uniqueness.
        var keyCollations: [String]
        /// True if local keys are mapped to object IDs; the key is no value of an object then.
        var isMapped: Bool
        var isStrict: Bool
        /// True if the key is the rowid.
        var hasIntegerKey = false
        /// The definitions of generated columns, without constraints.
        var generated: [String] = []
        /// In ascending order of `PRAGMA foreign_key_list`'s IDs.
        var foreignKeys: [ForeignKey] = []
        /// Plain references: they describe the columns' values, and no rule follows them.
        var plainKeys: [ForeignKey] = []
        /// UNIQUE indexes and constraints decided by an object's values. An index containing a mapped key cannot be
        /// violated.
        var uniques: [Unique] = []
        /// The columns shown together, as a group number for each column. A group has the columns of a foreign key or
        /// of a parent key by value; groups sharing a column are merged.
        var groups: [Int] = []
        /// True if outcomes of objects are taken from the state, because SQLite cannot check the table here.
        var isGiven = false
        /// The statements creating the table and its UNIQUE indexes.
        var statements: [String]

        var mappedKey: Int? { isMapped ? key.first : nil }

        /// The collation a foreign key applies to a parent column: the index's collation. For the primary key the
        /// index's collation may differ from the column's.
        func collation(of column: Int, among columns: [Int]) -> String {
            if columns.count == key.count, let place = key.firstIndex(of: column), key.allSatisfy(columns.contains) {
                return keyCollations[place]
            }
            return self.columns[column].collation
        }

        func column(_ name: String) -> Int? {
            let folded = foldedName(name)
            return columns.firstIndex { $0.name == folded }
        }
    }

    var tables: [Table]

    func place(of name: String) -> Int? {
        let folded = foldedName(name)
        return tables.firstIndex { $0.name == folded }
    }

    subscript(name: String) -> Table {
        guard let place = place(of: name) else { preconditionFailure("no table \(name)") }
        return tables[place]
    }
}

/// The merge policies affecting the shown rows.
struct ModelPolicies: Equatable {
    /// Tables, in lower case, where only an insertion revives a deleted object.
    var deleteWins: Set<String> = []
    /// UNIQUE indexes, in lower case, without unification: the oldest row is shown.
    var hideLoser: Set<String> = []
}

/// An object's registers with values, by column name in lower case, for an object independent of any row.
struct ModelObject: Equatable {
    struct Field: Equatable {
        var stamp: Stamp
        /// `nil` for a known stamp without a value: damage.
        var value: FieldValue?
    }

    /// In lower case.
    let table: String
    let id: ObjectID
    /// The newest insertion.
    var inserted: Stamp?
    /// The newest deletion.
    var deleted: Stamp?
    var fields: [String: Field] = [:]
    /// The local key in a mapped table, if the object has a row.
    var key: FieldValue?
    /// Without a row: the former or wished key.
    var wantedKey: FieldValue?
    /// In a mapped table: the key given by the newest insertion.
    var givenKey: FieldValue?
}

/// The outcome of an object.
enum ModelOutcome: Equatable {
    /// Deleted, or not inserted yet.
    case gone
    case shown(ModelRow)
    /// Unified, with this representative.
    case joined(to: ObjectID)
    /// Hidden: a target is missing.
    case waits
    /// Hidden: an older object has the same value of a UNIQUE index with the policy `hideLoser`.
    case outranked
    /// Hidden: SQLite refuses the row, for this reason.
    case refused(String)
}

/// A row's values, by column name in lower case; a column without a value has the schema's default. References are to
/// the representatives of their targets.
struct ModelRow: Equatable {
    var values: [String: FieldValue] = [:]
    /// Columns of references shown as NULL or as the default.
    var cleared: Set<String> = []
    /// Columns with values of further objects of the unified row.
    var borrowed: Set<String> = []
    /// Columns of references by value that may also show the target's spelling, equal in SQLite.
    var spellings: [String: FieldValue] = [:]
    /// Deleted, and retained by referring rows.
    var isRevived = false
}
