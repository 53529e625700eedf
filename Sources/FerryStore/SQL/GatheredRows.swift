import FerryCore

/// Values of many rows as SQLite hands them out. Texts and blobs lie in one buffer, not in one each, and can be put in another
/// order of the rows: what reads them column by column finds them one beside the other.
struct GatheredRows {
    private enum Kind: UInt8 {
        case null, integer, real, text, blob, reference
        /// Has a buffer of its own.
        case largeText, largeBlob
    }

    /// A value's bits; of texts and blobs where they are and how many bytes they have.
    private struct Cell {
        var kind: Kind
        var first: UInt64 = 0
        var second: UInt64 = 0

        /// Where a text or blob lies among the others.
        var range: Range<Int> { Int(first)..<Int(first + second) }
        var isInBuffer: Bool { kind == .text || kind == .blob }
    }

    /// More bytes have a buffer of their own, so that they are not copied each time the common one grows.
    private static let smallBytes = 4 << 10

    private let width: Int
    private var cells: [Cell] = []
    private var bytes: [UInt8] = []
    private var large: [ArraySlice<UInt8>] = []
    /// What all values take.
    private(set) var valueBytes = 0

    /// - Parameter width: how many values a row has.
    init(width: Int) { self.width = width }

    mutating func reserveRows(_ count: Int) { cells.reserveCapacity(count * width) }

    /// Appends a value to the row that is not complete yet.
    mutating func append(_ value: FieldValue) {
        valueBytes += value.byteCount
        switch value {
        case .null: cells.append(Cell(kind: .null))
        case .integer(let integer): cells.append(Cell(kind: .integer, first: UInt64(bitPattern: integer)))
        case .real(let real): cells.append(Cell(kind: .real, first: real.bitPattern))
        case .reference(let object): cells.append(Cell(kind: .reference, first: object.high, second: object.low))
        case .text(let content): content.withUnsafeBytes { appendContent($0, isText: true) }
        case .blob(let content): content.withUnsafeBytes { appendContent($0, isText: false) }
        }
    }

    /// Appends what a statement has in a column.
    mutating func append(_ row: SQLStatement, _ column: Int32) {
        guard let isText = row.isText(column) else { return append(row.value(column)) }
        row.withBytes(column) {
            valueBytes += $0.count
            appendContent($0, isText: isText)
        }
    }

    private mutating func appendContent(_ content: UnsafeRawBufferPointer, isText: Bool) {
        if content.count > Self.smallBytes {
            cells.append(Cell(kind: isText ? .largeText : .largeBlob, first: UInt64(large.count)))
            large.append(ArraySlice(content))
            return
        }
        cells.append(
            Cell(kind: isText ? .text : .blob, first: UInt64(bytes.count), second: UInt64(content.count)))
        bytes.append(contentsOf: content)
    }

    /// The values, row by row, which share their buffer.
    /// - Parameter order: the places of the rows; `nil` for that in which they were appended.
    func values(in order: [Int]?) -> [FieldValue] {
        var values: [FieldValue] = []
        values.reserveCapacity(cells.count)
        guard let order else {
            for cell in cells { values.append(value(cell, bytes[cell.range])) }
            return values
        }
        var sorted: [UInt8] = []
        sorted.reserveCapacity(bytes.count)
        for place in order {
            for cell in cells[place * width..<(place + 1) * width] where cell.isInBuffer {
                sorted.append(contentsOf: bytes[cell.range])
            }
        }
        var start = 0
        for place in order {
            for cell in cells[place * width..<(place + 1) * width] {
                let end = start + (cell.isInBuffer ? Int(cell.second) : 0)
                values.append(value(cell, sorted[start..<end]))
                start = end
            }
        }
        return values
    }

    private func value(_ cell: Cell, _ content: @autoclosure () -> ArraySlice<UInt8>) -> FieldValue {
        switch cell.kind {
        case .null: .null
        case .integer: .integer(Int64(bitPattern: cell.first))
        case .real: .real(Double(bitPattern: cell.first))
        case .text: .text(content())
        case .blob: .blob(content())
        case .reference: .reference(ObjectID(high: cell.first, low: cell.second))
        case .largeText: .text(large[Int(cell.first)])
        case .largeBlob: .blob(large[Int(cell.first)])
        }
    }
}
