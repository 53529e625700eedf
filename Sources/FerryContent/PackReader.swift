import FerryCore
import FerryLog
import FerrySeal

/// Reads a pack by ranges: first the header and the directory, then single chunks. Each part must be proved before use.
/// The checksum proves the directory, in a sealed container the signature does, and the ID proves each chunk.
package struct PackReader: Sendable {
    /// Gives a range of a pack's bytes, fewer where the pack ends before.
    package typealias Source = @Sendable (Range<Int>) throws -> [UInt8]

    /// The facts about a container for a reader of its packs.
    package struct Surroundings: Sendable {
        package let container: ContainerID
        package let key: ContentKey
        /// `nil` in an open container.
        package let seal: EnvelopeReader?

        package init(container: ContainerID, key: ContentKey, seal: EnvelopeReader? = nil) {
            self.container = container
            self.key = key
            self.seal = seal
        }
    }

    /// The bytes of the first read at the end of a pack, so mostly a single read brings the directory.
    private static let aheadBytes = 16 << 10

    package let id: PackID
    package let device: DeviceID
    package let directory: PackDirectory
    /// The epoch of a sealed pack; `nil` in an open container.
    package let epoch: EpochID?
    private let surroundings: Surroundings
    private let source: Source

    /// Reads header and directory.
    /// - Parameter byteCount: how long the pack is.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`; in a sealed container also `notSealed` and
    ///   `fileNotThereYet`; errors of the source.
    package init(
        _ source: @escaping Source, byteCount: Int, of device: DeviceID, in surroundings: Surroundings
    ) throws {
        let isSealed = surroundings.seal != nil
        let headerLength = isSealed ? SealedPack.headerLength : PackFrame.headerLength
        let endLength = isSealed ? SealedPack.endLength : PackFrame.endLength
        guard byteCount <= ContentLimits.packBytes else { throw ByteReader.malformed("it is too long") }
        let header = try source(0..<min(headerLength, byteCount))
        try PackFrame.check(header, of: device, in: surroundings.container, isSealed: isSealed)
        guard byteCount > headerLength + endLength else { throw ByteReader.malformed("it ends too early") }

        let ahead = max(headerLength, byteCount - Self.aheadBytes)
        var end = try Self.read(ahead..<byteCount, source)
        var frame = ByteReader(end[(end.count - endLength)...])
        let place = try frame.read64()
        let id: PackID = try frame.readID()
        let longest = isSealed ? SealedPack.length(ofStored: PackDirectory.maximumBytes) : PackDirectory.maximumBytes
        guard place > UInt64(headerLength), place < UInt64(byteCount - endLength),
            byteCount - endLength - Int(place) <= longest
        else { throw ByteReader.malformed("its directory is nowhere in it") }
        let start = Int(place)
        end = start < ahead ? try Self.read(start..<ahead, source) + end : Array(end[(start - ahead)...])

        let covered = header + end.dropLast(endLength - 8)
        guard ContentHash.checksum(covered) == id else {
            throw ByteReader.malformed("its checksum does not match its content")
        }
        let entries: [UInt8]
        if let seal = surroundings.seal {
            entries = try SealedPack.openEnd(header, end[...], of: device, seal)
        } else {
            entries = Array(end.dropLast(endLength))
        }
        directory = try PackDirectory(decoding: entries[...], start: headerLength, isSealed: isSealed)
        guard directory.end == start else {
            throw ByteReader.malformed("its chunks do not end where its directory begins")
        }
        epoch = isSealed ? EpochID(bytes: header.suffix(16)) : nil
        self.id = id
        self.device = device
        self.surroundings = surroundings
        self.source = source
    }

    /// The ID of a whole pack, verified without any key. Header, directory and end belong together, and the pack is not
    /// cut off. Readers verify the chunks.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `notSealed`.
    package static func verifiedID(
        of bytes: [UInt8], of device: DeviceID, in container: ContainerID, isSealed: Bool
    ) throws(FerryError) -> PackID {
        let headerLength = isSealed ? SealedPack.headerLength : PackFrame.headerLength
        let endLength = isSealed ? SealedPack.endLength : PackFrame.endLength
        let header = Array(bytes.prefix(headerLength))
        try PackFrame.check(header, of: device, in: container, isSealed: isSealed)
        guard bytes.count > headerLength + endLength else { throw ByteReader.malformed("it ends too early") }
        var frame = ByteReader(Array(bytes[(bytes.count - endLength)...]))
        let place = try frame.read64()
        let id: PackID = try frame.readID()
        guard place > UInt64(headerLength), place < UInt64(bytes.count - endLength) else {
            throw ByteReader.malformed("its directory is nowhere in it")
        }
        let covered = header + bytes[Int(place)..<(bytes.count - endLength + 8)]
        guard ContentHash.checksum(covered) == id else {
            throw ByteReader.malformed("its checksum does not match its content")
        }
        return id
    }

    /// Reads a chunk and verifies the ID.
    /// - Throws: as `chunk(_:at:of:in:_:)`.
    package func chunk(_ entry: PackDirectory.Entry) throws -> [UInt8] {
        try Self.chunk(entry.id, at: entry.place, of: device, in: surroundings, source)
    }

    /// Reads a chunk at a known place, as of a pack's row, and verifies the ID. The pack's directory is not read.
    /// - Throws: `damagedFile` for anything but the chunk, in a sealed container also `fileNotThereYet`; errors of the
    ///   source.
    package static func chunk(
        _ id: ChunkID, at place: ChunkPlace, of device: DeviceID, in surroundings: Surroundings, _ source: Source
    ) throws -> [UInt8] {
        guard place.offset >= 0, place.offset <= ContentLimits.packBytes,
            (1...ContentLimits.packBytes).contains(place.stored), (1...ContentLimits.chunkBytes).contains(place.count)
        else { throw ByteReader.malformed("a chunk has an impossible place") }
        let found = try read(place.range, source)
        let stored: [UInt8]
        if let seal = surroundings.seal {
            stored = try SealedPack.open(found[...], id, form: place.form.rawValue, of: device, seal)
        } else {
            stored = found
        }
        let bytes = place.form == .zlib ? try ChunkCompression.decompress(stored[...], count: place.count) : stored
        guard bytes.count == place.count, surroundings.key.chunkID(of: bytes) == id else {
            throw ByteReader.malformed("a chunk is not what its ID says")
        }
        return bytes
    }

    private static func read(_ range: Range<Int>, _ source: Source) throws -> [UInt8] {
        let bytes = try source(range)
        guard bytes.count == range.count else { throw ByteReader.malformed("it ends too early") }
        return bytes
    }
}
