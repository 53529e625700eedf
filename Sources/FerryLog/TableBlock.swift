import FerryCore

/// The blocks of a table's changes in a changeset (Docs/Format.md, "Table blocks").
enum TableBlock {
    /// Writes everything behind the layout's index: shapes, count, object IDs, kinds, times, shapes of the operations,
    /// keys, then the values column by column.
    /// - Throws: `invalidArgument` if the changes break the rules of `TableChanges`; `limitExceeded`.
    static func write(
        _ table: TableChanges, time: HybridTime, budget: inout SegmentBudget, identifiers: inout IdentifierColumnWriter,
        values: inout ValueColumnWriter, to writer: inout ByteWriter
    ) throws(FerryError) {
        try check(table)
        let operations = table.operations
        try write(table.shapes, budget: &budget, to: &writer)
        try budget.take(operations.count, .operations)
        writer.writeVarint(UInt64(operations.count))
        guard !operations.isEmpty else { return }

        identifiers.write(operations.map(\.object), to: &writer)
        var kinds = RunLength()
        var shapes = RunLength()
        var valueCount = 0
        for operation in operations {
            kinds.append(Int(operation.kind.rawValue))
            shapes.append(operation.shape)
            valueCount += table.shapes[operation.shape].count
        }
        try budget.take(valueCount, .values)
        kinds.write(to: &writer)
        IntegerColumn.write(operations.map { Int64(time.rawValue) - Int64($0.time.rawValue) }, to: &writer)
        shapes.write(to: &writer)
        for operation in operations { try values.append(operation.key, of: operation.object) }
        try values.finish(identifiers: &identifiers, budget: &budget, to: &writer)

        if table.source != nil {
            try writeColumns(
                of: table, shapeRuns: shapes.runs, budget: &budget, identifiers: &identifiers, values: &values,
                to: &writer)
            return
        }
        let layout = CellLayout(
            shapes: table.shapes, shapeRuns: shapes.runs, columnCount: table.columns.count,
            operationCount: operations.count)
        // The caller's values may lie in another order than operation by operation.
        var places: [Int] = []
        if !liesInOrder(table) {
            for operation in operations {
                places += operation.firstValue..<operation.firstValue + table.shapes[operation.shape].count
            }
        }
        for index in layout.columns.indices {
            for position in 0..<layout.count(index) {
                let (operation, value) = layout.cell(index, position)
                let content = table.values[places.isEmpty ? value : places[value]]
                try check(content, of: layout.columns[index], table)
                try values.append(content, of: operations[operation].object)
            }
            try values.finish(identifiers: &identifiers, budget: &budget, to: &writer)
        }
    }

    /// Writes the columns of changes whose values do not all lie in memory: some columns at a time are gathered from
    /// the operations.
    private static func writeColumns(
        of table: TableChanges, shapeRuns: [RunLength.Run], budget: inout SegmentBudget,
        identifiers: inout IdentifierColumnWriter, values: inout ValueColumnWriter, to writer: inout ByteWriter
    ) throws(FerryError) {
        let layout = CellLayout(
            shapes: table.shapes, shapeRuns: shapeRuns, columnCount: table.columns.count,
            operationCount: table.operations.count, window: 0..<0)
        var next = 0
        while next < layout.columns.count {
            // Of each column the cells, each with its operation.
            var cells: [[(operation: UInt32, value: FieldValue)]] = []
            var places = Array(repeating: -1, count: table.columns.count)
            var count = 0
            while next < layout.columns.count,
                cells.isEmpty || count + layout.count(next) <= SegmentLimits.valuesAtOnce / 2
            {
                places[layout.columns[next]] = cells.count
                cells.append([])
                count += layout.count(next)
                next += 1
            }
            for (index, operation) in table.operations.enumerated() {
                for (column, value) in zip(table.shapes[operation.shape], table.values(of: operation))
                where places[column] >= 0 {
                    try check(value, of: column, table)
                    cells[places[column]].append((UInt32(index), value))
                }
            }
            for column in cells.indices {
                for cell in cells[column] {
                    try values.append(cell.value, of: table.operations[Int(cell.operation)].object)
                }
                try values.finish(identifiers: &identifiers, budget: &budget, to: &writer)
                cells[column] = []
            }
        }
    }

    private static func check(
        _ value: FieldValue, of column: Int, _ table: TableChanges
    ) throws(FerryError) {
        guard table.payload(of: column) != nil else { return }
        guard case .blob = value else { throw invalid(table, "a payload is not bytes") }
    }

