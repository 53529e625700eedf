import FerryCore

/// The bytes of a head (Docs/Format.md, "Heads", "Heads in sealed containers"): writes versions 3 to 5, reads versions 1 to 5.
extension Head {
    private static let magic = Array("FRYH".utf8)
    private static let checksumLength = 16

    /// The first version that can express the head.
    private var version: UInt8 {
        if sealed != nil { return Self.sealedVersion }
        return predecessor?.end == nil && missing.isEmpty ? 3 : 4
    }

    /// The version of heads in sealed containers, and there alone.
    static let sealedVersion: UInt8 = 5

    /// Encodes the head; equal heads give equal bytes.
    /// - Throws: `invalidArgument` for anything that `init(decoding:container:device:)` would refuse.
    package func encoded() throws(FerryError) -> [UInt8] {
        try checkLimits { what in FerryError(.invalidArgument, "A head cannot be written: \(what).") }
        var writer = ByteWriter(reservingCapacity: 256 + acknowledgements.count * 32)
        writer.write(contentsOf: Self.magic)
        writer.write(version)
        writer.write(container)
        writer.write(device)
        writer.writeCounted(deviceName)
        writer.write(position)
        writer.writeVarint(lastSegmentFirst)
        writer.write(lastSegmentChecksum)
        writer.writeVarint(UInt64(acknowledgements.count))
        for (device, position) in acknowledgements.sorted(by: { $0.key < $1.key }) {
            writer.write(device)
            writer.write(position)
        }
        writer.write64(UInt64(bitPattern: writtenMilliseconds))
        writer.writeCounted(softwareVersion)
        writer.writeVarint(UInt64(digests.count))
        for (covered, digest) in digests.sorted(by: { $0.key < $1.key }) {
            writer.write32(covered)
            writer.write64(digest)
        }
        writer.writeVarint(logStart)
        writer.writeVarint(UInt64(retired.count))
        for (device, written) in retired.sorted(by: { $0.key < $1.key }) {
            writer.write(device)
            writer.write64(UInt64(bitPattern: written))
        }
        writer.write(predecessor.map { $0.end == nil ? 1 : 2 } ?? 0)
        if let predecessor {
            writer.write(predecessor.device)
            writer.writeVarint(predecessor.sequence)
            if let end = predecessor.end {
                writer.writeVarint(end.sequence)
                writer.write(end.checksum)
            }
        }
        if version >= 4 {
            writer.writeVarint(UInt64(missing.count))
            for object in missing { writer.write(object) }
        }
        if let sealed { write(sealed, to: &writer) }
        writer.write(ContentHash.checksum(writer.bytes))
        return writer.bytes
    }

    /// Decodes the content of a head's file, which must be the given device's in the given container.
    /// - Parameter isSealed: true for a head of a sealed container, which has a version of its own.
    /// - Throws: `damagedFile`, `formatTooNew` for a later version, `foreignFile` for another container's or device's.
    ///   The caller adds the path.
    package init(
        decoding bytes: [UInt8], container: ContainerID, device: DeviceID, isSealed: Bool = false
    ) throws(FerryError) {
        guard bytes.count <= Self.maximumBytes else { throw ByteReader.malformed("it is too long") }
        var reader = ByteReader(bytes)
        guard try reader.read(Self.magic.count).elementsEqual(Self.magic) else {
            throw ByteReader.malformed("it is not a head")
        }
        let version = try reader.readByte()
        guard version <= Self.currentVersion else {
            throw FerryError(
                .formatTooNew,
                "The head has version \(version), this Ferry knows up to \(Self.currentVersion). Update Ferry.",
                device: device)
        }
        guard version >= Self.earliestVersion, reader.remaining >= Self.checksumLength else {
            throw ByteReader.malformed("it is not a head")
        }
        guard (version == Self.sealedVersion) == isSealed else {
            throw ByteReader.malformed(
                isSealed ? "it is a head for an open container" : "it is a head for a sealed container")
        }
        let content = bytes.dropLast(Self.checksumLength)
        guard content.withUnsafeBytes(ContentHash.checksum).bytes.elementsEqual(bytes.suffix(Self.checksumLength))
        else {
            throw ByteReader.malformed("its checksum is wrong")
        }
        reader = ByteReader(content.dropFirst(Self.magic.count + 1))
        try self.init(content: &reader, version: version)
        try checkLimits { what in ByteReader.malformed(what) }
        guard self.container == container else {
            throw FerryError(.foreignFile, "The head belongs to another container. Move it away.", device: device)
        }
        guard self.device == device else {
            throw FerryError(
                .foreignFile, "The head belongs to the device \(self.device). Move it away.", device: device)
        }
    }

