import FerryCore

/// Encodes the body of a segment: the dictionaries, then the changesets (Docs/Format.md, "Bodies").
enum BodyEncoder {
    /// Segments without payloads keep the bytes that older readers understand.
    static func formatVersion(of changesets: [Changeset]) -> UInt8 {
        changesets.contains(where: \.carriesPayloads) ? SegmentHeader.payloadVersion : 1
    }

    /// - Parameters:
    ///   - formatVersion: at least `formatVersion(of:)`; that version if `nil`.
    ///   - large: takes large values; `nil` if all values stand in the body.
    /// - Returns: the body, and the ranges without repetitions of earlier bytes. The body is of
    ///   `SegmentHeader.largeValueVersion` once `large` has taken a value.
    static func encode(
        _ changesets: [Changeset], formatVersion version: UInt8? = nil, large: LargeValueDictionary? = nil,
        budget: inout SegmentBudget
    ) throws(FerryError) -> (bytes: [UInt8], unrepeated: [Range<Int>]) {
        try check(changesets)
        var names = NameDictionary()
        let version = version ?? formatVersion(of: changesets)
        var layouts = LayoutDictionary(formatVersion: version)
        let devices = try contextDevices(changesets)
        let deviceIndices = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1, $0) })
        let prefixes = prefixes(changesets)
        var identifiers = IdentifierColumnWriter(prefixes: prefixes)
        var values = ValueColumnWriter(large)
        // The dictionaries stand first and are complete last.
        var writer = ByteWriter(reservingCapacity: 1 << 16)
        var context = VersionVector()
        var time = HybridTime.zero

        for changeset in changesets {
            do throws(FerryError) {
                writer.writeVarint(changeset.time.rawValue - time.rawValue)
                time = changeset.time
                try ContextEncoding.write(
                    ContextEncoding.changes(changeset.context, since: context),
                    count: changeset.context.positions.count, previousCount: context.positions.count,
                    devices: deviceIndices, budget: &budget, to: &writer)
                context = changeset.context
                writer.write(SchemaEncoding.form(of: changeset.schema).rawValue)
                if let schema = changeset.schema {
                    try SchemaEncoding.write(schema, budget: &budget, names: &names, to: &writer)
                }
                try budget.check(changeset.tables.count, atMost: SegmentLimits.tables, "tables in one changeset")
                writer.writeVarint(UInt64(changeset.tables.count))
                for table in changeset.tables {
                    try budget.take(1, .tableBlocks)
                    try budget.take(table.columns.count, .blockColumns)
                    writer.writeVarint(UInt64(try layouts.index(of: table, names: &names, budget: &budget)))
                    try TableBlock.write(
                        table, time: time, budget: &budget, identifiers: &identifiers, values: &values, to: &writer)
                    try budget.check(writer.count, atMost: SegmentLimits.bodyBytes, bodyNoun)
                }
            } catch {
                var located = error
                located.device = changeset.device
                located.sequence = changeset.sequence
                throw located
            }
        }

        try budget.take(names.names.count, .names)
        var body = ByteWriter(reservingCapacity: writer.count + 4096 + 12 * prefixes.chosen.count)
        body.writeVarint(UInt64(names.names.count))
        for name in names.names { body.writeCounted(name) }
        body.writeVarint(UInt64(devices.count))
        for device in devices { body.write(device) }
        body.writeVarint(UInt64(prefixes.chosen.count))
        for prefix in prefixes.chosen { prefix.write(to: &body) }
        body.writeVarint(UInt64(layouts.layouts.count))
        for layout in layouts.layouts {
            for number in layout { body.writeVarint(UInt64(number)) }
            // No column carries payloads.
            if let large, !large.isEmpty, version < SegmentHeader.payloadVersion { body.writeVarint(0) }
        }
        if let large, !large.isEmpty { try large.write(budget: &budget, to: &body) }
        let shift = body.count
        body.write(contentsOf: writer.bytes)
        try budget.check(body.count, atMost: SegmentLimits.bodyBytes, bodyNoun)
        return (body.bytes, identifiers.unrepeated.map { $0.lowerBound + shift..<$0.upperBound + shift })
    }

    private static let bodyNoun = "bytes in one segment before compression"

    private static func check(_ changesets: [Changeset]) throws(FerryError) {
        var previous: Changeset?
        for changeset in changesets {
            let fits = previous.map {
                $0.device == changeset.device && $0.sequence + 1 == changeset.sequence && $0.time <= changeset.time
            }
            guard fits ?? true else {
                throw FerryError(
                    .invalidArgument,
                    "The changesets of a segment must be consecutive, of one device, and in the order of their times.",
                    device: changeset.device, sequence: changeset.sequence)
            }
            guard changeset.sequence >= 1, changeset.sequence <= SegmentLimits.sequence, changeset.time <= .latest
            else {
                throw FerryError(
                    .invalidArgument, "A changeset's sequence number or time is out of range.",
                    device: changeset.device, sequence: changeset.sequence)
            }
            previous = changeset
        }
    }

    /// All devices in contexts, in the order of their IDs.
    private static func contextDevices(_ changesets: [Changeset]) throws(FerryError) -> [DeviceID] {
        var devices: Set<DeviceID> = []
        var previous = VersionVector()
        for changeset in changesets {
            if changeset.context != previous { devices.formUnion(changeset.context.positions.keys) }
            previous = changeset.context
        }
        return devices.sorted()
    }

    /// The first pass over every object ID, in any order that never changes.
    private static func prefixes(_ changesets: [Changeset]) -> IdentifierPrefixes {
        var prefixes = IdentifierPrefixes()
        for changeset in changesets {
            for table in changeset.tables {
                for operation in table.operations {
                    prefixes.note(operation.object)
                    if case .reference(let object) = operation.key { prefixes.note(object) }
                }
                if table.source != nil {
                    for operation in table.operations {
                        for case .reference(let object) in table.values(of: operation) { prefixes.note(object) }
                    }
                }
                // Looks at the tags first, which copies no value.
                for index in table.values.indices where table.values[index].tag == UInt8(CellTag.reference) {
                    if case .reference(let object) = table.values[index] { prefixes.note(object) }
                }
            }
        }
        prefixes.choose()
        return prefixes
    }
}

extension IdentifierPrefix {
    func write(to writer: inout ByteWriter) {
        for index in 0..<8 { writer.write(UInt8(truncatingIfNeeded: high >> UInt64(56 - 8 * index))) }
        for index in 0..<4 { writer.write(UInt8(truncatingIfNeeded: middle >> UInt32(24 - 8 * index))) }
    }

    static func read(from reader: inout ByteReader) throws(FerryError) -> IdentifierPrefix {
        var high: UInt64 = 0
        var middle: UInt32 = 0
        for _ in 0..<8 { high = high << 8 | UInt64(try reader.readByte()) }
        for _ in 0..<4 { middle = middle << 8 | UInt32(try reader.readByte()) }
        return IdentifierPrefix(high: high, middle: middle)
    }
}
