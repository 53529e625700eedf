import FerryCore

/// Decodes manifests that nobody vouches for (Docs/Format.md, "Manifests"). Whatever the bytes, the decoder returns or
/// throws, in time and memory bounded by `SnapshotLimits`.
package enum SnapshotManifestDecoder {
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`; as `SnapshotChunkDecoder.decode`.
    package static func decode(
        _ file: [UInt8], container: ContainerID
    ) throws(FerryError) -> (manifest: SnapshotManifest, checksum: Checksum) {
        let (body, version, checksum) = try SnapshotFile.decode(file, .manifest, container: container)
        return (try decode(body: body, version: version, container: container), checksum)
    }

    static func decode(
        body: ArraySlice<UInt8>, version: UInt8, container: ContainerID
    ) throws(FerryError) -> SnapshotManifest {
        var reader = ByteReader(body)
        var budget = SegmentBudget.forSnapshot(isDecoding: true)
        var manifest = SnapshotManifest(container: container)
        let names = try BodyDecoder.readNames(budget: &budget, &reader)
        let devices = try readPositions(into: &manifest, version: version, budget: &budget, from: &reader)
        manifest.contexts = try readContexts(devices, budget: &budget, from: &reader)
        let form = try SchemaEncoding.readForm(from: &reader)
        if form != .absent {
            let time = try readTime(from: &reader)
            let stamp = Stamp(time: time, device: try readDevice(devices, from: &reader))
            manifest.schema = StampedSchema(
                record: try SchemaEncoding.read(form, names: names, budget: &budget, from: &reader), stamp: stamp)
        }
        manifest.tables = try readTables(names, version: version, budget: &budget, from: &reader)
        guard reader.isAtEnd else { throw ByteReader.malformed("it goes on behind its end") }
        return manifest
    }

    /// - Returns: all named devices, in order.
    private static func readPositions(
        into manifest: inout SnapshotManifest, version: UInt8, budget: inout SegmentBudget,
        from reader: inout ByteReader
    ) throws(FerryError) -> [DeviceID] {
        let count = try reader.readCount(minimumBytes: version == 1 ? 34 : 35)
        try budget.check(count, atMost: SnapshotLimits.devices, "devices in a snapshot")
        var devices: [DeviceID] = []
        devices.reserveCapacity(count)
        for _ in 0..<count {
            let device: DeviceID = try reader.readID()
            guard devices.last.map({ $0 < device }) ?? true else {
                throw ByteReader.malformed("its devices are not in order")
            }
            let sequence = try reader.readVarint()
            guard sequence <= SegmentLimits.sequence else {
                throw ByteReader.malformed("a sequence number is out of range")
            }
            let time = try readTime(from: &reader)
            let checksum: Checksum = try reader.readID()
            let lastLate = version == 1 ? 0 : try reader.readVarint()
            guard lastLate <= sequence else { throw ByteReader.malformed("a sequence number is out of range") }
            devices.append(device)
            // Only named, by a context for instance.
            if sequence == 0 { continue }
            manifest.positions[device] = .init(
                log: LogPosition(sequence: sequence, time: time),
                checksum: checksum == Checksum(high: 0, low: 0) ? nil : checksum, lastLate: lastLate)
        }
        return devices
    }

    private static func readContexts(
        _ devices: [DeviceID], budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [SnapshotManifest.Context] {
        let count = try reader.readCount(minimumBytes: 4)
        try budget.check(count, atMost: SnapshotLimits.contexts, "contexts in a snapshot")
        var contexts: [SnapshotManifest.Context] = []
        contexts.reserveCapacity(count)
        for _ in 0..<count {
            contexts.append(
                .init(
                    author: try readDevice(devices, from: &reader), other: try readDevice(devices, from: &reader),
                    time: try readTime(from: &reader), seen: try readTime(from: &reader)))
        }
        return contexts
    }

    private static func readTables(
        _ names: [String], version: UInt8, budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [SnapshotManifest.Table] {
        let count = try reader.readCount(minimumBytes: 3)
        try budget.check(count, atMost: SnapshotLimits.tables, "tables in a snapshot")
        var tables: [SnapshotManifest.Table] = []
        var (chunkCount, partCount) = (0, 0)
        for _ in 0..<count {
            let name = try TableLayout.readName(names, from: &reader)
            let identity = try TableLayout.readIdentity(names, budget: &budget, from: &reader)
            let isInOrder =
                tables.last.map { last in
                    equalBytes(last.name, name)
                        ? version > 2 && last.identity.precedes(identity)
                        : last.name.utf8.lexicographicallyPrecedes(name.utf8)
                } ?? true
            guard isInOrder else { throw ByteReader.malformed("its tables are not in order") }
            let chunks = try reader.readCount(minimumBytes: 18)
            chunkCount += chunks
            try budget.check(chunkCount, atMost: SnapshotLimits.chunks, "chunks in a snapshot")
            var table = SnapshotManifest.Table(name: name, identity: identity, chunks: [])
            table.chunks.reserveCapacity(chunks)
            for _ in 0..<chunks {
                let checksum: Checksum = try reader.readID()
                let bytes = try reader.readVarint()
                let objects = try reader.readVarint()
                guard bytes <= UInt64(SegmentLimits.fileBytes), objects <= UInt64(SnapshotLimits.objects) else {
                    throw ByteReader.malformed("a chunk is too large")
                }
                var chunk = SnapshotManifest.Chunk(checksum: checksum, bytes: Int(bytes), objects: Int(objects))
                if version >= SnapshotManifestEncoder.largeValueVersion {
                    chunk.parts = try readParts(&partCount, budget: &budget, from: &reader)
                }
                table.chunks.append(chunk)
            }
            tables.append(table)
        }
        return tables
    }

    /// - Parameter sum: the parts of all chunks so far.
    private static func readParts(
        _ sum: inout Int, budget: inout SegmentBudget, from reader: inout ByteReader
    ) throws(FerryError) -> [SnapshotManifest.Part] {
        let count = try reader.readCount(minimumBytes: 17)
        sum += count
        try budget.check(sum, atMost: SnapshotLimits.parts, "parts of large values in a snapshot")
        var parts: [SnapshotManifest.Part] = []
        parts.reserveCapacity(count)
        for _ in 0..<count {
            let checksum: Checksum = try reader.readID()
            let bytes = try reader.readVarint()
            guard bytes <= UInt64(SegmentLimits.fileBytes) else {
                throw ByteReader.malformed("a part of a large value is too large")
            }
            parts.append(.init(checksum: checksum, bytes: Int(bytes)))
        }
        return parts
    }

    private static func readDevice(
        _ devices: [DeviceID], from reader: inout ByteReader
    ) throws(FerryError) -> DeviceID {
        let index = try reader.readVarint()
        guard index < UInt64(devices.count) else { throw ByteReader.malformed("an index is out of range") }
        return devices[Int(index)]
    }

    private static func readTime(from reader: inout ByteReader) throws(FerryError) -> HybridTime {
        let time = HybridTime(rawValue: try reader.readVarint())
        guard time <= .latest else { throw ByteReader.malformed("a time is out of range") }
        return time
    }
}
