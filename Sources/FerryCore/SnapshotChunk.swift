/// A part of a snapshot: consecutive objects of a table with all their registers (Docs/Format.md, "Snapshots").
///
/// The chunk says what the state says, and nothing about the device that wrote the chunk. Names are in lower case, and
/// local keys are those of an object's author. So devices with the same state write the same chunks.
@usableFromInline package struct SnapshotChunk: Sendable, Equatable {
    /// A column of the table, as cells refer to the column.
    package struct Column: Hashable, Sendable {
        /// In lower case.
        @ComparedByBytes package var name: String
        /// True if the cells hold registers (`PolicyCodec`) instead of plain values. A column with both stands twice.
        package var isRegister: Bool

        package init(name: String, isRegister: Bool = false) {
            self.name = name
            self.isRegister = isRegister
        }
    }

    /// The registers of an object, without its fields, which are cells.
    @usableFromInline package struct Object: Sendable, Equatable {
        package var id: ObjectID
        package var inserted: Stamp?
        /// The newest deletion.
        package var deleted: Stamp?
        /// Further deletions that still matter, ascending. Mostly none.
        package var earlierDeletions: [Stamp] = []
        /// The key from the object's newest insertion, in a table with surrogate or declared identity.
        package var key: FieldValue?
        /// Index of the object's columns in `shapes`.
        @usableFromInline package var shape: Int
        /// Index of the object's first cell in `cells`.
        @usableFromInline package var firstCell: Int

        package init(
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
    @usableFromInline package struct Cell: Sendable, Equatable {
        @usableFromInline package var stamp: Stamp
        @usableFromInline package var content: FieldValue

        @inlinable
        package init(stamp: Stamp, content: FieldValue) {
            self.stamp = stamp
            self.content = content
        }
    }

    /// The table's name in lower case.
    @ComparedByBytes package var table: String
    /// The names inside are in lower case.
    package var identity: TableIdentity
    /// By name, a column's plain values before its registers.
    package var columns: [Column]
    /// The distinct sets of columns of objects, as ascending indices into `columns`.
    @usableFromInline package var shapes: [[Int]]
    /// By ascending ID.
    package var objects: [Object]
    /// The cells of all objects, object after object, in the order of each shape.
    @usableFromInline package var cells: [Cell]

    package init(
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
    package func cells(of object: Object) -> ArraySlice<Cell> {
        cells[object.firstCell..<object.firstCell + shapes[object.shape].count]
    }
}
