import FerryCore

/// A table whose objects travel, as the registry and the local schema describe it.
///
/// Columns are known by their number in the registry, which never changes and is never used again, so that stamps and
/// kept values outlive a change of the schema. Numbers differ from device to device; names travel.
///
/// A class, because it is handed around on the path of every row and copying it would count references of all its
/// arrays. Unchecked, because it changes only while `Registry.init` makes it, before anybody else sees it.
final class TrackedTable: @unchecked Sendable {
    /// Its number in the registry.
    let id: Int
    @exclusivity(unchecked) var name: String
    let identity: TableIdentity
    /// Whether this database has the table; a peer's newer schema may name tables that it does not have yet.
    @exclusivity(unchecked) var isLocal: Bool
    /// Every column ever heard of, at the index that is its number.
    @exclusivity(unchecked) var columns: [TrackedColumn]
    /// The primary key's columns in the local table.
    @exclusivity(unchecked) var keyColumns: [String]
    @exclusivity(unchecked) var foreignKeys: [TrackedForeignKey] = []
    @exclusivity(unchecked) var uniqueIndexes: [TrackedUniqueIndex] = []
    /// Foreign keys that refer to this table.
    @exclusivity(unchecked) var incoming: [IncomingKey] = []
    /// The columns other than the key's that they refer to by value, once for each foreign key, in its order.
    @exclusivity(unchecked) var offeredKeys: [[Int]] = []
    /// Foreign keys by value that count as plain references: they say which columns hold what another table's columns hold.
    @exclusivity(unchecked) var plainKeys: [TrackedForeignKey] = []
    /// All columns that hold keys of this mapped table, of any table: declared, undeclared or by way of another table.
    @exclusivity(unchecked) var referringColumns: [ColumnPlace] = []
    /// Those of them that hold its keys by way of another table's columns: no foreign key leads from there to this table.
    @exclusivity(unchecked) var inheritingColumns: [ColumnPlace] = []
    /// Whether some of them are unchecked, or rows that stay on this device may go on referring to a key whose row is gone:
    /// such a key stays reserved.
    @exclusivity(unchecked) var hasUncheckedReferences = false
    /// What foreign keys of tables that stay on this device refer to.
    @exclusivity(unchecked) var stayingKeys: [StayingKey] = []
    /// Whether the key is an `INTEGER PRIMARY KEY`.
    @exclusivity(unchecked) var isIntegerKey = false
    @exclusivity(unchecked) var isAutoincrement = false
    @exclusivity(unchecked) var isWithoutRowID = false
    /// How SQLite takes the values of a mapped key, which is no column of the objects' own.
    @exclusivity(unchecked) var mappedKey = (affinity: SchemaColumn.Affinity.integer, collation: "BINARY")
    /// Whether the key is one column that has a default. Where it is the rowid SQLite never uses that.
    @exclusivity(unchecked) var keyHasDefault = false
    /// Generated columns, which never travel.
    @exclusivity(unchecked) var generatedColumns: [GeneratedColumn] = []

    struct GeneratedColumn: Sendable {
        var name: String
        var affinity: SchemaColumn.Affinity
        var collation: String
        var expression: String
    }
    /// Whether only an insertion brings a deleted object back: the policy `deleteWins`.
    @exclusivity(unchecked) var deletionWins = false
    /// Everything that is set for the table, its indexes and its columns, also what this database cannot apply.
    @exclusivity(unchecked) var policies: [PolicySetting] = []
    /// Whether some column has a policy of its own.
    @exclusivity(unchecked) var hasColumnPolicies = false

    init(id: Int, name: String, identity: TableIdentity, isLocal: Bool, columns: [TrackedColumn], keyColumns: [String])
    {
        self.id = id
        self.name = name
        self.identity = identity
        self.isLocal = isLocal
        self.columns = columns
        self.keyColumns = keyColumns
        if case .key = identity { isMapped = false } else { isMapped = true }
        objectTable = "ferry_object_\(id)"
        oldRowsTable = "ferry_old_\(id)"
    }

