import FerryCore

/// Decodes chunks of snapshots that nobody vouches for (Docs/Format.md, "Chunks"). Whatever the bytes, the decoder
/// returns or throws, in time and memory bounded by `SnapshotLimits`.
package enum SnapshotChunkDecoder {
    /// Verifies a file without decoding its content.
    /// - Throws: as `decode`.
    package static func verify(_ file: [UInt8], container: ContainerID) throws(FerryError) -> Checksum {
        try SnapshotFile.decode(file, .chunk, container: container).checksum
    }

    /// Decodes a whole file. Texts and blobs are slices that share the decompressed body.
    /// - Parameter parts: where the bytes of large values come from.
    /// - Throws: what `parts` throws; `damagedFile` if the file is cut off or changed: it may be incomplete yet, so look again later.
    ///   `formatTooNew` if a newer Ferry wrote the file. `foreignFile` if the file belongs to another container.
    package static func decode(
        _ file: [UInt8], container: ContainerID, parts: PartSource = .none
    ) throws(FerryError) -> (chunk: SnapshotChunk, checksum: Checksum) {
        let (body, version, checksum) = try SnapshotFile.decode(file, .chunk, container: container)
        return (try decode(body: body, version: version, container: container, parts: parts), checksum)
    }

    /// - Parameters:
    ///   - version: the file's.
    ///   - container: the container of parts.
    static func decode(
        body: ArraySlice<UInt8>, version: UInt8 = 1, container: ContainerID = ContainerID(high: 0, low: 0),
        parts: PartSource = .none
    ) throws(FerryError) -> SnapshotChunk {
        var reader = ByteReader(body)
        var budget = SegmentBudget.forSnapshot(
            isDecoding: true, contentBytes: body.count + SnapshotLimits.repeatedBytes)
        let names = try BodyDecoder.readNames(budget: &budget, &reader)
        let devices = try BodyDecoder.readDevices(&reader)
        try budget.check(devices.count, atMost: SnapshotLimits.devices, "devices in a chunk")
        let prefixCount = try reader.readCount(minimumBytes: 12)
        var prefixes: [IdentifierPrefix] = []
        prefixes.reserveCapacity(prefixCount)
        for _ in 0..<prefixCount { prefixes.append(try IdentifierPrefix.read(from: &reader)) }
        var identifiers = IdentifierColumnReader(prefixes: prefixes)
        var large = LargeContents.none
        if version >= SnapshotChunkEncoder.largeValueVersion {
            large = try LargeContents(from: parts, container: container, budget: &budget, &reader)
            budget.admitLargeValues()
        }

        var chunk = SnapshotChunk(
            table: try TableLayout.readName(names, from: &reader),
            identity: try TableLayout.readIdentity(names, budget: &budget, from: &reader))
        chunk.columns = try readColumns(names, budget: &budget, from: &reader)
        chunk.shapes = try TableBlock.readShapes(columnCount: chunk.columns.count, budget: &budget, from: &reader)
        let count = try reader.readVarint()
        try budget.take(Int(clamping: count), .operations)
        try readObjects(Int(count), devices: devices, large, &identifiers, budget: &budget, into: &chunk, from: &reader)
        guard reader.isAtEnd else { throw ByteReader.malformed("it goes on behind its end") }
        return chunk
    }

    private static func readColumns(
        _ names: [String], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [SnapshotChunk.Column] {
        let count = try reader.readCount(minimumBytes: 2)
        guard count <= 2 * SegmentLimits.columns else { throw ByteReader.malformed("a table has too many columns") }
        try budget.take(count, .layoutColumns)
        var columns: [SnapshotChunk.Column] = []
        columns.reserveCapacity(count)
        for _ in 0..<count {
            let name = try TableLayout.readName(names, from: &reader)
            let form = try reader.readVarint()
            guard form <= 1 else { throw ByteReader.malformed("a column has an unknown form") }
            columns.append(.init(name: name, isRegister: form == 1))
        }
        guard Set(columns).count == columns.count else { throw ByteReader.malformed("a column stands twice") }
        return columns
    }

    private static func readObjects(
        _ count: Int, devices: [DeviceID], _ large: LargeContents, _ identifiers: inout IdentifierColumnReader,
        budget: inout SegmentBudget, into chunk: inout SnapshotChunk, from reader: inout ByteReader
    ) throws(FerryError) {
        let ids = try identifiers.read(count, from: &reader)
        let inserted = try StampColumn.read(count, devices: devices, from: &reader)
        let deleted = try StampColumn.read(count, devices: devices, from: &reader)
        let earlier = try readEarlierDeletions(count, devices: devices, budget: &budget, from: &reader)
        let shapeRuns = try RunLength.read(count, below: chunk.shapes.count, from: &reader).runs
        var cellCount = 0
        for run in shapeRuns {
            let (cells, overflow) = run.count.multipliedReportingOverflow(by: chunk.shapes[run.value].count)
            try budget.take(overflow ? Int.max : cells, .values)
            cellCount += cells
        }
        var shape = RunCursor(shapeRuns)
        chunk.objects.reserveCapacity(count)
        var firstCell = 0
        for index in 0..<count {
            guard index == 0 || ids[index - 1] < ids[index] else {
                throw ByteReader.malformed("its objects are not in order")
            }
            let object = SnapshotChunk.Object(
                id: ids[index], inserted: inserted[index], deleted: deleted[index], key: nil, shape: shape.next(),
                firstCell: firstCell)
            firstCell += chunk.shapes[object.shape].count
            chunk.objects.append(object)
        }
        for (index, deletions) in earlier { chunk.objects[index].earlierDeletions = deletions }
        let keys = try ValueColumn(
            count, allowingAbsent: true, large: large, identifiers: &identifiers, budget: &budget, from: &reader)
        keys.forEach(in: 0..<count) {
            ids[$0]
        } _: {
            chunk.objects[$0].key = $1
        }
        let layout = CellLayout(
            shapes: chunk.shapes, shapeRuns: shapeRuns, columnCount: chunk.columns.count, operationCount: count)
        try readCells(
            cellCount, layout, devices: devices, large, &identifiers, budget: &budget, into: &chunk, from: &reader)
    }

    /// - Returns: the deletions of all objects with further deletions.
    private static func readEarlierDeletions(
        _ count: Int, devices: [DeviceID], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [(object: Int, deletions: [Stamp])] {
        let runs = try RunLength.read(count, below: SnapshotLimits.cells, from: &reader).runs
        var total = 0
        for run in runs {
            let (deletions, overflow) = run.count.multipliedReportingOverflow(by: run.value)
            total += overflow ? SnapshotLimits.cells : min(deletions, SnapshotLimits.cells)
            try budget.check(total, atMost: SnapshotLimits.cells - 1, "deletions in a chunk")
        }
        let stamps = try StampColumn.read(total, devices: devices, from: &reader)
        var result: [(object: Int, deletions: [Stamp])] = []
        var (object, next) = (0, 0)
        for run in runs {
            if run.value > 0 {
                for index in object..<object + run.count {
                    let deletions = stamps[next..<next + run.value].compactMap { $0 }
                    guard deletions.count == run.value else { throw ByteReader.malformed("a deletion has no stamp") }
                    result.append((index, deletions))
                    next += run.value
                }
            }
            object += run.count
        }
        return result
    }

    private static func readCells(
        _ count: Int, _ layout: CellLayout, devices: [DeviceID], _ large: LargeContents,
        _ identifiers: inout IdentifierColumnReader, budget: inout SegmentBudget, into chunk: inout SnapshotChunk,
        from reader: inout ByteReader
    ) throws(FerryError) {
        let none = SnapshotChunk.Cell(
            stamp: Stamp(time: .zero, device: DeviceID(high: 0, low: 0)), content: .null)
        chunk.cells = Array(repeating: none, count: count)
        for index in layout.columns.indices {
            let stamps = try StampColumn.read(layout.count(index), devices: devices, from: &reader)
            for (position, stamp) in stamps.enumerated() {
                let (object, cell) = layout.cell(index, position)
                guard let known = stamp ?? chunk.objects[object].inserted else {
                    throw ByteReader.malformed("a field has no stamp")
                }
                chunk.cells[cell].stamp = known
            }
            let column = try ValueColumn(
                layout.count(index), allowingAbsent: false, large: large, identifiers: &identifiers, budget: &budget,
                from: &reader)
            column.forEach(in: layout.positions(index)) {
                chunk.objects[layout.cell(index, $0).operation].id
            } _: {
                chunk.cells[layout.cell(index, $0).value].content = $1
            }
            guard !chunk.columns[layout.columns[index]].isRegister || column.isBlobs else {
                throw ByteReader.malformed("a register is not bytes")
            }
        }
    }
}
