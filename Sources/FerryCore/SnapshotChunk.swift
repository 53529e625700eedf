/// A part of a snapshot: consecutive objects of one table with all their registers (Docs/Format.md, "Snapshots").
///
/// It says what the state says and nothing about the device that wrote it: names are in lower case, and of local keys
/// there are those that an object's author gave it. So devices with the same state write the same chunks.
public struct SnapshotChunk: Sendable, Equatable {
    /// A column of the table's, as cells refer to it.
    public struct Column: Hashable, Sendable {
        /// In lower case.
        public var name: String
        /// Whether its cells hold registers (`PolicyCodec`) instead of plain values. A column with both stands twice.
        public var isRegister: Bool

        public init(name: String, isRegister: Bool = false) {
            self.name = name
            self.isRegister = isRegister
        }
    }

    /// The registers of one object but for its fields, which are cells.
    public struct Object: Sendable, Equatable {
        public var id: ObjectID
        public var inserted: Stamp?
        /// The newest deletion.
        public var deleted: Stamp?
        /// Further deletions that still matter, ascending. Mostly none.
        public var earlierDeletions: [Stamp] = []
        /// The key that the newest insertion gave it, in a table with surrogate or declared identity.
        public var key: FieldValue?
        /// Index of its columns in `shapes`.
        public var shape: Int
        /// Index of its first cell in `cells`.
        public var firstCell: Int

        public init(
            id: ObjectID, inserted: Stamp?, deleted: Stamp?, earlierDeletions: [Stamp] = [], key: FieldValue?,
            shape: Int, firstCell: Int
        ) {
            self.id = id
            self.inserted = inserted
            self.deleted = deleted
            self.earlierDeletions = earlierDeletions
            self.key = key
            self.shape = shape
            self.firstCell = firstCell
        }
    }

    /// A field: its newest stamp, and its value or register.
    public struct Cell: Sendable, Equatable {
        public var stamp: Stamp
        public var content: FieldValue

        @inlinable
        public init(stamp: Stamp, content: FieldValue) {
            self.stamp = stamp
            self.content = content
        }
    }

    /// The table's name in lower case.
    public var table: String
    /// The names in it in lower case.
    public var identity: TableIdentity
    /// By name, a column's plain values before its registers.
    public var columns: [Column]
    /// The distinct sets of columns that objects have, as ascending indices into `columns`.
    public var shapes: [[Int]]
    /// By ascending ID.
    public var objects: [Object]
    /// The cells of all objects, one object after another, in the order of its shape.
    public var cells: [Cell]

    public init(
        table: String, identity: TableIdentity, columns: [Column] = [], shapes: [[Int]] = [], objects: [Object] = [],
        cells: [Cell] = []
    ) {
        self.table = table
        self.identity = identity
        self.columns = columns
        self.shapes = shapes
        self.objects = objects
        self.cells = cells
    }

    /// The cells of an object, in the order of its shape's columns.
    @inlinable
    public func cells(of object: Object) -> ArraySlice<Cell> {
        cells[object.firstCell..<object.firstCell + shapes[object.shape].count]
    }
}