    /// Reads the output of `write`. Values lie operation by operation. Many values are made of their columns on
    /// request, and read again if the segment has too many (`SegmentBudget.valueWindows`).
    static func read(
        layout: TableLayout, time: HybridTime, large: LargeContents, budget: inout SegmentBudget,
        identifiers: inout IdentifierColumnReader, from reader: inout ByteReader
    ) throws(FerryError) -> TableChanges {
        let shapes = try readShapes(columnCount: layout.columns.count, budget: &budget, from: &reader)
        let claimed = try reader.readVarint()
        try budget.take(Int(clamping: claimed), .operations)
        let count = Int(claimed)
        var table = TableChanges(
            name: layout.name, identity: layout.identity, columns: layout.columns, payloads: layout.payloads,
            shapes: shapes)
        guard count > 0 else { return table }

        let objects = try identifiers.read(count, from: &reader)
        let kinds = try RunLength.read(count, below: Int(ObjectOperation.Kind.delete.rawValue) + 1, from: &reader).runs
        let times = try IntegerColumn.read(count, from: &reader)
        let shapeRuns = try RunLength.read(count, below: shapes.count, from: &reader).runs
        var valueCount = 0
        for run in shapeRuns {
            let (values, overflow) = run.count.multipliedReportingOverflow(by: shapes[run.value].count)
            try budget.take(overflow ? Int.max : values, .values)
            valueCount += values
        }

        var operations: [ObjectOperation] = []
        operations.reserveCapacity(count)
        var previous: (object: ObjectID, time: HybridTime)?
        var kindRun = RunCursor(kinds)
        var shapeRun = RunCursor(shapeRuns)
        var firstValue = 0
        for index in 0..<count {
            guard let kind = ObjectOperation.Kind(rawValue: UInt8(kindRun.next())) else {
                throw ByteReader.malformed("an operation has an unknown kind")
            }
            let shape = shapeRun.next()
            let width = shapes[shape].count
            guard kind != .delete || width == 0 else { throw ByteReader.malformed("a deletion carries values") }
            let (operationTime, overflows) = Int64(time.rawValue).subtractingReportingOverflow(times[index])
            guard !overflows, operationTime >= 0, operationTime <= Int64(HybridTime.latest.rawValue) else {
                throw ByteReader.malformed("a time is out of range")
            }
            let operation = ObjectOperation(
                object: objects[index], kind: kind,
                time: HybridTime(rawValue: UInt64(operationTime)), shape: shape, firstValue: firstValue)
            let place = (object: operation.object, time: operation.time)
            guard previous.map({ inOrder($0, place) }) ?? true else {
                throw ByteReader.malformed("its operations are not in order")
            }
            previous = place
            operations.append(operation)
            firstValue += width
        }

        let keys = try ValueColumn(
            count, allowingAbsent: true, large: large, identifiers: &identifiers, budget: &budget, from: &reader)
        keys.forEach(in: 0..<count) {
            objects[$0]
        } _: {
            operations[$0].key = $1
        }

        table.operations = operations
        let windows = budget.valueWindows
        let areInMemory = windows == 1 && valueCount <= budget.fewValues
        let cells = CellLayout(
            shapes: shapes, shapeRuns: shapeRuns, columnCount: layout.columns.count, operationCount: count,
            window: areInMemory ? nil : 0..<0)
        if windows > 1 { identifiers.startNoting() }
        let start = reader
        var values = Array(repeating: FieldValue.null, count: areInMemory ? valueCount : 0)
        var columns: [ValueColumn] = []
        for index in cells.columns.indices {
            let column = try ValueColumn(
                cells.count(index), allowingAbsent: false, large: large, identifiers: &identifiers, budget: &budget,
                from: &reader)
            column.forEach(in: cells.positions(index)) {
                objects[cells.cell(index, $0).operation]
            } _: {
                values[cells.cell(index, $0).value] = $1
            }
            guard table.payload(of: cells.columns[index]) == nil || column.isBlobs else {
                throw ByteReader.malformed("a payload is not bytes")
            }
            if windows == 1, !areInMemory { columns.append(column) }
        }
        table.values = values
        if !areInMemory {
            let place = BlockValues.Place(
                shapes: shapes, shapeRuns: shapeRuns, columnCount: layout.columns.count, operations: operations,
                columns: windows > 1 ? .inBody(identifiers.readerFromStart(), start) : .inMemory(columns), large: large)
            table.source = BlockValues(
                place, count: valueCount,
                atOnce: windows > 1 ? valueCount / windows : BlockValues.atOnce(of: valueCount, few: budget.fewValues))
        }
        return table
    }

    /// True if an operation may stand before another operation: by object, then by time.
    private static func inOrder(
        _ left: (object: ObjectID, time: HybridTime), _ right: (object: ObjectID, time: HybridTime)
    ) -> Bool {
        left.object != right.object ? left.object < right.object : left.time <= right.time
    }

    private static func liesInOrder(_ table: TableChanges) -> Bool {
        var next = 0
        for operation in table.operations {
            let width = table.shapes[operation.shape].count
            if width > 0, operation.firstValue != next { return false }
            next += width
        }
        return true
    }

    private static func check(_ table: TableChanges) throws(FerryError) {
        guard table.payloads.isEmpty || table.payloads.count == table.columns.count else {
            throw invalid(table, "it does not say of each column whether it carries payloads")
        }
        for shape in table.shapes {
            var previous = -1
            for column in shape {
                guard column > previous, column < table.columns.count else {
                    throw invalid(table, "a set of columns is not ascending or out of range")
                }
                previous = column
            }
        }
        var previous: (object: ObjectID, time: HybridTime)?
        for operation in table.operations {
            guard table.shapes.indices.contains(operation.shape) else {
                throw invalid(table, "an operation's set of columns does not exist")
            }
            let width = table.shapes[operation.shape].count
            guard operation.kind != .delete || width == 0 else { throw invalid(table, "a deletion carries values") }
            guard width == 0 || operation.firstValue >= 0 && operation.firstValue <= table.valueCount - width else {
                throw invalid(table, "an operation's values do not exist")
            }
            guard operation.time <= .latest else { throw invalid(table, "an operation's time is out of range") }
            let place = (object: operation.object, time: operation.time)
            guard previous.map({ inOrder($0, place) }) ?? true else {
                throw invalid(table, "its operations are not in order")
            }
            previous = place
        }
    }

    private static func invalid(_ table: TableChanges, _ what: String) -> FerryError {
        FerryError(.invalidArgument, "The changes to the table “\(table.name)” cannot be written: \(what).")
    }
}
