/// The changes that a flush of a device captured; replayed in a single transaction.
package struct Changeset: Sendable {
    package var device: DeviceID
    /// The changeset's number in the device's log, from 1, without gaps.
    package var sequence: UInt64
    /// The latest time of any change inside, at least the time of the changeset before.
    package var time: HybridTime
    /// Everything that the author had replayed by then, except the author's own log.
    package var context: VersionVector
    /// The author's schema; only in the author's first changeset and after a change of the schema.
    package var schema: SchemaRecord?
    package var tables: [TableChanges]
    /// True if this device replayed or wrote the changeset before, under a previous identity or on a branch of a forked log. The
    /// changeset is replayed again for forgotten deletions. No file holds this flag.
    package var isReplayed = false

    package init(
        device: DeviceID, sequence: UInt64, time: HybridTime, context: VersionVector, schema: SchemaRecord? = nil,
        tables: [TableChanges]
    ) {
        self.device = device
        self.sequence = sequence
        self.time = time
        self.context = context
        self.schema = schema
        self.tables = tables
    }

    /// The number of operations on objects.
    package var operationCount: Int { tables.reduce(0) { $0 + $1.operations.count } }

    /// True if some column carries payloads instead of plain values.
    package var carriesPayloads: Bool { tables.contains { $0.payloads.contains { $0 != nil } } }
}

/// How the objects of a table are identified (Docs/Rules.md, "Identity").
package enum TableIdentity: Hashable, Sendable {
    /// IDs are minted at capture and mapped to a local integer key.
    case surrogate
    /// The same, by a column that became the integer key in place of another column.
    case surrogateBy(String)
    /// IDs are derived from the values of the primary key's columns, named here in key order.
    case key([String])
    /// IDs are derived, at insertion, from the values of the columns that a person named.
    case declared([String])

    /// Two identities are the same where their columns have the same bytes.
    package static func == (left: Self, right: Self) -> Bool {
        left.kind == right.kind && [String].areEqualBytes(left.columns, right.columns)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        columns.hashBytes(into: &hasher)
    }

    /// The order of a table's generations in a snapshot: by kind, then by the names of the columns as bytes.
    package func precedes(_ other: TableIdentity) -> Bool {
        if kind != other.kind { return kind < other.kind }
        let (left, right) = (columns, other.columns)
        for (name, otherName) in zip(left, right) where !equalBytes(name, otherName) {
            return name.utf8.lexicographicallyPrecedes(otherName.utf8)
        }
        return left.count < right.count
    }

    private var kind: UInt8 {
        switch self {
        case .surrogate: 0
        case .key: 1
        case .declared: 2
        case .surrogateBy: 3
        }
    }

    /// True if IDs are derived from the primary key.
    package var isKey: Bool { if case .key = self { true } else { false } }

    /// True if IDs are minted, and say nothing of a row's values.
    package var isSurrogate: Bool {
        switch self {
        case .surrogate, .surrogateBy: true
        case .key, .declared: false
        }
    }

    /// The columns that the identity names.
    package var columns: [String] {
        switch self {
        case .surrogate: []
        case .surrogateBy(let column): [column]
        case .key(let columns), .declared(let columns): columns
        }
    }
}

