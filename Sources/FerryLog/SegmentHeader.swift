import FerryCore

/// The bytes before the body of a segment, and its checksum (Docs/Format.md, "Segments").
package struct SegmentHeader: Equatable, Sendable {
    /// The segment's container.
    package var container: ContainerID
    /// The author.
    package var device: DeviceID
    /// The sequence number of the first changeset, at least 1.
    package var firstSequence: UInt64
    /// The sequence number of the last changeset, at least `firstSequence`.
    package var lastSequence: UInt64
    /// The time of the last changeset, the latest in the segment.
    package var lastTime: HybridTime
    /// The checksum of the segment before, or nil where there is none.
    package var previous: Checksum?
    /// The checksum of the file: its last 16 bytes.
    package var checksum: Checksum
    /// For a rolled-up segment, the checksum of the last original segment, by which the device's next segment names it.
    /// `nil` if nothing was rolled up.
    package var tail: Checksum?
    /// Bytes of the body before compression: with the counts, the cost of decoding.
    package var bodyBytes: Int
    /// Operations in all changesets.
    package var operationCount: Int
    /// Values in all changesets, keys excepted.
    package var valueCount: Int
    /// Bytes of all texts and blobs, keys included, repetitions included: their size in a database. No part of a
    /// written header, and 0 until the body is decoded.
    package internal(set) var contentBytes = 0
    /// The large values, whose bytes lie in parts. No part of a written header, and empty until the body is decoded.
    package internal(set) var largeValues: [LargeValue] = []

    var codec: Compression.Codec
    /// Bytes of the body in the file.
    var storedBytes: Int
    /// The version of the body's form: the least version that can express the body.
    var formatVersion: UInt8 = 1

    static let magic: [UInt8] = Array("FRYS".utf8)
    /// The newest version that is read.
    static let version: UInt8 = 4
    /// The first version whose table layouts mark columns with payloads.
    static let payloadVersion: UInt8 = 2
    /// The version of rolled-up segments without large values, and of no others.
    static let rolledUpVersion: UInt8 = 3
    /// The version of segments with large values.
    static let largeValueVersion: UInt8 = 4
    /// The flag of version 3, and in version 4 of rolled-up segments: a tail stands between the header and the body.
    private static let hasTail: UInt8 = 1
    /// Bytes before the body, the tail excepted.
    static let byteCount = 104
    static let checksumBytes = 16

    /// The name by which the device's next segment refers to this segment, and the mark of a reader's position in the
    /// log. The same for this segment and for the segments that were rolled up into it.
    package var chainEnd: Checksum { tail ?? checksum }

    /// Bytes before the body.
    var prefixBytes: Int { Self.byteCount + (tail == nil ? 0 : Self.checksumBytes) }

    /// False if the file has no large values; only the decoded body tells of them.
    package var mayHaveParts: Bool { formatVersion >= Self.largeValueVersion }

    /// The place of the body in a file whose header was read.
    var bodyRange: Range<Int> { prefixBytes..<prefixBytes + storedBytes }
}

extension SegmentHeader {
    func write(to writer: inout ByteWriter) {
        writer.write(contentsOf: Self.magic)
        writer.write(formatVersion)
        writer.write(codec.rawValue)
        writer.write(tail == nil ? 0 : Self.hasTail)
        writer.write(0)
        writer.write(container)
        writer.write(device)
        writer.write64(firstSequence)
        writer.write64(lastSequence)
        writer.write64(lastTime.rawValue)
        writer.write(previous ?? Checksum(high: 0, low: 0))
        writer.write64(UInt64(bodyBytes))
        writer.write64(UInt64(storedBytes))
        writer.write32(UInt32(operationCount))
        writer.write32(UInt32(valueCount))
        if let tail { writer.write(tail) }
    }

    /// Reads and checks the header of a whole file, its checksum included.
    /// - Throws: `formatTooNew` if a newer version wrote the file; `damagedFile` for everything else.
    init(file: [UInt8]) throws(FerryError) {
        var reader = ByteReader(file)
        guard try reader.read(4).elementsEqual(Self.magic) else { throw ByteReader.malformed("it is not a segment") }
        let version = try reader.readByte()
        guard version <= Self.version else {
            throw FerryError(
                .formatTooNew,
                "The segment is of format version \(version), this Ferry reads up to \(Self.version). "
                    + "Update Ferry on this device.")
        }
        guard version >= 1 else { throw ByteReader.malformed("its version is \(version)") }
        formatVersion = version
        guard file.count >= Self.byteCount + Self.checksumBytes else { throw ByteReader.malformed("it ends too early") }
        guard file.count <= SegmentLimits.fileBytes else {
            throw ByteReader.malformed("it is larger than \(SegmentLimits.fileBytes) bytes")
        }
        var end = ByteReader(file[(file.count - Self.checksumBytes)...])
        checksum = try end.readID()
        let computed = file.withUnsafeBytes {
            ContentHash.checksum(UnsafeRawBufferPointer(rebasing: $0.dropLast(Self.checksumBytes)))
        }
        guard checksum == computed else { throw ByteReader.malformed("its checksum does not match its content") }

        guard let codec = Compression.Codec(rawValue: try reader.readByte()) else {
            throw ByteReader.malformed("its compression is unknown")
        }
        self.codec = codec
        let flags = try reader.readByte()
        let isRolledUp = version == Self.rolledUpVersion || version > Self.rolledUpVersion && flags == Self.hasTail
        guard flags == (isRolledUp ? Self.hasTail : 0), try reader.readByte() == 0 else {
            throw ByteReader.malformed("its flags make no sense")
        }
        let prefixBytes = Self.byteCount + (flags & Self.hasTail == 0 ? 0 : Self.checksumBytes)
        guard file.count >= prefixBytes + Self.checksumBytes else { throw ByteReader.malformed("it ends too early") }
        container = try reader.readID()
        device = try reader.readID()
        firstSequence = try reader.read64()
        lastSequence = try reader.read64()
        guard firstSequence >= 1, firstSequence <= lastSequence, lastSequence <= SegmentLimits.sequence,
            lastSequence - firstSequence < UInt64(SegmentLimits.changesets)
        else { throw ByteReader.malformed("its sequence numbers make no sense") }
        lastTime = HybridTime(rawValue: try reader.read64())
        guard lastTime <= .latest else { throw ByteReader.malformed("its time is out of range") }
        let previous: Checksum = try reader.readID()
        self.previous = previous == Checksum(high: 0, low: 0) ? nil : previous

        let bodyBytes = try reader.read64()
        let storedBytes = try reader.read64()
        guard bodyBytes <= UInt64(SegmentLimits.bodyBytes),
            storedBytes == UInt64(file.count - prefixBytes - Self.checksumBytes)
        else { throw ByteReader.malformed("its lengths do not match") }
        self.bodyBytes = Int(bodyBytes)
        self.storedBytes = Int(storedBytes)
        // Neither product can overflow: a file has at most 2^28 bytes.
        guard codec == .zlib ? self.bodyBytes <= self.storedBytes * SegmentLimits.bodyRatio : bodyBytes == storedBytes
        else { throw ByteReader.malformed("its lengths do not match") }
        operationCount = Int(try reader.read32())
        valueCount = Int(try reader.read32())
        guard operationCount <= SegmentLimits.operations, valueCount <= SegmentLimits.values else {
            throw ByteReader.malformed("its counts are too large")
        }
        if flags & Self.hasTail != 0 { tail = try reader.readID() }
    }
}
