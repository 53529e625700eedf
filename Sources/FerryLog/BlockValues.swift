import FerryCore
import Synchronization

/// The values of a table block, with only a window of operations in memory; the rest is read from the segment's body on
/// request.
///
/// Equal values take hardly any bytes of a segment. So a small segment can hold more values than a device has memory
/// for. Reading a window means a look through all columns of the block. A window's part of its block equals the part of
/// the segment's values that may be in memory at once. So the number of looks is the quotient of both, and not the
/// number of operations.
///
/// Of fewer values, and yet many, the columns stay in memory as read. A value takes eight bytes or sixteen there, and
/// forty in a window. Such a window is made quickly and can be small.
final class BlockValues: ChangeValueSource {
    /// The block, and its columns of values.
    struct Place: Sendable {
        var shapes: [[Int]]
        var shapeRuns: [RunLength.Run]
        var columnCount: Int
        var operations: [ObjectOperation]
        var columns: Columns
        var large: LargeContents
    }

    enum Columns: Sendable {
        /// In the order of `CellLayout.columns`.
        case inMemory([ValueColumn])
        /// The reader's state at their beginning. All was read before, so reading again cannot fail.
        case inBody(IdentifierColumnReader, ByteReader)
    }

    /// Blocks with no more values have them all in memory.
    static let few = 1 << 14
    /// The number of values in a window of columns in memory: large enough to look through a list of shapes only once
    /// per window.
    static func atOnce(of count: Int, few: Int) -> Int { max(few, count / 64) }

    let count: Int
    private let place: Place
    /// The most values in a window. A larger operation is a window that is not kept.
    private let atOnce: Int
    private let window = Mutex(Window())

    private struct Window {
        var first = 0
        var values: [FieldValue] = []
    }

    init(_ place: Place, count: Int, atOnce: Int) {
        self.place = place
        self.count = count
        self.atOnce = atOnce
    }

    /// How many values the present window has.
    var valuesInMemory: Int { window.withLock { $0.values.count } }

    func values(at indices: Range<Int>) -> ArraySlice<FieldValue> {
        if indices.isEmpty { return [] }
        return window.withLock { window in
            let end = window.first + window.values.count
            if indices.lowerBound < window.first || indices.upperBound > end {
                window = Window()
                let read = read(from: indices.lowerBound, through: indices.upperBound)
                if indices.count > atOnce { return read.values[...] }
                window = read
            }
            return window.values[indices.lowerBound - window.first..<indices.upperBound - window.first]
        }
    }

    /// Reads the values from an operation's first on, those before `end` at least and no more than a window has.
    private func read(from start: Int, through end: Int) -> Window {
        let limit = max(end, start + atOnce)
        let first = operation { $0 >= start }
        let last = limit >= count ? place.operations.count : operation { $0 > limit } - 1
        let upperBound = last < place.operations.count ? place.operations[last].firstValue : count
        var window = Window(first: start)
        window.values.reserveCapacity(upperBound - start)
        // `Array(repeating:count:)` makes a copy for each.
        for _ in start..<upperBound { window.values.append(.null) }
        let layout = CellLayout(
            shapes: place.shapes, shapeRuns: place.shapeRuns, columnCount: place.columnCount,
            operationCount: place.operations.count, window: first..<last)
        func fill(_ index: Int, _ column: ValueColumn) {
            column.forEach(in: layout.positions(index)) {
                place.operations[layout.cell(index, $0).operation].object
            } _: {
                window.values[layout.cell(index, $0).value - start] = $1
            }
        }
        switch place.columns {
        case .inMemory(let columns):
            for index in columns.indices { fill(index, columns[index]) }
        case .inBody(var identifiers, var reader):
            var budget = SegmentBudget.forReadingAgain
            do {
                for index in layout.columns.indices {
                    fill(
                        index,
                        try ValueColumn(
                            layout.count(index), allowingAbsent: false, large: place.large, identifiers: &identifiers,
                            budget: &budget, from: &reader))
                }
            } catch {
                preconditionFailure("What was read once cannot be read again: \(error)")
            }
        }
        return window
    }

    /// The first operation whose first value's index fulfils a condition. All operations behind fulfil the condition,
    /// too.
    private func operation(where condition: (Int) -> Bool) -> Int {
        var range = 0..<place.operations.count
        while let middle = range.isEmpty ? nil : range.lowerBound + range.count / 2 {
            if condition(place.operations[middle].firstValue) {
                range = range.lowerBound..<middle
            } else {
                range = middle + 1..<range.upperBound
            }
        }
        return range.lowerBound
    }
}