    /// What stands for a number that no table of the registry has: not in this database, without columns and without a state.
    static func absent(_ number: Int) -> TrackedTable {
        TrackedTable(id: number, name: "", identity: .surrogate, isLocal: false, columns: [], keyColumns: ["key"])
    }

    struct IncomingKey: Sendable {
        var table: Int
        /// Index into that table's `foreignKeys`.
        var foreignKey: Int
    }

    struct ColumnPlace: Hashable, Comparable, Sendable {
        var table: Int
        var column: Int

        static func < (left: Self, right: Self) -> Bool { (left.table, left.column) < (right.table, right.column) }
    }

    /// Whether local keys are mapped to object IDs, because they differ from device to device.
    let isMapped: Bool

    /// The numbers of the key's columns where the identity is derived from them; empty otherwise.
    @exclusivity(unchecked) private(set) var keyColumnIDs: [Int] = []
    /// The collations under which key values derive one ID, in the order of the key. Under another one two IDs mean one row
    /// to SQLite, or one ID two rows: where SQLite's equality is coarser, the key is also claimed (`keyIndex`).
    @exclusivity(unchecked) var identityCollations: [String] = []
    /// The collations by which SQLite compares the primary key, in its order.
    @exclusivity(unchecked) var keyCollations: [String] = []
    /// The columns that the local table has, in the order of their numbers.
    @exclusivity(unchecked) private(set) var localColumns: [TrackedColumn] = []

    /// The columns that hold other tables' keys, in the order of their numbers.
    @exclusivity(unchecked) private(set) var referenceColumns: [TrackedColumn] = []

    /// Computes what follows from the columns; the last step of making the registry.
    func finish() {
        keyColumnIDs = isMapped ? [] : keyColumns.compactMap { name in columnID(name) }
        localColumns = columns.filter(\.isLocal)
        referenceColumns = columns.filter { $0.reference != nil }
        columnGroups = groups()
        keyGroupColumns = Set(columnGroups.filter(\.isKey).flatMap(\.columns))
        let key = Set(keyColumnIDs)
        hasReferencesInKey = !key.isEmpty && foreignKeys.contains { !key.isDisjoint(with: $0.columns) }
        clearableColumns = Set(
            foreignKeys.filter { $0.action == .setNull || $0.action == .setDefault }.flatMap(\.columns))
    }

    /// Whether what a row claims depends on its mapped key.
    var hasIndexOnKey: Bool { uniqueIndexes.contains(where: \.isOnKey) }

    /// Columns that SET NULL or SET DEFAULT may change, by number.
    @exclusivity(unchecked) private(set) var clearableColumns: Set<Int> = []

    /// Whether columns of a derived key refer to other tables, so that what rows show there may change.
    @exclusivity(unchecked) private(set) var hasReferencesInKey = false

    /// Columns under UNIQUE indexes or of the key that refer to tables with integer keys and that no foreign key checks: what
    /// they claim may be an integer of 0 or below (`GivenKeys`).
    @exclusivity(unchecked) var plainClaimColumns: [Int] = []

    /// Columns that a joined row takes from one of its objects together: those of one foreign key, those that one refers to
    /// by value, and of several such that share columns; and those of the key.
    @exclusivity(unchecked) private(set) var columnGroups: [ColumnGroup] = []

    struct ColumnGroup: Sendable {
        var columns: [Int]
        /// Whether it holds columns of the key.
        var isKey: Bool
    }

    /// The columns of the key, and what goes with them: each object of a joined row has its own.
    @exclusivity(unchecked) private(set) var keyGroupColumns: Set<Int> = []

    /// The columns whose shown value may be another than the object's own though the object is one row by itself, and may
    /// claim or offer something else for that: those of the key, of references by value that a UNIQUE index does not hold
    /// whole, and of those that others refer to in turn. By such a claim or offer an object is found only where it
    /// leaves a token (`ExceptionTokens`): whoever has the same reference shows the same, but here other references claim the
    /// same, or come later and say what no row shows.
    @exclusivity(unchecked) private(set) var telltaleColumns: Set<Int> = []

