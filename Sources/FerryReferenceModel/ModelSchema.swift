import FerryCore

/// A schema for verification: plain values, read independently of capture and replay.
///
/// Tables and columns are identified by their array positions. Names are keys (`foldedName`), so they are equal where SQLite takes
/// names for the same.
package struct ModelSchema {
    package struct Column {
        package var name: String
        package var type: String
        package var collation: String
        /// The target table of values travelling as references.
        package var reference: Int?
        /// The default's text, an SQL expression.
        package var defaultSQL: String?
        package var isNotNull: Bool
        /// True if no foreign key ensures a parent row.
        package var isUnchecked = false
        /// True for a column storing every value unchanged: ANY in a STRICT table.
        package var isAny = false

        package init(
            name: String, type: String, collation: String, reference: Int? = nil, defaultSQL: String? = nil,
            isNotNull: Bool, isUnchecked: Bool = false, isAny: Bool = false
        ) {
            self.name = name
            self.type = type
            self.collation = collation
            self.reference = reference
            self.defaultSQL = defaultSQL
            self.isNotNull = isNotNull
            self.isUnchecked = isUnchecked
            self.isAny = isAny
        }

        /// A type by which an unconstrained column converts values like this column.
        package var scratchType: String { isAny ? "BLOB" : Self.text(ofType: type) }

        /// Quotes a declared type: a type may have words that SQLite reads as a type in quotes only.
        package static func text(ofType type: String) -> String { type.isEmpty ? "" : ModelSchema.quoted(type) }
    }

    package enum Action { case restrict, cascade, setNull, setDefault }

    package struct ForeignKey {
        package var columns: [Int]
        package var parent: Int
        /// The parent's columns, in the order of `columns`.
        package var parentColumns: [Int]
        /// True for a reference to the parent's mapped key: the value is an object.
        package var isMapped: Bool
        package var action: Action

        package init(columns: [Int], parent: Int, parentColumns: [Int], isMapped: Bool, action: Action) {
            self.columns = columns
            self.parent = parent
            self.parentColumns = parentColumns
            self.isMapped = isMapped
            self.action = action
        }

        /// True if a row without its target is shown with a cleared reference.
        package var isClearing: Bool { action == .setNull || action == .setDefault }
    }

    package struct Unique {
        /// In lower case.
        package var name: String
        package var terms: [Term]
        /// The text of a partial index's WHERE.
        package var condition: String?

        package struct Term {
            /// `nil` for an expression.
            package var column: Int?
            package var sql: String
            package var collation: String

            package init(column: Int?, sql: String, collation: String) {
                self.column = column
                self.sql = sql
                self.collation = collation
            }
        }

        package init(name: String, terms: [Term], condition: String? = nil) {
            self.name = name
            self.terms = terms
            self.condition = condition
        }

        /// True if SQLite must compute a row's terms.
        package var isComputed: Bool { condition != nil || terms.contains { $0.column == nil } }
    }

    /// A table as the model sees it.
    ///
    /// Invariants:
    /// - Numbers of columns in `key`, `foreignKeys` and `uniques` are positions in `columns`.
    /// - `key` and `keyCollations` have the same count; `groups` is empty or has an entry for each column.
    /// - A given table has nothing to compute: no UNIQUE indexes, generated columns or statements.
    package struct Table {
        /// The name in lower case.
        package var name: String
        /// The declared name.
        package var spelling: String
        /// All stored columns, without generated columns.
        package var columns: [Column]
        /// The primary key.
        package var key: [Int]
        /// The collations of the key's uniqueness.
        package var keyCollations: [String]
        /// The collations of the key when the table began to travel; empty for the present ones.
        package var formerCollations: [String] = []
        /// True if local keys are mapped to object IDs; the key is no value of an object then.
        package var isMapped: Bool
        package var isStrict: Bool
        /// True if the key is the rowid.
        package var hasIntegerKey = false
        /// The definitions of generated columns, without constraints.
        package var generated: [String] = []
        /// In ascending order of `PRAGMA foreign_key_list`'s IDs.
        package var foreignKeys: [ForeignKey] = []
        /// Plain references: they describe the columns' values, and no rule follows them.
        package var plainKeys: [ForeignKey] = []
        /// UNIQUE indexes and constraints decided by an object's values. An index containing a mapped key cannot be
        /// violated.
        package var uniques: [Unique] = []
        /// The columns shown together, as a group number for each column. A group has the columns of a foreign key or
        /// of a parent key by value; groups sharing a column are merged.
        package var groups: [Int] = []
        /// True if outcomes of objects are taken from the state, because SQLite cannot check the table here.
        package var isGiven = false
        /// The statements creating the table and its UNIQUE indexes.
        package var statements: [String]

        package init(
            name: String, spelling: String, columns: [Column], key: [Int], keyCollations: [String], isMapped: Bool,
            isStrict: Bool, hasIntegerKey: Bool = false, generated: [String] = [], statements: [String]
        ) {
            self.name = name
            self.spelling = spelling
            self.columns = columns
            self.key = key
            self.keyCollations = keyCollations
            self.isMapped = isMapped
            self.isStrict = isStrict
            self.hasIntegerKey = hasIntegerKey
            self.generated = generated
            self.statements = statements
        }

        package var mappedKey: Int? { isMapped ? key.first : nil }

        /// The collation a foreign key applies to a parent column: the index's collation. For the primary key the
        /// index's collation may differ from the column's.
        package func collation(of column: Int, among columns: [Int]) -> String {
            if columns.count == key.count, let place = key.firstIndex(of: column), key.allSatisfy(columns.contains) {
                return keyCollations[place]
            }
            return self.columns[column].collation
        }

        package func column(_ name: String) -> Int? {
            let folded = foldedName(name)
            return columns.firstIndex { $0.name == folded }
        }
    }

    package var tables: [Table]

    package init(tables: [Table]) { self.tables = tables }

    /// A name as SQL writes it. Scalars: a quote and a combining mark behind the quote are one character.
    static func quoted(_ name: String) -> String {
        let parts = name.unicodeScalars.split(separator: "\"", omittingEmptySubsequences: false).map(String.init)
        return "\"" + parts.joined(separator: "\"\"") + "\""
    }

    package func place(of name: String) -> Int? {
        let folded = foldedName(name)
        return tables.firstIndex { $0.name == folded }
    }

    package subscript(name: String) -> Table {
        guard let place = place(of: name) else { preconditionFailure("no table \(name)") }
        return tables[place]
    }
}

