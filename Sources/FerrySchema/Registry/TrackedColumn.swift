import FerryCore
import FerrySQL

/// A column of a travelling table, as described by the registry and the local schema.
@usableFromInline package struct TrackedColumn: Sendable {
    package var id: Int
    @usableFromInline package var name: String
    /// The present local name of a renamed key column or of a variant, and the travelling name of a renamed column.
    package var presentName: String?
    @usableFromInline package var formerName: String?
    /// True if the local table has a column of this name with a different meaning.
    package var isHidden = false
    /// The same local column under former meanings, and columns that this one replaced in a migration.
    package var precursors: [Int] = []
    /// True if the column had or has values with another meaning (`ColumnMeaning`).
    package var hasOtherMeanings = false
    /// The column's name in changesets.
    @inlinable package var travellingName: String { formerName ?? name }
    /// The travelling name without a target (`ColumnMeaning`).
    package var baseName: String { ColumnMeaning.base(of: travellingName) ?? travellingName }
    /// True for a column that has taken another column's place, because its values mean something else.
    package var isVariant: Bool { ColumnMeaning.base(of: travellingName) != nil }
    /// True if the local table has the column and values travel.
    @usableFromInline package var isLocal: Bool
    @usableFromInline package var affinity: SchemaColumn.Affinity = .blob
    package var collation = "BINARY"
    /// The number of the mapped table referred to; values then travel as references.
    @usableFromInline package var reference: Int?
    /// The affinity of the parent key.
    @usableFromInline package var keyAffinity = SchemaColumn.Affinity.blob
    /// True if no foreign key ensures a parent row.
    package var isUnchecked = false
    package var defaultSQL: String? {
        didSet { hasConstantDefault = defaultSQL.map(DefaultText.isConstant) ?? true }
    }
    /// True if an unwritten column shows the same value on every device: no time and no random number.
    package private(set) var hasConstantDefault = true
    /// True if travelling rows may hold NULL here: neither NOT NULL nor in the key.
    package var mayBeNull = true
    /// How concurrent writes merge.
    @usableFromInline package var policy = ColumnPolicy.lastWriterWins

    package init(
        id: Int, name: String, presentName: String? = nil, formerName: String? = nil, isHidden: Bool = false,
        precursors: [Int] = [], isLocal: Bool, affinity: SchemaColumn.Affinity = .blob, collation: String = "BINARY",
        reference: Int? = nil, keyAffinity: SchemaColumn.Affinity = .blob, isUnchecked: Bool = false,
        defaultSQL: String? = nil, mayBeNull: Bool = true, policy: ColumnPolicy = .lastWriterWins
    ) {
        self.id = id
        self.name = name
        self.presentName = presentName
        self.formerName = formerName
        self.isHidden = isHidden
        self.precursors = precursors
        self.isLocal = isLocal
        self.affinity = affinity
        self.collation = collation
        self.reference = reference
        self.keyAffinity = keyAffinity
        self.isUnchecked = isUnchecked
        self.defaultSQL = defaultSQL
        hasConstantDefault = defaultSQL.map(DefaultText.isConstant) ?? true
        self.mayBeNull = mayBeNull
        self.policy = policy
    }
}

extension TrackedColumn {
    /// True if a row shows a portable value as written. A reference is shown by a column with one, unless rules decide otherwise.
    @inlinable package func stores(_ value: FieldValue) -> Bool {
        if case .reference = value { return reference != nil }
        return value.isStored(by: affinity)
    }

    /// The present value of the column's default, as SQLite evaluates and stores it: 0 in a REAL column is 0.0. `nil` without a default.
    package func defaultValue(_ connection: SQLConnection) throws -> FieldValue? {
        guard let defaultSQL else { return nil }
        return try (connection.firstValue("SELECT \(defaultSQL)") ?? .null).taken(by: affinity)
    }
}
