import FerryCore

/// Encodes a snapshot's manifest (Docs/Format.md, "Manifests").
package enum SnapshotManifestEncoder {
    /// - Throws: `limitExceeded` where it holds more than `SnapshotLimits` allow.
    package static func encode(
        _ manifest: SnapshotManifest
    ) throws(FerryError) -> (bytes: [UInt8], checksum: Checksum) {
        try SnapshotFile.encode(
            body(of: manifest), .manifest, version: version(of: manifest), container: manifest.container)
    }

    /// The first version that can say it.
    static func version(of manifest: SnapshotManifest) -> UInt8 {
        let tables = manifest.tables
        if tables.contains(where: { $0.chunks.contains { !$0.parts.isEmpty } }) { return largeValueVersion }
        if zip(tables, tables.dropFirst()).contains(where: { equalBytes($0.name, $1.name) }) { return 3 }
        return manifest.lateChanges.isEmpty ? 1 : 2
    }

    /// The version of manifests whose chunks have large values.
    static let largeValueVersion: UInt8 = 4

    static func body(of manifest: SnapshotManifest) throws(FerryError) -> [UInt8] {
        var budget = SegmentBudget.forSnapshot(isDecoding: false)
        let devices = devices(of: manifest)
        try budget.check(devices.count, atMost: SnapshotLimits.devices, "devices in a snapshot")
        try budget.check(manifest.contexts.count, atMost: SnapshotLimits.contexts, "contexts in a snapshot")
        try budget.check(manifest.tables.count, atMost: SnapshotLimits.tables, "tables in a snapshot")
        let chunks = manifest.tables.reduce(0) { $0 + $1.chunks.count }
        try budget.check(chunks, atMost: SnapshotLimits.chunks, "chunks in a snapshot")
        let parts = manifest.tables.reduce(0) { $0 + $1.chunks.reduce(0) { $0 + $1.parts.count } }
        try budget.check(parts, atMost: SnapshotLimits.parts, "parts of large values in a snapshot")
        let indices = Dictionary(uniqueKeysWithValues: devices.enumerated().map { ($1, $0) })
        func index(of device: DeviceID) -> UInt64 { UInt64(indices[device] ?? 0) }

        let version = version(of: manifest)
        var names = NameDictionary()
        // The dictionary stands first and is complete last.
        var writer = ByteWriter()
        writer.writeVarint(UInt64(devices.count))
        for device in devices {
            let position = manifest.positions[device]
            writer.write(device)
            writer.writeVarint(position?.log.sequence ?? 0)
            writer.writeVarint(position?.log.time.rawValue ?? 0)
            writer.write(position?.checksum ?? Checksum(high: 0, low: 0))
            if version > 1 { writer.writeVarint(position?.lastLate ?? 0) }
        }
        writer.writeVarint(UInt64(manifest.contexts.count))
        for context in manifest.contexts {
            writer.writeVarint(index(of: context.author))
            writer.writeVarint(index(of: context.other))
            writer.writeVarint(context.time.rawValue)
            writer.writeVarint(context.seen.rawValue)
        }
        writer.write(SchemaEncoding.form(of: manifest.schema?.record).rawValue)
        if let schema = manifest.schema {
            writer.writeVarint(schema.stamp.time.rawValue)
            writer.writeVarint(index(of: schema.stamp.device))
            try SchemaEncoding.write(schema.record, budget: &budget, names: &names, to: &writer)
        }
        writer.writeVarint(UInt64(manifest.tables.count))
        for table in manifest.tables {
            var layout = [try names.index(of: table.name)]
            try LayoutDictionary.append(table.identity, to: &layout, names: &names)
            try budget.take(table.identity.columnCount, .layoutColumns)
            for number in layout { writer.writeVarint(UInt64(number)) }
            writer.writeVarint(UInt64(table.chunks.count))
            for chunk in table.chunks {
                writer.write(chunk.checksum)
                writer.writeVarint(UInt64(chunk.bytes))
                writer.writeVarint(UInt64(chunk.objects))
                if version < largeValueVersion { continue }
                writer.writeVarint(UInt64(chunk.parts.count))
                for part in chunk.parts {
                    writer.write(part.checksum)
                    writer.writeVarint(UInt64(part.bytes))
                }
            }
        }
        var body = ByteWriter(reservingCapacity: writer.count + 1024)
        body.writeVarint(UInt64(names.names.count))
        for name in names.names { body.writeCounted(name) }
        body.write(contentsOf: writer.bytes)
        return body.bytes
    }

    /// All devices that it names, in the order of their IDs.
    private static func devices(of manifest: SnapshotManifest) -> [DeviceID] {
        var devices = Set(manifest.positions.keys)
        for context in manifest.contexts { devices.formUnion([context.author, context.other]) }
        if let schema = manifest.schema { devices.insert(schema.stamp.device) }
        return devices.sorted()
    }
}
