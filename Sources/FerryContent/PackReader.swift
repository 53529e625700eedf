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
        /// The keys that may name the chunks.
        package let keys: [ContentKey]
        /// `nil` in an open container.
        package let seal: EnvelopeReader?

        package init(container: ContainerID, key: ContentKey, seal: EnvelopeReader? = nil) {
            self.init(container: container, keys: [key], seal: seal)
        }

        package init(container: ContainerID, keys: [ContentKey], seal: EnvelopeReader?) {
            self.container = container
            self.keys = keys
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
        let frame = try Frame(source, byteCount, of: device, in: surroundings.container, isSealed: isSealed)
        let entries: [UInt8]
        if let seal = surroundings.seal {
            entries = try SealedPack.openEnd(frame.header, frame.end[...], of: device, seal)
        } else {
            entries = Array(frame.end.dropLast(PackFrame.endLength))
        }
        directory = try PackDirectory(decoding: entries[...], start: frame.header.count, isSealed: isSealed)
        guard directory.end == frame.start else {
            throw ByteReader.malformed("its chunks do not end where its directory begins")
        }
        epoch = isSealed ? EpochID(bytes: frame.header.suffix(16)) : nil
        id = frame.id
        self.device = device
        self.surroundings = surroundings
        self.source = source
    }

    /// What stands around the chunks, held together by the checksum.
    private struct Frame {
        let header: [UInt8]
        /// The directory, sealed or not, and all behind it.
        let end: [UInt8]
        /// Where the directory begins.
        let start: Int
        let id: PackID

        /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `notSealed`; what the source throws.
        init(
            _ source: Source, _ byteCount: Int, of device: DeviceID, in container: ContainerID, isSealed: Bool
        ) throws {
            let headerLength = isSealed ? SealedPack.headerLength : PackFrame.headerLength
            let endLength = isSealed ? SealedPack.endLength : PackFrame.endLength
            guard byteCount <= ContentLimits.packBytes else { throw ByteReader.malformed("it is too long") }
            header = try source(0..<min(headerLength, byteCount))
            try PackFrame.check(header, of: device, in: container, isSealed: isSealed)
            guard byteCount > headerLength + endLength else { throw ByteReader.malformed("it ends too early") }

            let ahead = max(headerLength, byteCount - PackReader.aheadBytes)
            let last = try PackReader.read(ahead..<byteCount, source)
            var frame = ByteReader(last[(last.count - endLength)...])
            let place = try frame.read64()
            id = try frame.readID()
            let longest =
                isSealed ? SealedPack.length(ofStored: PackDirectory.maximumBytes) : PackDirectory.maximumBytes
            guard place > UInt64(headerLength), place < UInt64(byteCount - endLength),
                byteCount - endLength - Int(place) <= longest
            else { throw ByteReader.malformed("its directory is nowhere in it") }
            start = Int(place)
            end =
                start < ahead
                ? try PackReader.read(start..<ahead, source) + last : Array(last[(start - ahead)...])
            guard ContentHash.checksum(header + end.dropLast(endLength - 8)) == id else {
                throw ByteReader.malformed("its checksum does not match its content")
            }
        }
    }

    /// The ID of a pack, proved without any key: header, directory and end are one, and the pack is not cut off. The chunks
    /// are proved by who reads them.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `notSealed`; what the source throws.
    package static func verifiedID(
        _ source: Source, byteCount: Int, of device: DeviceID, in container: ContainerID, isSealed: Bool
    ) throws -> PackID {
        try Frame(source, byteCount, of: device, in: container, isSealed: isSealed).id
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
        guard bytes.count == place.count, surroundings.keys.contains(where: { $0.chunkID(of: bytes) == id }) else {
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
