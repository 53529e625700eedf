import FerryContainer
import FerryCore
import FerryLog
import FerrySeal

/// A snapshot as a single file, for a USB stick or a backup (Docs/Format.md, "Archives").
///
/// Invariants:
/// - The manifest's chunks fill all bytes before the manifest.
/// - In a sealed file, every part handed out is signed by a single member, and sealed under a single epoch.
struct SnapshotArchive {
    /// The seal for opening the parts of a sealed file.
    private struct Opening {
        let seal: any FileSealing
        let device: DeviceID
        let epoch: EpochID
        /// Whether the files of the device count for nothing.
        var isStranger: Bool { seal.readable([device]).isEmpty }
    }

    let manifest: SnapshotManifest
    /// The manifest's checksum.
    let checksum: Checksum
    var container: ContainerID { file.container }
    let file: ArchiveFile
    private let opening: Opening?
    /// The seal for opening a sealed file.
    var seal: (any FileSealing)? { opening?.seal }
    /// Where each chunk and each part of a large value lies.
    private let places: [Checksum: (offset: UInt64, byteCount: Int)]

    /// Reads the manifest of a file; chunks are read on request.
    /// - Parameter seal: a member's, for the file of a sealed container only.
    /// - Throws: `damagedFile`, `formatTooNew`; for a sealed file also `foreignFile` if the writer is no member, and
    ///   `keyMissing` if the seal lacks the file's epoch.
    init(_ file: ArchiveFile, seal: (any FileSealing)? = nil) throws {
        self.file = file
        let bytes = try file.readManifest()
        (manifest, checksum, opening, places) = try file.locating {
            let opening = try Self.opening(of: bytes, file, seal)
            let plain = try opening.map { try Self.open(bytes, .manifest, $0) } ?? bytes
            let (manifest, checksum) = try SnapshotManifestDecoder.decode(plain, container: file.container)
            var places: [Checksum: (offset: UInt64, byteCount: Int)] = [:]
            var end = UInt64(ArchiveFile.headerBytes)
            for chunk in manifest.tables.lazy.flatMap(\.chunks) {
                // A chunk comes after its parts, except for parts of earlier chunks.
                for (checksum, bytes) in chunk.parts.map({ ($0.checksum, $0.bytes) }) + [(chunk.checksum, chunk.bytes)]
                where places[checksum] == nil {
                    let length = file.isSealed ? Envelope.length(ofContent: bytes) : bytes
                    places[checksum] = (end, length)
                    end += UInt64(length)
                }
            }
            guard end == file.endOfChunks else { throw ByteReader.malformed("its chunks are not all there") }
            return (manifest, checksum, opening, places)
        }
    }

    /// Reads and verifies a chunk of a table.
    func chunk(_ chunk: SnapshotManifest.Chunk, of table: String) throws -> SnapshotChunk {
        try file.locating {
            let source = PartSource.files(read: { try read($0.checksum, .part) }, place: { _ in nil })
            let (decoded, checksum) = try SnapshotChunkDecoder.decode(
                read(chunk.checksum, .chunk), container: container, parts: source)
            guard checksum == chunk.checksum, equalBytes(decoded.table, table), decoded.objects.count == chunk.objects
            else {
                throw ByteReader.malformed("a chunk is another than it should be")
            }
            return decoded
        }
    }

    private func read(_ checksum: Checksum, _ kind: FileKind) throws -> [UInt8] {
        guard let (offset, byteCount) = places[checksum] else {
            throw ByteReader.malformed("its manifest does not name \(checksum.hex)")
        }
        let bytes = try file.read(from: offset, count: byteCount)
        return try opening.map { try Self.open(bytes, kind, $0) } ?? bytes
    }

    // MARK: Sealed files

    /// The sealing device of a file, by the manifest. The signature is verified with the manifest and with each chunk.
    private static func opening(
        of manifest: [UInt8], _ file: ArchiveFile, _ seal: (any FileSealing)?
    ) throws -> Opening? {
        guard let seal, file.isSealed else {
            if !file.isSealed, seal == nil { return nil }
            throw FerryError(.internalInconsistency, "A seal opens the files of sealed containers, and no others.")
        }
        guard let (device, epoch) = Envelope.told(by: manifest) else {
            throw ByteReader.malformed("its parts are not sealed")
        }
        return Opening(seal: seal, device: device, epoch: epoch)
    }

    private static func open(_ bytes: [UInt8], _ kind: FileKind, _ opening: Opening) throws -> [UInt8] {
        do {
            let opened = try opening.seal.open(bytes, kind, of: opening.device)
            guard opened.epoch == opening.epoch else {
                throw ByteReader.malformed("its parts are sealed under different keys")
            }
            return opened.content
        } catch let error as FerryError where error.code == .fileNotThereYet {
            guard !opening.seal.knownEpochs.contains(opening.epoch) else {
                throw ByteReader.malformed("a part of it ends too early")
            }
            throw FerryError(
                .keyMissing,
                "The file is sealed with a key that this device never had: the file is older than the device, or its key was replaced "
                    + "since. Export again on a member.", device: opening.device)
        } catch let error as FerryError where error.code == .foreignFile && opening.isStranger {
            throw FerryError(
                .foreignFile,
                "The file is from a device that is no member of the container. Nothing of it is used; export again on a member.",
                device: opening.device)
        } catch let error as FerryError where error.code == .foreignFile {
            throw ByteReader.malformed("a part of it belongs elsewhere")
        }
    }
}
