import FerryCore
import FerrySQL

/// A travelling table, as described by the registry and the local schema.
///
/// Columns are known by their registered number. A number never changes and is never used again, so stamps and shadow
/// values outlive schema changes. Numbers differ from device to device; names travel.
///
/// A class, because every row's path hands tables around. Copying a struct would count references of all its arrays.
/// Unchecked, because the table changes only during `Registry.init`, before any sharing.
///
/// Invariants:
/// - Nothing changes after `Registry.init`.
/// - `columns[n].id == n`. Derived properties (`keyColumnIDs`, `localColumns`, `columnGroups`, …) are those of `columns`
///   and `foreignKeys` at the call of `finish`.
/// - `keyColumnIDs` is empty exactly for a mapped table.
/// - `identityCollations` and `keyCollations` have an entry for each key column, in key order.
@usableFromInline package final class TrackedTable: @unchecked Sendable {
    /// The registered number.
    package let id: Int
    /// The name under which the table travels.
    @exclusivity(unchecked) package var name: String
    /// The name in this database (`TableNames`).
    @exclusivity(unchecked) package var localName: String
    package let identity: TableIdentity
    /// True if this database has the table. A peer's newer schema may name tables missing here.
    @exclusivity(unchecked) package var isLocal: Bool
    /// Every registered column, at the index equal to the column's number.
    @exclusivity(unchecked) @usableFromInline package var columns: [TrackedColumn]
    /// The primary key's columns in the local table.
    @exclusivity(unchecked) package var keyColumns: [String]
    @exclusivity(unchecked) package var foreignKeys: [TrackedForeignKey] = []
    @exclusivity(unchecked) package var uniqueIndexes: [TrackedUniqueIndex] = []
    /// Foreign keys referring to this table.
    @exclusivity(unchecked) package var incoming: [IncomingKey] = []
    /// The parent key columns besides the primary key, once for each foreign key, in the foreign key's order.
    @exclusivity(unchecked) package var offeredKeys: [[Int]] = []
    /// Foreign keys by value counted as plain references. Their columns hold the same values as the parent's columns.
    @exclusivity(unchecked) package var plainKeys: [TrackedForeignKey] = []
    /// All columns of any table holding keys of this mapped table: declared, undeclared or through a further table.
    @exclusivity(unchecked) package var referringColumns: [ColumnPlace] = []
    /// The referring columns holding keys through a further table's columns, without a foreign key to this table.
    @exclusivity(unchecked) package var inheritingColumns: [ColumnPlace] = []
    /// True if some referring columns are unchecked, or local rows may go on referring to a key without a row. Such a
    /// key stays reserved.
    @exclusivity(unchecked) package var hasUncheckedReferences = false
    /// The parent keys used by foreign keys of local tables.
    @exclusivity(unchecked) package var localParentKeys: [LocalParentKey] = []
    /// True for an `INTEGER PRIMARY KEY`.
    @exclusivity(unchecked) @usableFromInline package var isIntegerKey = false
    @exclusivity(unchecked) package var isAutoincrement = false
    @exclusivity(unchecked) @usableFromInline package var isWithoutRowID = false
    /// Affinity and collation of a mapped key. A mapped key is no column of the objects.
    @exclusivity(unchecked) package var mappedKey = (affinity: SchemaColumn.Affinity.integer, collation: "BINARY")
    /// True for a single key column with a default. SQLite never uses the default of a rowid.
    @exclusivity(unchecked) package var keyHasDefault = false
    /// The key's columns in the next generation of a leaving table; empty for any other table.
    @exclusivity(unchecked) package var nextKeyColumns: [String] = []
    /// Tells the rows of the former generation, where a leaving table may have others beside them.
    @exclusivity(unchecked) package var formerRows: FormerRows?
    /// Generated columns never travel.
    @exclusivity(unchecked) package var generatedColumns: [GeneratedColumn] = []

    package struct GeneratedColumn: Sendable {
        package var name: String
        package var affinity: SchemaColumn.Affinity
        package var collation: String
        package var expression: String
    }
    /// True under the policy `deleteWins`: only an insertion revives a deleted object.
    @exclusivity(unchecked) package var deletionWins = false
    /// All policies of the table, its indexes and columns, including policies this database cannot apply.
    @exclusivity(unchecked) package var policies: [PolicySetting] = []
    /// True if some column has its own policy.
    @exclusivity(unchecked) package var hasColumnPolicies = false

    package init(
        id: Int, name: String, identity: TableIdentity, isLocal: Bool, columns: [TrackedColumn], keyColumns: [String]
    ) {
        self.id = id
        self.name = name
        localName = name
        self.identity = identity
        self.isLocal = isLocal
        self.columns = columns
        self.keyColumns = keyColumns
        isMapped = !identity.isKey
        objectTable = Self.objectTable(id)
        beforeImageTable = "ferry_old_\(id)"
    }

    /// The placeholder for an unregistered number: not local, without columns and without a state.
    @usableFromInline package static func absent(_ number: Int) -> TrackedTable {
        TrackedTable(id: number, name: "", identity: .surrogate, isLocal: false, columns: [], keyColumns: ["key"])
    }

    package struct IncomingKey: Sendable {
        package var table: Int
        /// The index into the child table's `foreignKeys`.
        package var foreignKey: Int
    }

    package struct ColumnPlace: Hashable, Comparable, Sendable {
        package var table: Int
        package var column: Int

        package static func < (left: Self, right: Self) -> Bool {
            (left.table, left.column) < (right.table, right.column)
        }
    }

    /// True if local keys are mapped to object IDs, because keys differ from device to device.
    package let isMapped: Bool

    /// The numbers of the key's columns, if object IDs are derived from them; empty otherwise.
    @exclusivity(unchecked) @usableFromInline package internal(set) var keyColumnIDs: [Int] = []
    /// The collations under which key values derive the same ID, in key order. SQLite's own comparison may differ: two
    /// IDs may be a single row to SQLite, or an ID two rows. If SQLite's equality is coarser, the key is also claimed
    /// (`KeyEquality.indexName`).
    @exclusivity(unchecked) package var identityCollations: [String] = []
    /// The present columns of a declared identity, in its order; `nil` for a column that is gone.
    @exclusivity(unchecked) package var declaredColumns: [Int?] = []
    /// True if `identityCollations` are not those of the local table.
    @exclusivity(unchecked) package var hasFormerCollations = false
    /// The collations by which SQLite compares the primary key, in key order.
    @exclusivity(unchecked) package var keyCollations: [String] = []
    /// The columns of the local table, by ascending number.
    @exclusivity(unchecked) package private(set) var localColumns: [TrackedColumn] = []

    /// The columns holding keys of mapped tables, by ascending number.
    @exclusivity(unchecked) package private(set) var referenceColumns: [TrackedColumn] = []

    /// Computes the derived properties; the last step of making the registry.
    package func finish() {
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

    /// True if a row's claims depend on its mapped key.
    package var hasIndexOnKey: Bool { uniqueIndexes.contains(where: \.isOnKey) }

    /// The columns SET NULL or SET DEFAULT may change, by number.
    @exclusivity(unchecked) package private(set) var clearableColumns: Set<Int> = []

    /// True if columns of a derived key refer to further tables, so shown key values may change.
    @exclusivity(unchecked) package private(set) var hasReferencesInKey = false

    /// Columns under UNIQUE indexes or in the key, with unchecked references to tables with integer keys. Their claims
    /// may be integers of 0 or below (`GivenKeys`).
    @exclusivity(unchecked) package var plainClaimColumns: [Int] = []

    /// Columns a unified row takes together from a single object. A group has the columns of a foreign key, of a parent
    /// key by value, or of the key. Groups sharing a column are merged.
    @exclusivity(unchecked) package private(set) var columnGroups: [ColumnGroup] = []

    package struct ColumnGroup: Sendable {
        package var columns: [Int]
        /// True if the group holds columns of the key.
        package var isKey: Bool
    }

    /// The columns of the key, and columns grouped with them. Each object of a unified row has its own values here.
    @exclusivity(unchecked) package private(set) var keyGroupColumns: Set<Int> = []

    /// Columns whose shown value may differ from the object's own value even in a row of a single object. Therefore the
    /// row may have different claims or parent keys.
    ///
    /// These are the key's columns, references by value not wholly inside a UNIQUE index, and child columns that are
    /// also parent keys. Such a claim or parent key needs a token to lead to the object (`AnomalyTokens`). Elsewhere
    /// an equal reference shows an equal value; here different references may claim the same value, or refer later to
    /// values no row shows.
    @exclusivity(unchecked) package private(set) var telltaleColumns: Set<Int> = []

    /// - Parameter collations: the collations of a foreign key's parent columns, by the key's position and in the order
    ///   of its columns. No entry for references to mapped keys.
    package func recordTelltaleColumns(_ collations: [Int: [String]]) {
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

    /// True if an index's claims may be equal for different references.
    private func splits(_ columns: [Int], _ collations: [String], _ index: TrackedUniqueIndex) -> Bool {
        if index.needsEvaluation { return true }
        let terms = index.terms.filter { $0.column.map(columns.contains) ?? false }
        if terms.isEmpty { return false }
        return !zip(columns, collations).allSatisfy { column, collation in
            terms.contains {
                $0.column == column
                    && (equalNames($0.collation, "BINARY") || equalNames($0.collation, collation))
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

    /// Marks a column as hidden: the local column of this name has a new meaning.
    package func hide(_ name: String) {
        if let number = columns.firstIndex(where: { equalNames($0.name, name) }) { columns[number].isHidden = true }
    }

    /// Records the present local names of a former key's columns.
    package func note(presentNames names: [String]) {
        guard case .key(let columns) = identity else { return }
        for (column, name) in zip(columns, names) where !equalNames(column, name) {
            guard let number = columnID(column) else { continue }
            self.columns[number].presentName = name
        }
    }

    package let objectTable: String
    package let beforeImageTable: String

    /// The table of states of a registered table.
    package static func objectTable(_ number: Int) -> String { "ferry_object_\(number)" }

    /// The number of a column, by local name or by travelling name.
    package func columnID(_ name: String) -> Int? {
        var other: Int?
        for column in columns where equalNames(column.name, name) {
            if column.isLocal { return column.id }
            // A hidden column may have the same name with a different meaning.
            if other == nil || !column.isHidden && columns[other ?? 0].isHidden { other = column.id }
        }
        return other
    }

    /// The number of a column, by travelling name.
    package func columnID(travelling name: String) -> Int? {
        columns.first { equalNames($0.travellingName, name) }?.id
    }

    /// `"a" IS ?1 AND "b" IS ?2`: the condition for the row with a local key, with parameters numbered from `first`.
    ///
    /// `=` uses the index wherever the key cannot be NULL; rows with a NULL in their key are not tracked. If SQLite's
    /// key equality differs from the IDs' equality, the condition compares both ways: by the index, and as the ID.
    package func keyCondition(first: Int) -> String {
        keyColumns.enumerated().map { place, name in
            let term = "\(quoted(name)) = ?\(place + first)"
            guard place < keyCollations.count, let column = columnID(name).map({ columns[$0] }) else { return term }
            let (key, identity) = (keyCollations[place], identityCollation(place))
            let found = equalNames(key, column.collation) ? term : "\(term) COLLATE \(quoted(key))"
            return equalNames(identity, key) ? found : "\(found) AND \(term) COLLATE \(quoted(identity))"
        }.joined(separator: " AND ")
    }

    /// The values that the local columns convert, outside of the key: a device with another column type wrote them. The
    /// row shows what SQLite makes of them, and they stay as shadow values, because they are what travels. A reference in a
    /// column without one is shown as NULL.
    /// - Returns: `nil` without any, as usual.
    @inlinable package func convertedValues(_ values: ColumnValues) -> ColumnValues? {
        var converted: ColumnValues?
        values.forEachColumn { number, value in
            let column = columns[number]
            if column.stores(value) || !column.isLocal || column.policy != .lastWriterWins { return }
            if keyColumnIDs.contains(number) { return }
            converted = converted ?? [:]
            converted?[number] = value
        }
        return converted
    }

    /// The names of the rowid not used by columns; empty if all are used.
    package var namesOfRowID: [String] {
        rowIDNames(besides: localColumns.map(\.name) + keyColumns + generatedColumns.map(\.name))
    }

    /// True if the key is the rowid. SQLite chooses the rowid for an insertion without a key.
    @inlinable package var keyIsRowID: Bool { isIntegerKey && !isWithoutRowID }

    /// The names of a mapped key in statements.
    package var namesOfMappedKey: [String] { isMapped ? keyColumns + (keyIsRowID ? namesOfRowID : []) : [] }

    /// The name in SQL.
    package var quotedName: String { quoted(localName) }

    /// The rows of this generation, as a table of a FROM clause.
    package var rows: String { formerRows?.source ?? quotedName }

    package var keyList: String { keyColumns.map(quoted).joined(separator: ", ") }
}

@usableFromInline package struct TrackedForeignKey: Sendable {
    /// The key as declared in the schema; `nil` if undeclared.
    package var declared: DeclaredKey?
    /// The child's columns by number.
    package var columns: [Int]
    /// The number of the parent's table.
    package var parent: Int
    @usableFromInline package var target: Target
    package var action: ForeignKeyAction

    @usableFromInline package enum Target: Sendable {
        /// The parent's mapped key: the value is a reference.
        case mapped
        /// The parent's own key, with derived object IDs: for each key column, the position in `columns`.
        case key([Int])
        /// Further columns under a UNIQUE index, by number.
        case unique([Int])
    }

    /// For each of `columns`, the place of its value in the parent's key; `nil` for references to non-key columns.
    package var order: [Int]? {
        switch target {
        case .mapped: return [0]
        case .key(let order):
            var places = Array(repeating: 0, count: order.count)
            for (place, position) in order.enumerated() { places[position] = place }
            return places
        case .unique: return nil
        }
    }

    /// The values of `columns` in rows referring to a row with a local key; `nil` for references to non-key columns.
    @inlinable package func parts(of key: [FieldValue]) -> [FieldValue]? {
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

package enum ForeignKeyAction: Sendable {
    case restrict, cascade, setNull, setDefault
    /// A reference named by the selection, without a foreign key in the schema. The row is shown with or without its
    /// target.
    case none
}

package struct TrackedUniqueIndex: Sendable {
    package var name: String
    package var terms: [Term]
    package var condition: String?

    package struct Term: Sendable {
        /// A column's number, or `nil` for an expression.
        package var column: Int?
        package var expression: String?
        package var collation: String
    }

    /// True if the younger of two rows with equal claims is hidden instead of unified (a policy).
    package var hidesLosers = false
    /// True for the primary key, if SQLite's equality is coarser than the derived IDs' equality.
    package var isKey = false
    /// True if terms or condition use the table's mapped key.
    package var isOnKey = false

    /// True if SQLite must compute the values: a partial index or an index on expressions.
    package var needsEvaluation: Bool { condition != nil || terms.contains { $0.column == nil } }
}

/// The names of the rowid available in statements, given a table's columns.
/// https://www.sqlite.org/lang_createtable.html#rowid
package func rowIDNames(besides columns: [String]) -> [String] {
    ["rowid", "oid", "_rowid_"].filter { name in !columns.contains { equalNames($0, name) } }
}