/// A changeset's changes to a table. Values lie in a single array, so that an operation allocates nothing.
@usableFromInline package struct TableChanges: Sendable {
    package var name: String
    package var identity: TableIdentity
    /// The names of the columns to which the shapes refer.
    package var columns: [String]
    /// For each of `columns` the kind of part that the values are; `nil` for plain values. A column with both stands
    /// twice in `columns`. Empty if all values are plain.
    @usableFromInline package var payloads: [PayloadKind?]
    /// The distinct sets of columns of operations, as ascending indices into `columns`.
    @usableFromInline package var shapes: [[Int]]
    /// Sorted by object ID; an object's own operations in the order of their times.
    package var operations: [ObjectOperation]
    /// The values of all operations, in a row. Empty if `source` has the values.
    @usableFromInline package var values: [FieldValue]
    /// Where the values are made or read when they are asked for: there are too many of them to lie in memory.
    @usableFromInline package var source: (any ChangeValueSource)?

    package init(
        name: String, identity: TableIdentity, columns: [String] = [], payloads: [PayloadKind?] = [],
        shapes: [[Int]] = [], operations: [ObjectOperation] = [], values: [FieldValue] = []
    ) {
        self.name = name
        self.identity = identity
        self.columns = columns
        self.payloads = payloads
        self.shapes = shapes
        self.operations = operations
        self.values = values
    }

    /// The kind of part that a column's values are; the column by its index in `columns`.
    @inlinable
    package func payload(of column: Int) -> PayloadKind? { column < payloads.count ? payloads[column] : nil }

    /// The number of all operations' values.
    @inlinable package var valueCount: Int { source?.count ?? values.count }

    /// The values of an operation, in the order of its shape's columns. With a `source` this is fast for operations in
    /// their order.
    @inlinable
    package func values(of operation: ObjectOperation) -> ArraySlice<FieldValue> {
        let indices = operation.firstValue..<operation.firstValue + shapes[operation.shape].count
        if let source { return source.values(at: indices) }
        return values[indices]
    }
}

/// Has the verified values of a table's changes, and hands them out operation by operation.
@usableFromInline package protocol ChangeValueSource: AnyObject, Sendable {
    /// The number of values.
    var count: Int { get }
    /// The values of an operation, by their indices among all values.
    func values(at indices: Range<Int>) -> ArraySlice<FieldValue>
}

/// A change of an object. A changeset has a hundred thousand operations and more, so an operation takes 48 bytes.
@usableFromInline package struct ObjectOperation: Sendable {
    @usableFromInline package enum Kind: UInt8, Sendable {
        case insert = 1
        case update = 2
        case delete = 3
    }

    @usableFromInline package var object: ObjectID
    @usableFromInline package var time: HybridTime
    /// Index of the operation's first value in `TableChanges.values`.
    @usableFromInline package var firstValue: Int
    @usableFromInline var storedKey: Key
    @usableFromInline package var kind: Kind
    @usableFromInline var storedShape: Int32

    /// Mostly an integer, if there is a key.
    @usableFromInline
    enum Key: Sendable {
        case none
        case integer(Int64)
        case other(OtherKey)
    }

    @usableFromInline
    final class OtherKey: Sendable {
        @usableFromInline let value: FieldValue

        @usableFromInline
        init(_ value: FieldValue) { self.value = value }
    }

    @inlinable
    package init(
        object: ObjectID, kind: Kind, time: HybridTime, key: FieldValue? = nil, shape: Int, firstValue: Int
    ) {
        self.object = object
        self.kind = kind
        self.time = time
        self.firstValue = firstValue
        storedShape = Int32(clamping: shape)
        storedKey = .none
        self.key = key
    }

    /// At insertion into a table with surrogate or declared identity: the author's local key, a wish.
    @inlinable
    package var key: FieldValue? {
        get {
            switch storedKey {
            case .none: nil
            case .integer(let key): .integer(key)
            case .other(let key): key.value
            }
        }
        set {
            switch newValue {
            case nil: storedKey = .none
            case .integer(let key): storedKey = .integer(key)
            case let key?: storedKey = .other(OtherKey(key))
            }
        }
    }

    /// Index of the operation's columns in `TableChanges.shapes`; a deletion's shape has no columns.
    @inlinable
    package var shape: Int {
        get { Int(storedShape) }
        set { storedShape = Int32(clamping: newValue) }
    }
}

