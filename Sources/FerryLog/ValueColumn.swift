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
    /// A text and a blob that lie in parts.
    static let largeText = 9
    static let largeBlob = 10
    static let end = 11

    static let objectTextBytes = 36
}

/// Collects the cells of a column and writes them (Docs/Format.md, "Columns"). Runs of tags come first, then the
/// integers, the reals, the texts and blobs, the references, and the large values, each kind as a column of its own. Reused,
/// to keep its buffers.
struct ValueColumnWriter {
    private var tags = RunLength()
    private var integers: [Int64] = []
    private var reals: [Double] = []
    private var contents = ContentColumnWriter()
    private var references: [ObjectID] = []
    /// Takes large values; `nil` if all values stand in the file.
    private let largeValues: LargeValueDictionary?
    private var largeIndices: [Int64] = []
    private var largeBytes = 0

    init(_ largeValues: LargeValueDictionary? = nil) { self.largeValues = largeValues }

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
            } else if let largeValues, largeValues.takes(content) {
                try append(content, CellTag.largeText, largeValues)
            } else {
                tags.append(CellTag.text)
                try append(content)
            }
        case .blob(let content):
            if content.count == 16, object.isBytes(content) {
                tags.append(CellTag.objectBlob)
            } else if let largeValues, largeValues.takes(content) {
                try append(content, CellTag.largeBlob, largeValues)
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

    private mutating func append(
        _ content: ArraySlice<UInt8>, _ tag: Int, _ largeValues: LargeValueDictionary
    ) throws(FerryError) {
        tags.append(tag)
        largeIndices.append(Int64(try largeValues.index(of: content)))
        largeBytes += content.count
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
        if !largeIndices.isEmpty {
            try budget.take(largeBytes, .contentBytes)
            IntegerColumn.write(largeIndices, to: &writer)
            largeIndices.removeAll(keepingCapacity: true)
            largeBytes = 0
        }
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
    /// Indices of the large values.
    private let largeIndices: [Int64]
    private let large: LargeContents

    /// Reads a column of `count` cells; the caller has held `count` against a limit.
    /// - Parameter large: the file's large values.
    init(
        _ count: Int, allowingAbsent: Bool, large: LargeContents, identifiers: inout IdentifierColumnReader,
        budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) {
        let usual = allowingAbsent ? CellTag.absent + 1 : CellTag.absent
        let bound = large.values.isEmpty ? usual : CellTag.end
        tags = try RunLength.read(count, below: bound, from: &reader).runs
        var counts = Array(repeating: 0, count: CellTag.end)
        for run in tags { counts[run.value] += run.count }
        guard allowingAbsent || counts[CellTag.absent] == 0 else {
            throw ByteReader.malformed("a value has the unknown tag \(CellTag.absent)")
        }
        integers = try IntegerColumn.read(counts[CellTag.integer], from: &reader)
        reals = try RealColumn.read(counts[CellTag.real], from: &reader)
        contents = try ContentColumn(
            counts[CellTag.text] + counts[CellTag.blob], budget: &budget, from: &reader)
        references = try identifiers.read(counts[CellTag.reference], from: &reader)
        largeIndices = try Self.readIndices(
            counts[CellTag.largeText] + counts[CellTag.largeBlob], large, budget: &budget, from: &reader)
        self.large = large
        objectTags = counts[CellTag.objectBlob] + counts[CellTag.objectText] > 0
    }

    private static func readIndices(
        _ count: Int, _ large: LargeContents, budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [Int64] {
        if count == 0 { return [] }
        let indices = try IntegerColumn.read(count, from: &reader)
        for index in indices {
            guard index >= 0, index < Int64(large.values.count) else {
                throw ByteReader.malformed("an index is out of range")
            }
            try budget.take(large.values[Int(index)].count, .contentBytes)
        }
        return indices
    }

    /// True if every cell is a blob.
    var isBlobs: Bool {
        tags.allSatisfy { [CellTag.blob, CellTag.objectBlob, CellTag.largeBlob].contains($0.value) }
    }

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
        var (integer, real, content, reference, offset, largeIndex) = (0, 0, 0, 0, 0, 0)
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
            case CellTag.largeText, CellTag.largeBlob:
                for cell in cells {
                    if large.areLeftOut {
                        body(cell, .null)
                        continue
                    }
                    let bytes = large[Int(largeIndices[largeIndex + cell - first])]
                    body(cell, run.value == CellTag.largeText ? .text(bytes) : .blob(bytes))
                }
                largeIndex += run.count
            default: break
            }
        }
    }
}
