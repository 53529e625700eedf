import FerryContainer
import FerryCore
import FerryLog
import Foundation

/// A snapshot as a single file, for a USB stick or a backup (Docs/Format.md, "Archives"): the chunks, the manifest, and
/// the manifest's offset.
struct SnapshotArchive {
    static let magic = Array("FRYA".utf8)
    static let version: UInt8 = 1
    /// Bytes before the first chunk.
    static let headerBytes = 24
    /// Bytes behind the manifest.
    static let footerBytes = 20

    /// The container of the snapshot.
    let container: ContainerID
    let manifest: SnapshotManifest
    /// The manifest's checksum.
    let checksum: Checksum
    private let path: String
    private let handle: FileHandle
    /// The offset of each chunk.
    private let offsets: [Checksum: UInt64]

    /// Opens an archive and reads its manifest; chunks are read on request.
    /// - Throws: `inputOutput` for a missing file, `damagedFile`, `formatTooNew`.
    init(path: String) throws {
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw FerryError(.inputOutput, "The file \(path) cannot be read. Check the path.", path: path)
        }
        self.path = path
        self.handle = handle
        do {
            let size = try handle.seekToEnd()
            let header = try Self.read(handle, from: 0, count: Self.headerBytes, size: size)
            var reader = ByteReader(header)
            guard try reader.read(4).elementsEqual(Self.magic) else {
                throw ByteReader.malformed("it is not a snapshot that `ferry export` wrote")
            }
            let version = try reader.readByte()
            guard version <= Self.version else {
                throw FerryError(.formatTooNew, "The file was written by a newer Ferry. Update Ferry on this device.")
            }
            guard version >= 1, try reader.read(3).allSatisfy({ $0 == 0 }) else {
                throw ByteReader.malformed("its header makes no sense")
            }
            container = try reader.readID()
            guard size >= UInt64(Self.headerBytes + Self.footerBytes) else {
                throw ByteReader.malformed("it ends too early")
            }
            let end = size - UInt64(Self.footerBytes)
            reader = ByteReader(try Self.read(handle, from: end, count: Self.footerBytes, size: size))
            let (offset, length) = (try reader.read64(), try reader.read64())
            guard try reader.read(4).elementsEqual(Self.magic) else { throw ByteReader.malformed("it ends too early") }
            guard offset >= UInt64(Self.headerBytes), offset <= end, length == end - offset,
                length <= UInt64(Container.maximumSegmentBytes)
            else { throw ByteReader.malformed("its lengths do not match") }
            let bytes = try Self.read(handle, from: offset, count: Int(length), size: size)
            (manifest, checksum) = try SnapshotManifestDecoder.decode(bytes, container: container)
            var offsets: [Checksum: UInt64] = [:]
            var place = UInt64(Self.headerBytes)
            for chunk in manifest.tables.flatMap(\.chunks) where offsets[chunk.checksum] == nil {
                offsets[chunk.checksum] = place
                place += UInt64(chunk.bytes)
            }
            guard place == offset else { throw ByteReader.malformed("its chunks are not all there") }
            self.offsets = offsets
        } catch {
            throw Self.located(error, path)
        }
    }

    /// Reads and verifies a chunk of a table.
    func chunk(_ chunk: SnapshotManifest.Chunk, of table: String) throws -> SnapshotChunk {
        do {
            guard let offset = offsets[chunk.checksum] else {
                throw FerryError(.internalInconsistency, "The snapshot does not name the chunk \(chunk.checksum.hex).")
            }
            let bytes = try Self.read(handle, from: offset, count: chunk.bytes, size: .max)
            let (decoded, checksum) = try SnapshotChunkDecoder.decode(bytes, container: container)
            guard checksum == chunk.checksum, decoded.table == table, decoded.objects.count == chunk.objects else {
                throw ByteReader.malformed("a chunk is another than it should be")
            }
            return decoded
        } catch {
            throw Self.located(error, path)
        }
    }

    private static func read(_ handle: FileHandle, from offset: UInt64, count: Int, size: UInt64) throws -> [UInt8] {
        guard offset <= size, UInt64(count) <= size - offset else { throw ByteReader.malformed("it ends too early") }
        try handle.seek(toOffset: offset)
        let data = try handle.read(upToCount: count) ?? Data()
        guard data.count == count else { throw ByteReader.malformed("it ends too early") }
        return [UInt8](data)
    }

    private static func located(_ error: any Error, _ path: String) -> FerryError {
        var located =
            error as? FerryError
            ?? FerryError(
                .inputOutput, "Reading \(path) failed: \(error.localizedDescription)", path: path, cause: error)
        if located.path == nil { located.path = path }
        return located
    }
}

/// Writes a `SnapshotArchive` under a temporary name in the same folder. The file gets its final name once whole and
/// durable.
final class SnapshotArchiveWriter {
    private let path: String
    private let temporary: String
    private let handle: FileHandle
    private let fileSystem = PosixFileSystem()
    private var length = UInt64(SnapshotArchive.headerBytes)
    private var written: Set<Checksum> = []
    private var isFinished = false

    /// - Throws: `inputOutput` if the folder is missing or not writable.
    init(path: String, container: ContainerID, random: any RandomSource) throws {
        self.path = path
        temporary = path + ".ferry-tmp-" + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        var header = ByteWriter()
        header.write(contentsOf: SnapshotArchive.magic)
        header.write(SnapshotArchive.version)
        header.write(contentsOf: [0, 0, 0])
        header.write(container)
        try fileSystem.write(header.bytes, toNewFileAt: temporary)
        guard let handle = FileHandle(forWritingAtPath: temporary) else {
            throw FerryError(.inputOutput, "The file \(temporary) cannot be written.", path: temporary)
        }
        self.handle = handle
        try handle.seekToEnd()
    }

    deinit {
        try? handle.close()  // a finished file was synchronized before
        if !isFinished { _ = try? fileSystem.removeFile(at: temporary) }  // its name marks a temporary file
    }

    /// Appends a chunk, once.
    func append(_ chunk: [UInt8], checksum: Checksum) throws {
        if !written.insert(checksum).inserted { return }
        try append(chunk)
    }

    private func append(_ bytes: [UInt8]) throws {
        do {
            try handle.write(contentsOf: bytes)
        } catch {
            throw FerryError(
                .inputOutput, "Writing \(temporary) failed: \(error.localizedDescription). Is there room for it?",
                path: temporary, cause: error)
        }
        length += UInt64(bytes.count)
    }

    /// Appends the manifest and makes the file visible, in place of a present file of this name.
    /// - Returns: the file's length in bytes.
    func finish(manifest: [UInt8]) throws -> Int {
        var footer = ByteWriter()
        footer.write64(length)
        footer.write64(UInt64(manifest.count))
        footer.write(contentsOf: SnapshotArchive.magic)
        try append(manifest)
        try append(footer.bytes)
        try handle.synchronize()
        try fileSystem.rename(temporary, to: path)
        isFinished = true
        try fileSystem.synchronizeDirectory(at: (path as NSString).deletingLastPathComponent)
        return Int(length)
    }
}