/// The statements that create an author's schema, so that a device can join with an empty database.
package struct SchemaRecord: Equatable, Sendable {
    /// A statement of `sqlite_schema`.
    package struct Statement: Equatable, Sendable {
        /// `table`, `index`, `view` or `trigger`.
        @ComparedByBytes package var type: String
        @ComparedByBytes package var name: String
        /// The table to which the statement belongs.
        @ComparedByBytes package var table: String
        @ComparedByBytes package var sql: String

        package init(type: String, name: String, table: String, sql: String) {
            self.type = type
            self.name = name
            self.table = table
            self.sql = sql
        }
    }

    package var userVersion: Int64
    package var applicationID: Int64
    /// Tables first, then indexes, views and triggers, in the order of their creation.
    package var statements: [Statement]
    /// Each tracked table and its identity. A device that joins tracks the same tables in the same way.
    package var tracked: [TrackedTableRecord]
    /// References between tracked tables that no foreign key declares.
    package var references: [UndeclaredReference]
    /// The rows of the tables in which migration tools note what they have run. They belong to the statements: a database made from
    /// the statements has had these migrations.
    package var bookkeeping: [BookkeepingRows]

    package init(
        userVersion: Int64, applicationID: Int64, statements: [Statement], tracked: [TrackedTableRecord],
        references: [UndeclaredReference] = [], bookkeeping: [BookkeepingRows] = []
    ) {
        self.userVersion = userVersion
        self.applicationID = applicationID
        self.statements = statements
        self.tracked = tracked
        self.references = references
        self.bookkeeping = bookkeeping
    }
}

/// The rows of a table in which a migration tool notes what it has run.
package struct BookkeepingRows: Equatable, Sendable {
    /// Values of all such tables in a schema.
    package static let maximumValues = 100_000
    /// Bytes of all texts and blobs among these values.
    package static let maximumBytes = 1 << 20

    @ComparedByBytes package var table: String
    @ComparedByBytes package var columns: [String]
    /// Each row has a value for each column, and no value is a reference.
    package var rows: [[FieldValue]]

    package init(table: String, columns: [String], rows: [[FieldValue]]) {
        self.table = table
        self.columns = columns
        self.rows = rows
    }
}

/// A column that holds another table's keys without a foreign key in the schema.
public struct UndeclaredReference: Hashable, Codable, Sendable {
    /// The table with the column.
    @ComparedByBytes package var table: String
    @ComparedByBytes package var column: String
    /// The table whose primary key the column's values are.
    @ComparedByBytes package var parent: String

    public init(table: String, column: String, parent: String) {
        self.table = table
        self.column = column
        self.parent = parent
    }
}

/// A column with another name in the schema's statements.
package struct RenamedColumn: Codable, Hashable, Sendable {
    /// The name under which the column travels.
    @ComparedByBytes package var name: String
    /// The name in the statements.
    @ComparedByBytes package var localName: String

    package init(name: String, localName: String) {
        self.name = name
        self.localName = localName
    }
}

/// A travelling table, and how its objects are identified.
package struct TrackedTableRecord: Equatable, Sendable {
    /// The name under which the table travels.
    @ComparedByBytes package var name: String
    package var identity: TableIdentity
    /// The name in the schema's statements, if the table was renamed; `nil` for the same name.
    @ComparedByBytes package var localName: String?
    /// The collations under which key values derive the same ID, in key order, if the statements have others.
    @ComparedByBytes package var keyCollations: [String]
    /// The present columns of a declared identity, if some were renamed; empty text for a column that is gone.
    @ComparedByBytes package var identityColumns: [String]
    /// The columns that the statements have under another name, in the order of the names in the statements.
    package var renamedColumns: [RenamedColumn]

    package init(
        name: String, identity: TableIdentity, localName: String? = nil, keyCollations: [String] = [],
        identityColumns: [String] = [], renamedColumns: [RenamedColumn] = []
    ) {
        self.name = name
        self.identity = identity
        self.localName = localName
        self.keyCollations = keyCollations
        self.identityColumns = identityColumns
        self.renamedColumns = renamedColumns
    }

    /// True if the statements do not describe the table as it travels.
    package var hasPast: Bool {
        localName != nil || !keyCollations.isEmpty || !identityColumns.isEmpty || !renamedColumns.isEmpty
    }

    /// The name in the schema's statements.
    package var statementName: String { localName ?? name }
}
