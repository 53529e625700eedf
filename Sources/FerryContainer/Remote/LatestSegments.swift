import FerryCore

/// The content of the object `latest` in a remote container: each device's newest segment, the last writer first (Docs/Format.md,
/// "The object latest"). A hint, as heads are: a listing finds whatever is lost here.
package struct LatestSegments: Hashable, Sendable {
    /// The object's name.
    package static let name = "latest"
    /// The object is not longer, in bytes.
    package static let maximumBytes = 8192
    /// The most devices.
    package static let maximumEntries = 64

    private static let magic = Array("FRYL".utf8)
    private static let version: UInt8 = 1

    /// The newest files of a device.
    package struct Entry: Hashable, Sendable {
        package var device: DeviceID
        /// The newest segment; `nil` if the device has none yet.
        package var segment: SegmentName?
        /// The number of the device's member records.
        package var records: UInt64

        package init(device: DeviceID, segment: SegmentName?, records: UInt64 = 0) {
            self.device = device
            self.segment = segment
            self.records = records
        }
    }

    package var container: ContainerID
    /// New at each writing, so that no two contents are alike.
    package var nonce: UInt64
    /// Each device once; the last writer first.
    package private(set) var entries: [Entry]

    package init(container: ContainerID, nonce: UInt64 = 0, entries: [Entry] = []) {
        self.container = container
        self.nonce = nonce
        var seen: Set<DeviceID> = []
        self.entries = Array(entries.filter { seen.insert($0.device).inserted }.prefix(Self.maximumEntries))
    }

    /// Puts a device's entry before all others, in place of its entry before.
    package mutating func announce(_ entry: Entry, nonce: UInt64) {
        entries.removeAll { $0.device == entry.device }
        entries.insert(entry, at: 0)
        entries = Array(entries.prefix(Self.maximumEntries))
        self.nonce = nonce
    }

    /// The object's bytes.
    package func encoded() -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 64 + entries.count * 48)
        writer.write(contentsOf: Self.magic)
        writer.write(Self.version)
        writer.write(contentsOf: [0, 0, 0])
        writer.write(container)
        writer.write64(nonce)
        writer.write(UInt8(entries.count))
        for entry in entries {
            writer.write(entry.device)
            writer.writeVarint(entry.segment?.first ?? 0)
            writer.writeVarint(entry.segment?.last ?? 0)
            writer.write64(entry.segment?.hash ?? 0)
            writer.writeVarint(entry.records)
        }
        writer.write(ContentHash.checksum(writer.bytes))
        return writer.bytes
    }

    /// Reads the object's bytes.
    /// - Throws: `damagedFile` for anything else, `formatTooNew`, `foreignFile` for another container's. The reader goes by a
    ///   listing then.
    package init(decoding bytes: [UInt8], container: ContainerID) throws(FerryError) {
        guard bytes.count <= Self.maximumBytes, ContentHash.verifiedTrailer(of: bytes) != nil else {
            throw ByteReader.malformed("its checksum is wrong")
        }
        var reader = ByteReader(bytes.dropLast(16))
        guard try reader.read(4).elementsEqual(Self.magic) else { throw ByteReader.malformed("it is another file") }
        guard try reader.readByte() == Self.version, try reader.read(3).elementsEqual([0, 0, 0]) else {
            throw FerryError(.formatTooNew, "A newer Ferry wrote \(Self.name). Update Ferry.")
        }
        let told: ContainerID = try reader.readID()
        guard told == container else {
            throw FerryError(.foreignFile, "\(Self.name) belongs to another container.")
        }
        let nonce = try reader.read64()
        let count = Int(try reader.readByte())
        guard count <= Self.maximumEntries else { throw ByteReader.malformed("it names too many devices") }
        var entries: [Entry] = []
        for _ in 0..<count {
            let device: DeviceID = try reader.readID()
            let (first, last) = (try reader.readVarint(), try reader.readVarint())
            let hash = try reader.read64()
            var segment: SegmentName?
            if (first, last, hash) != (0, 0, 0) {
                segment = try? SegmentName(first: first, last: last, checksum: Checksum(high: hash, low: 0))
                if segment == nil { throw ByteReader.malformed("it names an impossible segment") }
            }
            entries.append(Entry(device: device, segment: segment, records: try reader.readVarint()))
        }
        guard reader.isAtEnd, Set(entries.map(\.device)).count == count else {
            throw ByteReader.malformed("it is longer than it says, or names a device twice")
        }
        self.container = container
        self.nonce = nonce
        self.entries = entries
    }
}
