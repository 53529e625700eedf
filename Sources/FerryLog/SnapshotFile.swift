import FerryCore

/// The common frame of manifests, chunks and parts of large values: a header, a body that may be compressed, a checksum (Docs/Format.md,
/// "Files of a snapshot").
struct SnapshotFile {
    enum Kind {
        case manifest
        case chunk
        case part

        var magic: [UInt8] {
            switch self {
            case .manifest: Array("FRYM".utf8)
            case .chunk: Array("FRYC".utf8)
            case .part: Array("FRYV".utf8)
            }
        }

        var noun: String {
            switch self {
            case .manifest: "snapshot"
            case .chunk: "snapshot's chunk"
            case .part: "part of a large value"
            }
        }

        /// The most bytes of a body before compression.
        var bodyBytes: Int {
            switch self {
            case .manifest: SnapshotLimits.manifestBytes
            case .chunk: SnapshotLimits.chunkBytes
            case .part: SegmentLimits.partBytes
            }
        }

        /// The newest version that is written and read.
        var version: UInt8 {
            switch self {
            case .manifest: 4
            case .chunk: 2
            case .part: 1
            }
        }
    }

    /// Bytes before the body.
    static let headerBytes = 40
    static let checksumBytes = 16

    /// Puts a body into a file.
    /// - Parameters:
    ///   - unrepeated: as `Compression.compress` takes it.
    ///   - isCompressed: false if compression is not worth trying.
    /// - Throws: `limitExceeded`.
    static func encode(
        _ body: [UInt8], unrepeated: [Range<Int>] = [], _ kind: Kind, version: UInt8 = 1, container: ContainerID,
        isCompressed: Bool = true
    ) throws(FerryError) -> (bytes: [UInt8], checksum: Checksum) {
        guard body.count <= kind.bodyBytes else {
            throw FerryError(.limitExceeded, "The \(kind.noun) is larger than \(kind.bodyBytes) bytes.")
        }
        let compressed = isCompressed ? try Compression.compress(body, unrepeated: unrepeated) : nil
        let stored = compressed ?? body
        let size = headerBytes + stored.count + checksumBytes
        guard size <= SegmentLimits.fileBytes else {
            throw FerryError(.limitExceeded, "The \(kind.noun) is larger than \(SegmentLimits.fileBytes) bytes.")
        }
        var writer = ByteWriter(reservingCapacity: size)
        writer.write(contentsOf: kind.magic)
        writer.write(version)
        writer.write((compressed == nil ? Compression.Codec.stored : .zlib).rawValue)
        writer.write(0)
        writer.write(0)
        writer.write(container)
        writer.write64(UInt64(body.count))
        writer.write64(UInt64(stored.count))
        writer.write(contentsOf: stored)
        let checksum = ContentHash.checksum(writer.bytes)
        writer.write(checksum)
        return (writer.bytes, checksum)
    }

    /// Verifies a file and takes its body out.
    static func decode(
        _ file: [UInt8], _ kind: Kind, container: ContainerID
    ) throws(FerryError) -> (body: ArraySlice<UInt8>, version: UInt8, checksum: Checksum) {
        var reader = ByteReader(file)
        guard try reader.read(4).elementsEqual(kind.magic) else {
            throw ByteReader.malformed("it is not a \(kind.noun)")
        }
        let version = try reader.readByte()
        guard version <= kind.version else {
            throw FerryError(
                .formatTooNew,
                "The \(kind.noun) is of format version \(version), this Ferry reads up to \(kind.version). "
                    + "Update Ferry on this device.")
        }
        guard version >= 1 else { throw ByteReader.malformed("its version is \(version)") }
        guard file.count >= headerBytes + checksumBytes else { throw ByteReader.malformed("it ends too early") }
        guard file.count <= SegmentLimits.fileBytes else {
            throw ByteReader.malformed("it is larger than \(SegmentLimits.fileBytes) bytes")
        }
        guard let checksum = ContentHash.verifiedTrailer(of: file) else {
            throw ByteReader.malformed("its checksum does not match its content")
        }
        guard let codec = Compression.Codec(rawValue: try reader.readByte()) else {
            throw ByteReader.malformed("its compression is unknown")
        }
        guard try reader.readByte() == 0, try reader.readByte() == 0 else {
            throw ByteReader.malformed("its reserved bytes are not zero")
        }
        let told: ContainerID = try reader.readID()
        guard told == container else {
            throw FerryError(
                .foreignFile, "The \(kind.noun) belongs to another container. Remove it from this one.")
        }
        let bodyBytes = try reader.read64()
        let storedBytes = try reader.read64()
        guard bodyBytes <= UInt64(kind.bodyBytes), storedBytes == UInt64(file.count - headerBytes - checksumBytes)
        else { throw ByteReader.malformed("its lengths do not match") }
        // Neither can overflow: a file has at most 2^28 bytes.
        let (whole, stored) = (Int(bodyBytes), Int(storedBytes))
        guard codec == .zlib ? whole <= stored * SegmentLimits.bodyRatio : whole == stored else {
            throw ByteReader.malformed("its lengths do not match")
        }
        let slice = file[headerBytes..<headerBytes + stored]
        if codec == .stored { return (slice, version, checksum) }
        // A part has any bytes.
        if kind == .part { return (try Compression.decompress(slice, bodyLength: whole)[...], version, checksum) }
        let body = try Compression.decompress(slice, bodyLength: whole) { (beginning) throws(FerryError) in
            switch kind {
            case .manifest:
                _ = try SnapshotManifestDecoder.decode(body: beginning, version: version, container: container)
            case .chunk:
                _ = try SnapshotChunkDecoder.decode(
                    body: beginning, version: version, container: container, parts: .leftOut)
            case .part: break
            }
        }
        return (body[...], version, checksum)
    }
}
