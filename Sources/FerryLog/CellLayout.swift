import FerryCore

/// Which cells each column of a table block has, in the order of the operations. Built alike from both sides, in time
/// proportional to the values and the columns.
struct CellLayout {
    /// An operation and the index of its value.
    struct Cell {
        var operation: UInt32
        var value: UInt32
    }

    /// The columns that have cells, ascending.
    let columns: [Int]
    /// Where all operations have one shape: its number of columns. Then no cell needs to be listed.
    private let uniformWidth: Int?
    private let operationCount: Int
    /// For each of `columns`, where its cells begin in `cells`; one more at the end.
    private var starts: [Int] = []
    private var cells: [Cell] = []

    /// - Parameters:
    ///   - shapes: checked against `columnCount`.
    ///   - shapeRuns: the operations' shapes, checked against `shapes`.
    init(shapes: [[Int]], shapeRuns: [RunLength.Run], columnCount: Int, operationCount: Int, valueCount: Int) {
        self.operationCount = operationCount
        if shapeRuns.count <= 1 {
            columns = shapeRuns.first.map { shapes[$0.value] } ?? []
            uniformWidth = columns.count
            return
        }
        uniformWidth = nil
        var counts = Array(repeating: 0, count: columnCount)
        for run in shapeRuns { for column in shapes[run.value] { counts[column] += run.count } }
        columns = counts.indices.filter { counts[$0] > 0 }
        var next = Array(repeating: 0, count: columnCount)
        var total = 0
        for column in columns {
            starts.append(total)
            next[column] = total
            total += counts[column]
        }
        starts.append(total)
        cells = Array(repeating: Cell(operation: 0, value: 0), count: valueCount)
        var operation: UInt32 = 0
        var value: UInt32 = 0
        for run in shapeRuns {
            let shape = shapes[run.value]
            for _ in 0..<run.count {
                for column in shape {
                    cells[next[column]] = Cell(operation: operation, value: value)
                    next[column] += 1
                    value += 1
                }
                operation += 1
            }
        }
    }

    /// The number of cells of `columns[index]`.
    func count(_ index: Int) -> Int { uniformWidth == nil ? starts[index + 1] - starts[index] : operationCount }

    /// The cell at a position of `columns[index]`. Values are counted operation by operation.
    @inline(__always)
    func cell(_ index: Int, _ position: Int) -> (operation: Int, value: Int) {
        if let uniformWidth { return (position, position * uniformWidth + index) }
        let cell = cells[starts[index] + position]
        return (Int(cell.operation), Int(cell.value))
    }
}
