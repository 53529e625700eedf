import FerryCore

/// The content of a column's cell, as written. The first six are `FieldValue.tag`.
enum CellTag {
    static let null = 0
    static let integer = 1
    static let real = 2
    static let text = 3
    static let blob = 4
    static let reference = 5
    /// A blob of the 16 bytes of the operation's object ID: a key that is its own identity is written once.
    static let objectBlob = 6
    /// A text of the object ID in the usual form, lower case.
    static let objectText = 7
    /// No key; in the column of keys only.
    static let absent = 8

    static let objectTextBytes = 36
}

/// Collects the cells of a column and writes them (Docs/Format.md, "Columns"). Runs of tags come first, then the
/// integers, the reals, the texts and blobs, and the references, each kind as a column of its own. Reused, to keep its
/// buffers.
struct ValueColumnWriter {
    private var tags = RunLength()
    private var integers: [Int64] = []
    private var reals: [Double] = []
    private var contents = ContentColumnWriter()
    private var references: [ObjectID] = []

    /// Appends a cell of the operation on `object`; nil is an absent key.
    mutating func append(_ value: FieldValue?, of object: ObjectID) throws(FerryError) {
        switch value {
        case nil: tags.append(CellTag.absent)
        case .null: tags.append(CellTag.null)
        case .integer(let integer):
            tags.append(CellTag.integer)
            integers.append(integer)
        case .real(let real):
            tags.append(CellTag.real)
            reals.append(real)
        case .text(let content):
            if content.count == CellTag.objectTextBytes, object.isText(content) {
                tags.append(CellTag.objectText)
            } else {
                tags.append(CellTag.text)
                try append(content)
            }
        case .blob(let content):
            if content.count == 16, object.isBytes(content) {
                tags.append(CellTag.objectBlob)
            } else {
                tags.append(CellTag.blob)
                try append(content)
            }
        case .reference(let reference):
            tags.append(CellTag.reference)
            references.append(reference)
        }
    }

    private mutating func append(_ content: ArraySlice<UInt8>) throws(FerryError) {
        guard content.count <= SegmentLimits.valueBytes else {
            throw FerryError(
                .limitExceeded,
                "A value is larger than \(SegmentLimits.valueBytes) bytes, the most that Ferry carries. "
                    + "Make it smaller."
            )
        }
        contents.append(content)
    }

    /// Writes the cells since the last call and forgets them.
    mutating func finish(
        identifiers: inout IdentifierColumnWriter, budget: inout SegmentBudget, to writer: inout ByteWriter
    ) throws(FerryError) {
        tags.write(to: &writer)
        IntegerColumn.write(integers, to: &writer)
        RealColumn.write(reals, to: &writer)
        try contents.write(budget: &budget, to: &writer)
        if !references.isEmpty { identifiers.write(references, to: &writer) }
        tags.removeAll()
        integers.removeAll(keepingCapacity: true)
        reals.removeAll(keepingCapacity: true)
        contents.removeAll()
        references.removeAll(keepingCapacity: true)
    }
}

/// The cells of a column as read, still by kind.
struct ValueColumn {
    private let tags: [RunLength.Run]
    private let integers: [Int64]
    private let reals: [Double]
    private let contents: ContentColumn
    private let references: [ObjectID]
    private let objectTags: Bool

    /// Reads a column of `count` cells; the caller has held `count` against a limit.
    init(
        _ count: Int, allowingAbsent: Bool, identifiers: inout IdentifierColumnReader, budget: inout SegmentBudget,
        from reader: inout ByteReader
    ) throws(FerryError) {
        let bound = allowingAbsent ? CellTag.absent + 1 : CellTag.absent
        tags = try RunLength.read(count, below: bound, from: &reader).runs
        var counts = [0, 0, 0, 0, 0, 0, 0, 0, 0]
        for run in tags { counts[run.value] += run.count }
        integers = try IntegerColumn.read(counts[CellTag.integer], from: &reader)
        reals = try RealColumn.read(counts[CellTag.real], from: &reader)
        contents = try ContentColumn(
            counts[CellTag.text] + counts[CellTag.blob], budget: &budget, from: &reader)
        references = try identifiers.read(counts[CellTag.reference], from: &reader)
        objectTags = counts[CellTag.objectBlob] + counts[CellTag.objectText] > 0
    }

    /// True if every cell is a blob.
    var isBlobs: Bool { tags.allSatisfy { $0.value == CellTag.blob || $0.value == CellTag.objectBlob } }

    /// Hands out every cell with content, with its position in the column.
    /// - Parameters:
    ///   - window: the positions to hand out.
    ///   - object: the object of the operation at a position.
    @inline(__always)
    func forEach(in window: Range<Int>, object: (Int) -> ObjectID, _ body: (Int, FieldValue) -> Void) {
        // The texts and blobs that repeat an object's ID share a buffer, as all others share the body's.
        var derived: [UInt8] = []
        var position = 0
        if objectTags {
            for run in tags {
                let cells = (position..<position + run.count).clamped(to: window)
                if run.value == CellTag.objectBlob {
                    for cell in cells { object(cell).appendBytes(to: &derived) }
                } else if run.value == CellTag.objectText {
                    for cell in cells { object(cell).appendText(to: &derived) }
                }
                position += run.count
            }
        }
        position = 0
        // The counts before the run in each of the columns, and in `derived`.
        var (integer, real, content, reference, offset) = (0, 0, 0, 0, 0)
        for run in tags {
            let cells = (position..<position + run.count).clamped(to: window)
            // From a cell's position to its place in the run.
            let first = position
            position += run.count
            switch run.value {
            case CellTag.null: for cell in cells { body(cell, .null) }
            case CellTag.integer:
                for cell in cells { body(cell, .integer(integers[integer + cell - first])) }
                integer += run.count
            case CellTag.real:
                for cell in cells { body(cell, .real(reals[real + cell - first])) }
                real += run.count
            case CellTag.text:
                for cell in cells { body(cell, .text(contents[content + cell - first])) }
                content += run.count
            case CellTag.blob:
                for cell in cells { body(cell, .blob(contents[content + cell - first])) }
                content += run.count
            case CellTag.reference:
                for cell in cells { body(cell, .reference(references[reference + cell - first])) }
                reference += run.count
            case CellTag.objectBlob:
                for cell in cells {
                    body(cell, .blob(derived[offset..<offset + 16]))
                    offset += 16
                }
            case CellTag.objectText:
                for cell in cells {
                    body(cell, .text(derived[offset..<offset + CellTag.objectTextBytes]))
                    offset += CellTag.objectTextBytes
                }
            default: break
            }
        }
    }
}
