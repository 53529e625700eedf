import FerryCore

/// Values of many rows as read from SQLite. Texts and blobs share a buffer and can be sorted into a different order of
/// rows. So a reader going column by column finds them side by side.
@usableFromInline package struct ColumnBuffer {
    @usableFromInline enum Kind: UInt8 {
        case null, integer, real, text, blob, reference
        /// With its own buffer.
        case largeText, largeBlob
    }

    /// A value's bits; for a text or blob the offset and the number of bytes.
    @usableFromInline struct Cell {
        @usableFromInline var kind: Kind
        @usableFromInline var first: UInt64
        @usableFromInline var second: UInt64

        @inlinable init(kind: Kind, first: UInt64 = 0, second: UInt64 = 0) {
            self.kind = kind
            self.first = first
            self.second = second
        }

        /// The bytes of a text or blob in the shared buffer.
        @inlinable var range: Range<Int> { Int(first)..<Int(first + second) }
        @inlinable var isInBuffer: Bool { kind == .text || kind == .blob }
    }

    /// Larger values have their own buffer, so growing the shared buffer does not copy them.
    @inlinable static var smallBytes: Int { 4 << 10 }

    @usableFromInline let width: Int
    @usableFromInline var cells: [Cell] = []
    @usableFromInline var bytes: [UInt8] = []
    @usableFromInline var large: [ArraySlice<UInt8>] = []
    /// Bytes of all values.
    @usableFromInline package internal(set) var valueBytes = 0

    /// - Parameter width: number of values in a row.
    package init(width: Int) { self.width = width }

    @inlinable package mutating func reserveRows(_ count: Int) { cells.reserveCapacity(count * width) }

    /// Appends a value to the incomplete row.
    @inlinable package mutating func append(_ value: FieldValue) {
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

    /// Appends a statement's column.
    @inlinable package mutating func append(_ row: SQLStatement, _ column: Int32) {
        guard let isText = row.isText(column) else { return append(row.value(column)) }
        row.withBytes(column) {
            valueBytes += $0.count
            appendContent($0, isText: isText)
        }
    }

    @inlinable mutating func appendContent(_ content: UnsafeRawBufferPointer, isText: Bool) {
        if content.count > Self.smallBytes {
            cells.append(Cell(kind: isText ? .largeText : .largeBlob, first: UInt64(large.count)))
            large.append(ArraySlice(content))
            return
        }
        cells.append(
            Cell(kind: isText ? .text : .blob, first: UInt64(bytes.count), second: UInt64(content.count)))
        bytes.append(contentsOf: content)
    }

    /// The values, row by row, sharing their buffer.
    /// - Parameter order: positions of the rows; `nil` for the order of appending.
    @inlinable package func values(in order: [Int]?) -> [FieldValue] {
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

    @inlinable func value(_ cell: Cell, _ content: @autoclosure () -> ArraySlice<UInt8>) -> FieldValue {
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
