import FerryCore

/// Decodes the body of a segment: the dictionaries, then the changesets (Docs/Format.md, "Bodies").
enum BodyDecoder {
    /// - Parameters:
    ///   - header: receives the number of bytes of texts and blobs (`SegmentHeader.contentBytes`).
    ///   - valuesAtOnce: the most values in memory.
    ///   - fewValues: the most values of a table that lie in memory as they are; of larger tables the columns do.
    ///   - schemasOnly: true if to leave out the last changeset's tables. Then nothing is compared with the header.
    ///   - parts: where the bytes of large values come from.
    static func decode(
        _ body: ArraySlice<UInt8>, header: inout SegmentHeader, valuesAtOnce: Int = SegmentLimits.valuesAtOnce,
        fewValues: Int = BlockValues.few, schemasOnly: Bool = false, parts: PartSource = .leftOut
    ) throws(FerryError) -> [Changeset] {
        var reader = ByteReader(body)
        var budget = SegmentBudget.forDecoding(header, valuesAtOnce: valuesAtOnce, fewValues: fewValues)
        let names = try readNames(budget: &budget, &reader)
        let devices = try readDevices(&reader)
        let prefixCount = try reader.readCount(minimumBytes: 12)
        var prefixes: [IdentifierPrefix] = []
        prefixes.reserveCapacity(prefixCount)
        for _ in 0..<prefixCount { prefixes.append(try IdentifierPrefix.read(from: &reader)) }
        let layouts = try readLayouts(header, names: names, budget: &budget, &reader)
        var large = LargeContents.none
        if header.formatVersion >= SegmentHeader.largeValueVersion {
            large = try LargeContents(from: parts, container: header.container, budget: &budget, &reader)
        }
        header.largeValues = large.values
        var identifiers = IdentifierColumnReader(prefixes: prefixes)

        var changesets: [Changeset] = []
        var context = VersionVector()
        var time: UInt64 = 0
        for sequence in header.firstSequence...header.lastSequence {
            do throws(FerryError) {
                let step = try reader.readVarint()
                guard step <= header.lastTime.rawValue - time else {
                    throw ByteReader.malformed("a changeset's time is out of range")
                }
                time += step
                context = try ContextEncoding.read(after: context, devices: devices, budget: &budget, from: &reader)
                var changeset = Changeset(
                    device: header.device, sequence: sequence, time: HybridTime(rawValue: time), context: context,
                    tables: [])
                let form = try SchemaEncoding.readForm(from: &reader)
                if form != .absent {
                    changeset.schema = try SchemaEncoding.read(form, names: names, budget: &budget, from: &reader)
                }
                if schemasOnly, sequence == header.lastSequence {
                    changesets.append(changeset)
                    return changesets
                }
                changeset.tables = try readTables(
                    layouts: layouts, time: changeset.time, large: large, budget: &budget, identifiers: &identifiers,
                    &reader)
                changesets.append(changeset)
            } catch {
                var located = error
                located.device = header.device
                located.sequence = sequence
                throw located
            }
        }
        guard reader.isAtEnd, time == header.lastTime.rawValue, budget.used(.operations) == header.operationCount,
            budget.used(.values) == header.valueCount
        else { throw ByteReader.malformed("its content is not what its header says") }
        header.contentBytes = budget.used(.contentBytes)
        return changesets
    }

    static func readNames(
        budget: inout SegmentBudget, _ reader: inout ByteReader
    ) throws(FerryError) -> [String] {
        let count = try reader.readCount()
        try budget.take(count, .names)
        var names: [String] = []
        for _ in 0..<count {
            let bytes = try reader.readCounted()
            guard bytes.count <= SegmentLimits.nameBytes else {
                throw ByteReader.malformed("a name is longer than \(SegmentLimits.nameBytes) bytes")
            }
            guard let name = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
                throw ByteReader.malformed("a name is not valid UTF-8, or has a NUL")
            }
            names.append(name)
        }
        return names
    }

    static func readDevices(_ reader: inout ByteReader) throws(FerryError) -> [DeviceID] {
        let count = try reader.readCount(minimumBytes: 16)
        var devices: [DeviceID] = []
        devices.reserveCapacity(count)
        for _ in 0..<count {
            let device: DeviceID = try reader.readID()
            guard devices.last.map({ $0 < device }) ?? true else {
                throw ByteReader.malformed("its devices are not in order")
            }
            devices.append(device)
        }
        return devices
    }

    private static func readLayouts(
        _ header: SegmentHeader, names: [String], budget: inout SegmentBudget, _ reader: inout ByteReader
    ) throws(FerryError) -> [TableLayout] {
        let count = try reader.readCount(minimumBytes: 3)
        guard count <= SegmentLimits.tableBlocks else {
            throw ByteReader.malformed("it has more than \(SegmentLimits.tableBlocks) tables")
        }
        var layouts: [TableLayout] = []
        for _ in 0..<count {
            layouts.append(
                try TableLayout.read(
                    formatVersion: header.formatVersion, names: names, budget: &budget, from: &reader))
        }
        return layouts
    }

    private static func readTables(
        layouts: [TableLayout], time: HybridTime, large: LargeContents, budget: inout SegmentBudget,
        identifiers: inout IdentifierColumnReader, _ reader: inout ByteReader
    ) throws(FerryError) -> [TableChanges] {
        let count = try reader.readCount(minimumBytes: 3)
        guard count <= SegmentLimits.tables else {
            throw ByteReader.malformed("a changeset has more than \(SegmentLimits.tables) tables")
        }
        try budget.take(count, .tableBlocks)
        var tables: [TableChanges] = []
        tables.reserveCapacity(count)
        for _ in 0..<count {
            let index = try reader.readVarint()
            guard index < UInt64(layouts.count) else { throw ByteReader.malformed("an index is out of range") }
            let layout = layouts[Int(index)]
            try budget.take(layout.columns.count, .blockColumns)
            tables.append(
                try TableBlock.read(
                    layout: layout, time: time, large: large, budget: &budget, identifiers: &identifiers, from: &reader)
            )
        }
        return tables
    }
}
