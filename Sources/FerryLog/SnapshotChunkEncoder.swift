import FerryCore

/// Encodes a chunk of a snapshot (Docs/Format.md, "Chunks"). The same objects give the same bytes, with the same version
/// of zlib.
package enum SnapshotChunkEncoder {
    /// - Parameter parts: where large values go; `nil` if all values are to stand in the chunk.
    /// - Throws: `limitExceeded` if the chunk holds more than `SnapshotLimits` allow, `invalidArgument` if the chunk
    ///   breaks the rules of its type, a mistake of the program.
    package static func encode(
        _ chunk: SnapshotChunk, container: ContainerID, parts: PartOutput? = nil
    ) throws(FerryError) -> (bytes: [UInt8], checksum: Checksum) {
        guard let parts else { return try encode(chunk, container: container, large: nil) }
        var thresholds = parts.settings.thresholds[...]
        while true {
            let large = LargeValueDictionary(
                parts, container: container, threshold: thresholds.popFirst() ?? parts.settings.threshold)
            do throws(FerryError) {
                return try encode(chunk, container: container, large: large)
            } catch {
                // The values of a row may be large together.
                guard error.code == .limitExceeded, !thresholds.isEmpty else { throw error }
            }
        }
    }

    private static func encode(
        _ chunk: SnapshotChunk, container: ContainerID, large: LargeValueDictionary?
    ) throws(FerryError) -> (bytes: [UInt8], checksum: Checksum) {
        var budget = SegmentBudget.forSnapshot(isDecoding: false)
        let (body, unrepeated) = try body(of: chunk, large: large, budget: &budget)
        try budget.check(
            budget.used(.contentBytes),
            atMost: body.count + SnapshotLimits.repeatedBytes + budget.used(.largeBytes),
            "bytes of texts and blobs, each as often as it stands, in such a file of a snapshot")
        let version = if let large, !large.isEmpty { Self.largeValueVersion } else { UInt8(1) }
        return try SnapshotFile.encode(body, unrepeated: unrepeated, .chunk, version: version, container: container)
    }

    /// The version of chunks with large values.
    static let largeValueVersion: UInt8 = 2

    /// The body, whatever the repetitions of its contents.
    static func body(of chunk: SnapshotChunk) throws(FerryError) -> [UInt8] {
        var budget = SegmentBudget.forSnapshot(isDecoding: false)
        return try body(of: chunk, large: nil, budget: &budget).bytes
    }

    private static func body(
        of chunk: SnapshotChunk, large: LargeValueDictionary?, budget: inout SegmentBudget
    ) throws(FerryError) -> (bytes: [UInt8], unrepeated: [Range<Int>]) {
        try check(chunk)
        try budget.take(chunk.objects.count, .operations)
        try budget.take(chunk.cells.count, .values)
        let devices = devices(of: chunk)
        try budget.check(devices.count, atMost: SnapshotLimits.devices, "devices in a chunk")
        let indices = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1, $0) })
        let prefixes = prefixes(of: chunk)

        var names = NameDictionary()
        var layout = [try names.index(of: chunk.table)]
        try LayoutDictionary.append(chunk.identity, to: &layout, names: &names)
        try budget.take(chunk.identity.columnCount + chunk.columns.count, .layoutColumns)
        layout.append(chunk.columns.count)
        for column in chunk.columns {
            layout.append(try names.index(of: column.name))
            layout.append(column.isRegister ? 1 : 0)
        }

        // Large values stand before the objects, and are complete last.
        var dictionaries = ByteWriter()
        dictionaries.writeVarint(UInt64(names.names.count))
        for name in names.names { dictionaries.writeCounted(name) }
        dictionaries.writeVarint(UInt64(devices.count))
        for device in devices { dictionaries.write(device) }
        dictionaries.writeVarint(UInt64(prefixes.chosen.count))
        for prefix in prefixes.chosen { prefix.write(to: &dictionaries) }
        var writer = ByteWriter(reservingCapacity: 1 << 16)
        for number in layout { writer.writeVarint(UInt64(number)) }
        try TableBlock.write(chunk.shapes, budget: &budget, to: &writer)
        writer.writeVarint(UInt64(chunk.objects.count))
        var identifiers = IdentifierColumnWriter(prefixes: prefixes)
        identifiers.write(chunk.objects.map(\.id), to: &writer)
        StampColumn.write(chunk.objects.map(\.inserted), devices: indices, to: &writer)
        StampColumn.write(chunk.objects.map(\.deleted), devices: indices, to: &writer)
        var earlier = RunLength()
        for object in chunk.objects { earlier.append(object.earlierDeletions.count) }
        earlier.write(to: &writer)
        let deletions = chunk.objects.flatMap(\.earlierDeletions)
        try budget.check(deletions.count, atMost: SnapshotLimits.cells, "deletions in a chunk")
        StampColumn.write(deletions, devices: indices, to: &writer)
        try writeCells(of: chunk, devices: indices, large, &identifiers, budget: &budget, to: &writer)
        if let large, !large.isEmpty { try large.write(budget: &budget, to: &dictionaries) }
        let shift = dictionaries.count
        dictionaries.write(contentsOf: writer.bytes)
        return (
            dictionaries.bytes, identifiers.unrepeated.map { $0.lowerBound + shift..<$0.upperBound + shift }
        )
    }

    /// Writes the objects' shapes, their keys, then column by column stamps and contents.
    private static func writeCells(
        of chunk: SnapshotChunk, devices: [DeviceID: Int], _ large: LargeValueDictionary?,
        _ identifiers: inout IdentifierColumnWriter, budget: inout SegmentBudget, to writer: inout ByteWriter
    ) throws(FerryError) {
        var shapes = RunLength()
        for object in chunk.objects { shapes.append(object.shape) }
        shapes.write(to: &writer)
        var values = ValueColumnWriter(large)
        for object in chunk.objects { try values.append(object.key, of: object.id) }
        try values.finish(identifiers: &identifiers, budget: &budget, to: &writer)
        let layout = CellLayout(
            shapes: chunk.shapes, shapeRuns: shapes.runs, columnCount: chunk.columns.count,
            operationCount: chunk.objects.count)
        for index in layout.columns.indices {
            var stamps: [Stamp?] = []
            stamps.reserveCapacity(layout.count(index))
            for position in 0..<layout.count(index) {
                let (object, cell) = layout.cell(index, position)
                let stamp = chunk.cells[cell].stamp
                stamps.append(stamp == chunk.objects[object].inserted ? nil : stamp)
                try values.append(chunk.cells[cell].content, of: chunk.objects[object].id)
            }
            StampColumn.write(stamps, devices: devices, to: &writer)
            try values.finish(identifiers: &identifiers, budget: &budget, to: &writer)
        }
    }

    /// All devices in stamps, in the order of their IDs.
    private static func devices(of chunk: SnapshotChunk) -> [DeviceID] {
        var devices: Set<DeviceID> = []
        for object in chunk.objects {
            if let stamp = object.inserted { devices.insert(stamp.device) }
            if let stamp = object.deleted { devices.insert(stamp.device) }
            for stamp in object.earlierDeletions { devices.insert(stamp.device) }
        }
        for cell in chunk.cells { devices.insert(cell.stamp.device) }
        return devices.sorted()
    }

    private static func prefixes(of chunk: SnapshotChunk) -> IdentifierPrefixes {
        var prefixes = IdentifierPrefixes()
        for object in chunk.objects {
            prefixes.note(object.id)
            if case .reference(let target) = object.key { prefixes.note(target) }
        }
        for cell in chunk.cells {
            if case .reference(let target) = cell.content { prefixes.note(target) }
        }
        prefixes.choose()
        return prefixes
    }

    private static func check(_ chunk: SnapshotChunk) throws(FerryError) {
        for shape in chunk.shapes {
            var previous = -1
            for column in shape {
                guard column > previous, column < chunk.columns.count else { throw invalid(chunk, "a set of columns") }
                previous = column
            }
        }
        var previous: ObjectID?
        var next = 0
        for object in chunk.objects {
            guard previous.map({ $0 < object.id }) ?? true else { throw invalid(chunk, "the order of its objects") }
            guard chunk.shapes.indices.contains(object.shape), object.firstCell == next else {
                throw invalid(chunk, "an object's fields")
            }
            previous = object.id
            next += chunk.shapes[object.shape].count
            guard next <= chunk.cells.count else { throw invalid(chunk, "an object's fields") }
            for (column, cell) in zip(chunk.shapes[object.shape], chunk.cells(of: object)) {
                if chunk.columns[column].isRegister {
                    guard case .blob = cell.content else { throw invalid(chunk, "a register") }
                }
                guard cell.stamp.time <= .latest else { throw invalid(chunk, "a time") }
            }
        }
        guard next == chunk.cells.count else { throw invalid(chunk, "the number of its fields") }
    }

    private static func invalid(_ chunk: SnapshotChunk, _ what: String) -> FerryError {
        FerryError(
            .invalidArgument,
            "A part of the table “\(chunk.table)” cannot be written into a snapshot: \(what) is wrong.")
    }
}
