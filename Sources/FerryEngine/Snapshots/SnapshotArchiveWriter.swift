import FerryContainer
import FerryCore
import FerryMembers
import Foundation

/// Writes a `SnapshotArchive` under a temporary name in the same folder. The file gets its final name once whole and
/// durable.
///
/// Belongs to a thread.
final class SnapshotArchiveWriter {
    /// The seal for writing a sealed file.
    struct Sealing {
        let seal: any FileSealing
        let device: DeviceID
        let epoch: EpochID
        /// All counted records, each after the records followed by it.
        let records: [[UInt8]]
    }

    private let path: String
    private let temporary: String
    private let sealing: Sealing?
    private let handle: FileHandle
    private let fileSystem = PosixFileSystem()
    private var length = UInt64(ArchiveFile.headerBytes)
    private var written: Set<Checksum> = []
    /// Where the packs begin; `nil` in a file without any.
    private var packsPlace: UInt64?
    private let hasPacks: Bool
    private var isFinished = false

    /// - Parameters:
    ///   - sealing: `nil` for an open file.
    ///   - hasPacks: whether packs of documents come along.
    /// - Throws: `inputOutput` if the folder is missing or not writable.
    init(
        path: String, container: ContainerID, sealing: Sealing?, hasPacks: Bool, random: any RandomSource
    ) throws {
        self.path = path
        self.sealing = sealing
        self.hasPacks = hasPacks
        UnfinishedExport.removeLeftovers(of: path, fileSystem)
        let temporary =
            path + UnfinishedExport.infix + hexString(withUnsafeBytes(of: random.next().bigEndian, Array.init))
        self.temporary = temporary
        var header = ByteWriter()
        header.write(contentsOf: ArchiveFile.magic)
        header.write(
            (sealing == nil ? ArchiveFile.plainVersion : ArchiveFile.sealedVersion)
                + (hasPacks ? ArchiveFile.withPacks : 0))
        header.write(contentsOf: [0, 0, 0])
        header.write(container)
        let (bytes, files) = (header.bytes, fileSystem)
        try UnfinishedExport.make(temporary) { try files.write(bytes, toNewFileAt: temporary) }
        guard let handle = FileHandle(forWritingAtPath: temporary) else {
            throw FerryError(.inputOutput, "The file \(temporary) cannot be written.", path: temporary)
        }
        self.handle = handle
        UnfinishedExport.lock(handle.fileDescriptor)
        try handle.seekToEnd()
    }

    deinit {
        try? handle.close()  // a finished file was synchronized before
        if !isFinished { _ = try? fileSystem.removeFile(at: temporary) }  // the name marks a temporary file
        UnfinishedExport.end(temporary)
    }

    /// Appends a chunk, or a part of a large value before the referring chunk, once.
    func append(_ file: [UInt8], _ kind: FileKind, checksum: Checksum) throws {
        if !written.insert(checksum).inserted { return }
        try append(sealed(file, kind))
    }

    /// Appends a pack with the bytes from the container, after all chunks.
    func append(_ pack: [UInt8], _ id: PackID, of device: DeviceID) throws {
        if packsPlace == nil { packsPlace = length }
        var header = ByteWriter()
        header.write(id)
        header.write(device)
        header.write64(UInt64(pack.count))
        try append(header.bytes)
        try append(pack)
    }

    private func sealed(_ content: [UInt8], _ kind: FileKind) throws -> [UInt8] {
        guard let sealing else { return content }
        return try sealing.seal.seal(content, kind, of: sealing.device, under: sealing.epoch)
    }

    private func append(_ bytes: [UInt8]) throws {
        do {
            try handle.write(contentsOf: bytes)
        } catch {
            if let failure = SystemCallError(below: error, call: "write") { throw failure.ferryError(path: temporary) }
            throw FerryError(
                .inputOutput, "Writing \(temporary) failed: \(error.systemWords). Is there room for it?",
                path: temporary, cause: error)
        }
        length += UInt64(bytes.count)
    }

    /// Appends the manifest, and the records of a sealed file, and makes the file visible, in place of a present file of this name.
    /// - Returns: the file's length in bytes.
    /// - Throws: `limitExceeded` for more records than `ArchiveFile` reads; `inputOutput`.
    func finish(manifest: [UInt8]) throws -> Int {
        var footer = ByteWriter()
        let part = try sealed(manifest, .manifest)
        if hasPacks { footer.write64(packsPlace ?? length) }
        footer.write64(length)
        footer.write64(UInt64(part.count))
        try append(part)
        if let sealing {
            var records = ByteWriter()
            records.writeVarint(UInt64(sealing.records.count))
            for record in sealing.records { records.writeCounted(record) }
            guard records.count <= ArchiveFile.maximumPartBytes else {
                throw FerryError(
                    .limitExceeded,
                    "The container has too many records of members for a file. Found its membership anew: "
                        + "ferry seal --anew.")
            }
            footer.write64(length)
            footer.write64(UInt64(records.count))
            try append(records.bytes)
        }
        footer.write(contentsOf: ArchiveFile.magic)
        try append(footer.bytes)
        try handle.synchronize()
        try fileSystem.rename(temporary, to: path)
        isFinished = true
        try fileSystem.synchronizeDirectory(at: (path as NSString).deletingLastPathComponent)
        return Int(length)
    }
}