    /// - Parameter collations: of the columns that a foreign key by value refers to, by its place and in its columns' order;
    ///   none of those that refer to mapped keys.
    func noteTelltaleColumns(_ collations: [Int: [String]]) {
        telltaleColumns = Set(keyColumnIDs)
        let offered = Set(offeredKeys.joined())
        for columns in foreignKeys.map(\.columns) where !offered.isDisjoint(with: columns) {
            telltaleColumns.formUnion(columns)
        }
        for (place, collations) in collations {
            let columns = foreignKeys[place].columns
            if uniqueIndexes.contains(where: { splits(columns, collations, $0) }) { telltaleColumns.formUnion(columns) }
        }
    }

    /// Whether what an index claims may be equal for different references.
    private func splits(_ columns: [Int], _ collations: [String], _ index: TrackedUniqueIndex) -> Bool {
        if index.needsEvaluation { return true }
        let terms = index.terms.filter { $0.column.map(columns.contains) ?? false }
        if terms.isEmpty { return false }
        return !zip(columns, collations).allSatisfy { column, collation in
            terms.contains {
                $0.column == column && ["BINARY", collation.uppercased()].contains($0.collation.uppercased())
            }
        }
    }

    private func groups() -> [ColumnGroup] {
        var groups = columns.map { Set([$0.id]) }
        for together in foreignKeys.map(\.columns) + offeredKeys + [keyColumnIDs] where !together.isEmpty {
            let touching = groups.filter { !$0.isDisjoint(with: together) }
            groups.removeAll { !$0.isDisjoint(with: together) }
            groups.append(touching.reduce(Set(together)) { $0.union($1) })
        }
        return groups.map { ColumnGroup(columns: $0.sorted(), isKey: !$0.isDisjoint(with: keyColumnIDs)) }
            .sorted { $0.columns[0] < $1.columns[0] }
    }

    /// Notes that the local table has a column by this name which means something else.
    func hide(_ name: String) {
        if let number = columns.firstIndex(where: { equalNames($0.name, name) }) { columns[number].isHidden = true }
    }

    /// Notes by which names the local table has the columns of its former key.
    func note(presentNames names: [String]) {
        guard case .key(let columns) = identity else { return }
        for (column, name) in zip(columns, names) where !equalNames(column, name) {
            guard let number = columnID(column) else { continue }
            self.columns[number].presentName = name
        }
    }

    let objectTable: String
    let oldRowsTable: String

    /// The number of a column by its name in the local table, or by the one that it travels by.
    func columnID(_ name: String) -> Int? {
        var other: Int?
        for column in columns where equalNames(column.name, name) {
            // Another one may bear the name that does not mean what the local one means.
            if !column.isHidden { return column.id }
            other = column.id
        }
        return other
    }

    /// The number of a column by the name by which it travels.
    func columnID(travelling name: String) -> Int? {
        columns.first { equalNames($0.travellingName, name) }?.id
    }

    /// `"a" IS ?1 AND "b" IS ?2`: finds the row with a local key, numbered from `first`. Keys are found through the
    /// index because `=` is used where the key cannot be NULL; keys with NULL are not tracked.
    ///
    /// Where SQLite takes more, or less, for one key than the IDs do, it is compared both ways: by the index, and as the ID.
    func keyCondition(first: Int) -> String {
        keyColumns.enumerated().map { place, name in
            let term = "\(quoted(name)) = ?\(place + first)"
            guard place < keyCollations.count, let column = columnID(name).map({ columns[$0] }) else { return term }
            let (key, identity) = (keyCollations[place], identityCollation(place))
            let found = key == column.collation ? term : "\(term) COLLATE \(quoted(key))"
            return identity == key ? found : "\(found) AND \(term) COLLATE \(quoted(identity))"
        }.joined(separator: " AND ")
    }

    /// The names of the rowid that no column has; none where all are taken.
    var namesOfRowID: [String] {
        rowIDNames(besides: localColumns.map(\.name) + keyColumns + generatedColumns.map(\.name))
    }

