import FerryCore

/// A schema as verification sees it: plain values, read apart from what capture and replay use.
///
/// Tables and columns go by their places in arrays, and their names are in lower case, as SQLite compares them.
struct PlainSchema {
    struct Column {
        var name: String
        var type: String
        var collation: String
        /// The table whose objects its values refer to, where they travel as references.
        var reference: Int?
        /// The text of its default, an SQL expression.
        var defaultSQL: String?
        var isNotNull: Bool
        /// Whether no foreign key sees to it that what it refers to is there.
        var isUnchecked = false
        /// Whether it takes every value as it comes: ANY in a STRICT table.
        var isAny = false

        /// A type by which a column without constraints keeps values as this one does.
        var scratchType: String { isAny ? "BLOB" : type }
    }

    enum Action { case restrict, cascade, setNull, setDefault }

    struct ForeignKey {
        var columns: [Int]
        var parent: Int
        /// The parent's columns, in the order of `columns`.
        var parentColumns: [Int]
        /// Whether it refers to the parent's mapped key, so that its value is a reference to an object.
        var isMapped: Bool
        var action: Action

        /// Whether a row with a missing target is shown with the reference cleared.
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

        /// Whether SQLite has to say what a row's terms are.
        var isComputed: Bool { condition != nil || terms.contains { $0.column == nil } }
    }

    struct Table {
        var name: String
        /// The name as it was declared.
        var spelling: String
        /// All that are stored: generated ones are left out.
        var columns: [Column]
        /// The primary key.
        var key: [Int]
        /// The collations under which the key is unique.
        var keyCollations: [String]
        /// Whether local keys are mapped to object IDs; the key is no value of an object then.
        var isMapped: Bool
        var isStrict: Bool
        /// Whether the key is the rowid.
        var hasIntegerKey = false
        /// The definitions of generated columns, without constraints.
        var generated: [String] = []
        /// In ascending order of `PRAGMA foreign_key_list`'s IDs.
        var foreignKeys: [ForeignKey] = []
        /// Those that count as plain references: they say what columns hold, and no rule looks at them.
        var plainKeys: [ForeignKey] = []
        /// UNIQUE indexes and constraints that an object's values decide. An index with a mapped key in it cannot be
        /// violated.
        var uniques: [Unique] = []
        /// Which columns are shown together, as a group's number for each column: those of one foreign key, those that one
        /// refers to by value, and of several such that share a column.
        var groups: [Int] = []
        /// Whether what the state says of its objects is taken for given, because SQLite cannot say here what it thinks of them.
        var isGiven = false
        /// The statements that create the table and its UNIQUE indexes.
        var statements: [String]

        var mappedKey: Int? { isMapped ? key.first : nil }

        /// The collation by which a foreign key that refers to some columns compares one of them: that of the index by which
        /// SQLite looks, which for the primary key may be another one than the column's.
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

/// The merge policies that change which rows are shown.
struct PlainPolicies: Equatable {
    /// Tables, in lower case, in which only an insertion brings a deleted object back.
    var deleteWins: Set<String> = []
    /// UNIQUE indexes, in lower case, whose rivals are not joined: the oldest is shown.
    var hideLoser: Set<String> = []
}

/// Values of an object that has no row of its own to be read from: its registers with their values, by column name in
/// lower case.
struct PlainObject: Equatable {
    struct Field: Equatable {
        var stamp: Stamp
        /// `nil` where the stamp is known and the value is nowhere to be found, which is damage.
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
    /// The local key in a mapped table, where it has a row.
    var key: FieldValue?
    /// Where it has none: the one that it had, or would like to have.
    var wantedKey: FieldValue?
    /// In a mapped table: the one that its newest insertion gave it.
    var givenKey: FieldValue?
}

/// What becomes of an object.
enum PlainOutcome: Equatable {
    /// Deleted, or not inserted yet.
    case gone
    case shown(PlainRow)
    /// One row with others, which that object represents.
    case joined(to: ObjectID)
    /// Hidden: what it refers to is not there.
    case waits
    /// Hidden: an older object has the same value of a UNIQUE index with the policy `hideLoser`.
    case outranked
    /// Hidden: SQLite refuses the row, for this reason.
    case refused(String)
}

/// What a row shows, by column name in lower case; columns without a value have the schema's default. References are to
/// the objects that represent what is referred to.
struct PlainRow: Equatable {
    var values: [String: FieldValue] = [:]
    /// Columns of references that are shown as NULL or as the default.
    var cleared: Set<String> = []
    /// Columns whose values come from objects that are one with this one.
    var borrowed: Set<String> = []
    /// Columns of references by value that may as well show another spelling, which SQLite takes for the same: their target's.
    var spellings: [String: FieldValue] = [:]
    /// Deleted, and held back by rows that refer to it.
    var isRevived = false
}