    /// Reads the fields between the version and the checksum.
    private init(content reader: inout ByteReader, version: UInt8) throws(FerryError) {
        self.init(
            container: try reader.readID(), device: try reader.readID(),
            deviceName: try reader.readString(), position: try reader.readPosition(),
            lastSegmentFirst: try reader.readVarint(), lastSegmentChecksum: try reader.readID(),
            writtenMilliseconds: 0, softwareVersion: "")
        let count = try reader.readCount(minimumBytes: 16 + 1 + 8)
        guard count <= Self.maximumAcknowledgements else {
            throw ByteReader.malformed("it has too many acknowledgements")
        }
        acknowledgements.reserveCapacity(count)
        var previous: DeviceID?
        for _ in 0..<count {
            let device: DeviceID = try reader.readID()
            if let previous, previous >= device { throw ByteReader.malformed("its devices are not in order") }
            previous = device
            acknowledgements[device] = try reader.readPosition()
        }
        writtenMilliseconds = Int64(bitPattern: try reader.read64())
        softwareVersion = try reader.readString()
        if version >= 2 { try readDigests(&reader) }
        if version >= 3 {
            logStart = try reader.readVarint()
            try readRetired(&reader)
            try readPredecessor(&reader, version)
        }
        if version >= 4 { try readMissing(&reader) }
        if version == Self.sealedVersion { try readSealed(&reader) }
        guard reader.isAtEnd else { throw ByteReader.malformed("it goes on after its end") }
    }

    private mutating func readDigests(_ reader: inout ByteReader) throws(FerryError) {
        let count = try reader.readCount(minimumBytes: 4 + 8)
        guard count <= Self.maximumDigests else { throw ByteReader.malformed("it has too many digests") }
        var previous: UInt32?
        for _ in 0..<count {
            let covered = try reader.read32()
            if let previous, previous >= covered { throw ByteReader.malformed("its digests are not in order") }
            previous = covered
            digests[covered] = try reader.read64()
        }
    }

    private mutating func readRetired(_ reader: inout ByteReader) throws(FerryError) {
        let count = try reader.readCount(minimumBytes: 16 + 8)
        guard count <= Self.maximumRetired else { throw ByteReader.malformed("it has too many retired devices") }
        var previous: DeviceID?
        for _ in 0..<count {
            let device: DeviceID = try reader.readID()
            if let previous, previous >= device { throw ByteReader.malformed("its retired devices are not in order") }
            previous = device
            retired[device] = Int64(bitPattern: try reader.read64())
        }
    }

    private mutating func readPredecessor(_ reader: inout ByteReader, _ version: UInt8) throws(FerryError) {
        let form = try reader.readByte()
        guard form <= (version < 4 ? 1 : 2) else { throw ByteReader.malformed("its predecessor is unknown") }
        if form == 0 { return }
        predecessor = Predecessor(device: try reader.readID(), sequence: try reader.readVarint())
        if form == 2 {
            predecessor?.end = LogEnd(sequence: try reader.readVarint(), checksum: try reader.readID())
        }
    }

    private mutating func readMissing(_ reader: inout ByteReader) throws(FerryError) {
        let count = try reader.readCount(minimumBytes: 16)
        guard count <= Self.maximumMissing else { throw ByteReader.malformed("it has too many missing objects") }
        for _ in 0..<count { missing.append(try reader.readID()) }
    }

    private func checkLimits(_ error: (String) -> FerryError) throws(FerryError) {
        if let fault = sealed.flatMap({ Self.fault(of: $0, acknowledgements) }) { throw error(fault) }
        if deviceName.utf8.count > Self.maximumNameBytes { throw error("the device's name is too long") }
        if softwareVersion.utf8.count > Self.maximumSoftwareVersionBytes {
            throw error("the version of the software is too long")
        }
        if acknowledgements.count > Self.maximumAcknowledgements { throw error("it has too many acknowledgements") }
        if digests.count > Self.maximumDigests { throw error("it has too many digests") }
        if retired.count > Self.maximumRetired { throw error("it has too many retired devices") }
        if missing.count > Self.maximumMissing { throw error("it has too many missing objects") }
        if !zip(missing, missing.dropFirst()).allSatisfy({ $0 < $1 }) {
            throw error("its missing objects are not in order")
        }
        if logStart > SegmentName.maximumSequence
            || predecessor.map({ max($0.sequence, $0.end?.sequence ?? 0) > SegmentName.maximumSequence }) ?? false
        {
            throw error("a sequence number is too large")
        }
        if lastSegmentFirst > position.sequence { throw error("its last segment begins after its end") }
        try checkLimits(of: position, error)
        for position in acknowledgements.values { try checkLimits(of: position, error) }
    }

    private func checkLimits(of position: LogPosition, _ error: (String) -> FerryError) throws(FerryError) {
        if position.sequence > SegmentName.maximumSequence { throw error("a sequence number is too large") }
        if position.time > .latest { throw error("a time is too late") }
    }
}

extension ByteWriter {
    /// A varint sequence number, then the time in 8 bytes.
    fileprivate mutating func write(_ position: LogPosition) {
        writeVarint(position.sequence)
        write64(position.time.rawValue)
    }
}

extension ByteReader {
    fileprivate mutating func readPosition() throws(FerryError) -> LogPosition {
        LogPosition(sequence: try readVarint(), time: HybridTime(rawValue: try read64()))
    }
}
