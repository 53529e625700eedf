import FerryCore
import FerrySchema

/// Gathers a table's objects into chunks.
///
/// Each object decides independently of preceding objects whether a chunk ends. A chunk ends after an object if the
/// object's hashed ID falls within a range as wide as the object is large. So ends stay in place when distant objects
/// change. An unchanged stretch of a table is the same chunk in the next snapshot.
struct SnapshotChunkBuilder {
    /// A smaller chunk does not end. Estimated bytes before compression.
    static let minimumBytes = 256 << 10
    /// A chunk of this size always ends.
    static let maximumBytes = 1 << 20
    /// The mean number of bytes a chunk goes on beyond the minimum.
    private static let meanBytes: UInt64 = 256 << 10

    /// An object's field of a column.
    struct Field {
        /// The column's position in `columns`.
        var place: Int
        var cell: SnapshotChunk.Cell
    }

    /// All columns the table's objects may have, in a chunk's order.
    let columns: [SnapshotChunk.Column]
    private let table: String
    private let identity: TableIdentity
    private var objects: [SnapshotChunk.Object] = []
    private var cells: [SnapshotChunk.Cell] = []
    /// The sets of positions in use, and their numbers.
    private var shapes: [[Int]] = []
    private var shapeNumbers: [[Int]: Int] = [:]
    private var bytes = 0
    /// True if a chunk may end after the last object.
    private var isAtEnd = false

    init(table: String, identity: TableIdentity, columns: [SnapshotChunk.Column]) {
        self.table = table
        self.identity = identity
        self.columns = columns
    }

    /// True if the chunk ends here.
    var isComplete: Bool { bytes >= Self.maximumBytes || bytes >= Self.minimumBytes && isAtEnd }
    var isEmpty: Bool { objects.isEmpty }

    /// Adds a stored object, with fields in the order of their positions.
    mutating func append(_ state: ObjectState, fields: [Field]) {
        let (id, inserted) = (state.object, state.registers.inserted)
        let shape = fields.map(\.place)
        let number: Int
        if let last = objects.last, shapes[last.shape] == shape {
            number = last.shape
        } else if let known = shapeNumbers[shape] {
            number = known
        } else {
            number = shapes.count
            shapes.append(shape)
            shapeNumbers[shape] = number
        }
        objects.append(
            .init(
                id: id, inserted: inserted, deleted: state.registers.deleted,
                earlierDeletions: state.registers.earlierDeletions, key: inserted == nil ? nil : state.givenKey,
                shape: number, firstCell: cells.count))
        var size = 32
        for field in fields {
            size += 4 + field.cell.content.byteCount + (field.cell.stamp == inserted ? 0 : 12)
            cells.append(field.cell)
        }
        bytes += size
        var hash = WordHash()
        hash.absorb(id.high)
        isAtEnd = hash.adding(id.low) % Self.meanBytes < UInt64(size)
    }

    /// Ends the chunk and begins the next. A chunk names only columns used by its objects.
    mutating func take() -> SnapshotChunk {
        let used = Set(shapes.joined()).sorted()
        let numbers = Dictionary(uniqueKeysWithValues: used.enumerated().map { ($1, $0) })
        let chunk = SnapshotChunk(
            table: table, identity: identity, columns: used.map { columns[$0] },
            shapes: shapes.map { $0.compactMap { numbers[$0] } }, objects: objects, cells: cells)
        self = SnapshotChunkBuilder(table: table, identity: identity, columns: columns)
        return chunk
    }
}