/// The merge policies affecting the shown rows.
package struct ModelPolicies: Equatable {
    /// Tables, in lower case, where only an insertion revives a deleted object.
    package var deleteWins: Set<String> = []
    /// UNIQUE indexes, in lower case, without unification: the oldest row is shown.
    package var hideLoser: Set<String> = []

    package init(deleteWins: Set<String> = [], hideLoser: Set<String> = []) {
        self.deleteWins = deleteWins
        self.hideLoser = hideLoser
    }
}

/// An object's registers with values, by column name in lower case, for an object independent of any row.
package struct ModelObject: Equatable {
    package struct Field: Equatable {
        package var stamp: Stamp
        /// `nil` for a known stamp without a value: damage.
        package var value: FieldValue?
        /// The stamp by which a unified row chooses among its objects' values. Differs from `stamp` under a policy that
        /// counts from an earlier write.
        package var choice: Stamp

        package init(stamp: Stamp, value: FieldValue?, choice: Stamp? = nil) {
            self.stamp = stamp
            self.value = value
            self.choice = choice ?? stamp
        }
    }

    /// In lower case.
    package let table: String
    package let id: ObjectID
    /// The newest insertion.
    package var inserted: Stamp?
    /// The newest deletion.
    package var deleted: Stamp?
    package var fields: [String: Field] = [:]
    /// The local key in a mapped table, if the object has a row.
    package var key: FieldValue?
    /// Without a row: the former or wished key.
    package var wantedKey: FieldValue?
    /// In a mapped table: the key given by the newest insertion.
    package var givenKey: FieldValue?

    package init(table: String, id: ObjectID) {
        self.table = table
        self.id = id
    }
}

/// The outcome of an object.
package enum ModelOutcome: Equatable {
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
package struct ModelRow: Equatable {
    package var values: [String: FieldValue] = [:]
    /// Columns of references shown as NULL or as the default.
    package var cleared: Set<String> = []
    /// Columns with values of further objects of the unified row.
    package var borrowed: Set<String> = []
    /// Columns of references by value that may also show the target's spelling, equal in SQLite.
    package var spellings: [String: FieldValue] = [:]
    /// Deleted, and retained by referring rows.
    package var isRevived = false
}