    /// Whether the key is the rowid, which SQLite chooses where an insertion leaves it out.
    var keyIsRowID: Bool { isIntegerKey && !isWithoutRowID }

    /// The names by which a mapped key is spoken of.
    var namesOfMappedKey: [String] { isMapped ? keyColumns + (keyIsRowID ? namesOfRowID : []) : [] }

    var keyList: String { keyColumns.map(quoted).joined(separator: ", ") }
}

struct TrackedColumn: Sendable {
    var id: Int
    var name: String
    /// The name that the local table has for it by now, where a key's column was renamed; and the one by which it travels then.
    var presentName: String?
    var formerName: String?
    /// Whether the local table has a column by its name that means something else.
    var isHidden = false
    /// The columns that were the same column of the local table by another meaning.
    var precursors: [Int] = []
    /// The name by which it travels.
    var travellingName: String { formerName ?? name }
    /// Whether the local table has it and its values travel.
    var isLocal: Bool
    var affinity: SchemaColumn.Affinity = .blob
    var collation = "BINARY"
    /// The number of the mapped table whose objects it refers to; its values travel as references then.
    var reference: Int?
    /// The affinity of the keys that it refers to.
    var keyAffinity = SchemaColumn.Affinity.blob
    /// Whether no foreign key sees to it that the reference has a target.
    var isUnchecked = false
    var defaultSQL: String?
    /// Whether rows that travel may hold NULL in it: it is neither declared NOT NULL nor of the key.
    var mayBeNull = true
    /// How concurrent writes merge.
    var policy = ColumnPolicy.lastWriterWins
}

struct TrackedForeignKey: Sendable {
    /// As the schema declares it; `nil` where it does not.
    var declared: DeclaredKey?
    /// The child's columns by number.
    var columns: [Int]
    /// The number of the parent's table.
    var parent: Int
    var target: Target
    var action: ForeignKeyAction

    enum Target: Sendable {
        /// The parent's mapped key: the value is a reference.
        case mapped
        /// The parent's own key, from which its object IDs are derived: for each key column, the position in `columns`.
        case key([Int])
        /// Other columns under a UNIQUE index, by number.
        case unique([Int])
    }

    /// What rows that refer to a row with a local key have in `columns`; `nil` where they refer to other values of it.
    func parts(of key: [FieldValue]) -> [FieldValue]? {
        switch target {
        case .mapped: return key
        case .key(let order):
            var parts = Array(repeating: FieldValue.null, count: order.count)
            for (part, position) in zip(key, order) { parts[position] = part }
            return parts
        case .unique: return nil
        }
    }
}

enum ForeignKeyAction: Sendable {
    case restrict, cascade, setNull, setDefault
    /// No foreign key of the schema's: a reference that the selection names. The row is shown whatever becomes of its
    /// target.
    case none
}

struct TrackedUniqueIndex: Sendable {
    var name: String
    var terms: [Term]
    var condition: String?

    struct Term: Sendable {
        /// A column's number, or `nil` for an expression.
        var column: Int?
        var expression: String?
        var collation: String
    }

    /// Whether of two rows that claim one value the younger is hidden, instead of both being joined (a policy).
    var hidesLosers = false
    /// Whether it is the primary key's, whose equality is coarser than that of the IDs that are derived of it.
    var isKey = false
    /// Whether its terms or its condition are computed of the table's mapped key.
    var isOnKey = false

    /// Whether values must be computed by SQLite: a partial index or one on expressions.
    var needsEvaluation: Bool { condition != nil || terms.contains { $0.column == nil } }
}

/// A table or view that does not travel, and why.
public struct LeftOutTable: Equatable, Sendable {
    public var name: String
    public var reason: String

    public init(name: String, reason: String) {
        self.name = name
        self.reason = reason
    }
}

/// The names by which statements may speak of the rowid of a table with these columns.
/// https://www.sqlite.org/lang_createtable.html#rowid
func rowIDNames(besides columns: [String]) -> [String] {
    ["rowid", "oid", "_rowid_"].filter { name in !columns.contains { equalNames($0, name) } }
}
