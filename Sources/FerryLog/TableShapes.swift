import FerryCore

/// The shapes of a table block: for each its number of columns, then the distance of each column from the one before.
extension TableBlock {
    static func write(
        _ shapes: [[Int]], budget: inout SegmentBudget, to writer: inout ByteWriter
    ) throws(FerryError) {
        try budget.take(shapes.count, .shapes)
        writer.writeVarint(UInt64(shapes.count))
        for shape in shapes {
            try budget.take(shape.count, .shapeColumns)
            writer.writeVarint(UInt64(shape.count))
            var next = 0
            for column in shape {
                writer.writeVarint(UInt64(column - next))
                next = column + 1
            }
        }
    }

    static func readShapes(
        columnCount: Int, budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [[Int]] {
        let count = try reader.readCount()
        try budget.take(count, .shapes)
        var shapes: [[Int]] = []
        shapes.reserveCapacity(count)
        for _ in 0..<count {
            let width = try reader.readCount()
            guard width <= columnCount else { throw ByteReader.malformed("a set of columns is too large") }
            try budget.take(width, .shapeColumns)
            var shape: [Int] = []
            shape.reserveCapacity(width)
            var next = 0
            for _ in 0..<width {
                let distance = try reader.readVarint()
                guard distance < UInt64(columnCount - next) else {
                    throw ByteReader.malformed("a set of columns is out of range")
                }
                next += Int(distance) + 1
                shape.append(next - 1)
            }
            shapes.append(shape)
        }
        return shapes
    }
}

/// Walks through runs number by number; the caller asks for no more than there are.
struct RunCursor {
    private let runs: [RunLength.Run]
    private var run = 0
    private var left: Int

    init(_ runs: [RunLength.Run]) {
        self.runs = runs
        left = runs.first?.count ?? 0
    }

    mutating func next() -> Int {
        if left == 0 {
            run += 1
            left = runs[run].count
        }
        left -= 1
        return runs[run].value
    }
}
