import FerryCore

/// The cells of each column of a table block, in the order of the operations. Both sides build the layout alike, in
/// time proportional to the values and the columns.
///
/// Lists the cells of a *window* of operations: all of them, or consecutive operations.
struct CellLayout {
    /// An operation and the index of its value.
    struct Cell {
        var operation: UInt32
        var value: UInt32
    }

    /// The columns with cells, ascending.
    let columns: [Int]
    /// The number of columns, if all operations have the same shape. Then no cell needs to be listed.
    private let uniformWidth: Int?
    private let operationCount: Int
    private let window: Range<Int>
    /// For each of `columns`: the number of cells, the range inside the window, and the offset from a position to the
    /// place in `cells`.
    private var counts: [Int] = []
    private var windows: [Range<Int>] = []
    private var offsets: [Int] = []
    private var cells: [Cell] = []

    /// - Parameters:
    ///   - shapes: checked against `columnCount`.
    ///   - shapeRuns: the operations' shapes, checked against `shapes`.
    ///   - window: the operations whose cells are listed; `nil` for all.
    init(
        shapes: [[Int]], shapeRuns: [RunLength.Run], columnCount: Int, operationCount: Int, window: Range<Int>? = nil
    ) {
        self.operationCount = operationCount
        let window = window ?? 0..<operationCount
        self.window = window
        if shapeRuns.count <= 1 {
            columns = shapeRuns.first.map { shapes[$0.value] } ?? []
            uniformWidth = columns.count
            return
        }
        uniformWidth = nil
        var (all, earlier, inside) = (Self.zeros(columnCount), Self.zeros(columnCount), Self.zeros(columnCount))
        var operation = 0
        for run in shapeRuns {
            let before = max(0, min(run.count, window.lowerBound - operation))
            let within = (operation..<operation + run.count).clamped(to: window).count
            for column in shapes[run.value] {
                all[column] += run.count
                earlier[column] += before
                inside[column] += within
            }
            operation += run.count
        }
        columns = all.indices.filter { all[$0] > 0 }
        var next = Self.zeros(columnCount)
        var total = 0
        for column in columns {
            counts.append(all[column])
            windows.append(earlier[column]..<earlier[column] + inside[column])
            offsets.append(total - earlier[column])
            next[column] = total
            total += inside[column]
        }
        cells = Array(repeating: Cell(operation: 0, value: 0), count: total)
        operation = 0
        var value = 0
        for run in shapeRuns {
            let shape = shapes[run.value]
            let within = (operation..<operation + run.count).clamped(to: window)
            if !within.isEmpty {
                var place = UInt32(value + (within.lowerBound - operation) * shape.count)
                for operation in within {
                    for column in shape {
                        cells[next[column]] = Cell(operation: UInt32(operation), value: place)
                        next[column] += 1
                        place += 1
                    }
                }
            }
            operation += run.count
            value += run.count * shape.count
        }
    }

    private static func zeros(_ count: Int) -> [Int] { Array(repeating: 0, count: count) }

    /// The number of cells of `columns[index]`.
    func count(_ index: Int) -> Int { uniformWidth == nil ? counts[index] : operationCount }

    /// The positions of the window's cells of `columns[index]`.
    func positions(_ index: Int) -> Range<Int> { uniformWidth == nil ? windows[index] : window }

    /// The cell at a position of `columns[index]` inside the window. Values are counted operation by operation.
    @inline(__always)
    func cell(_ index: Int, _ position: Int) -> (operation: Int, value: Int) {
        if let uniformWidth { return (position, position * uniformWidth + index) }
        let cell = cells[offsets[index] + position]
        return (Int(cell.operation), Int(cell.value))
    }
}
