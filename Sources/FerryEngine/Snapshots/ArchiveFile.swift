import FerryContainer
import FerryCore
import FerryMembers
import Foundation

/// The places of the parts in a file of `ferry export` (Docs/Format.md, "Archives"). The reader of a part verifies it.
///
/// Invariants:
/// - The parts follow each other without a gap: header, chunks, packs, manifest, records, footer. An open container's file has no
///   records, and a file without bytes of documents no packs.
/// - No part read as a whole is longer than `maximumPartBytes`.
struct ArchiveFile {
    static let magic = Array("FRYA".utf8)
    /// The file of an open container: manifest and chunks are plain.
    static let plainVersion: UInt8 = 1
    /// The file of a sealed container: manifest and chunks are in envelopes, and all records of the members come along.
    static let sealedVersion: UInt8 = 2
    /// Added to the versions above where packs of documents come along.
    static let withPacks: UInt8 = 2
    private static let newestVersion = sealedVersion + withPacks
    /// Bytes before the first chunk.
    static let headerBytes = 24
    static let maximumPartBytes = FileKind.manifest.maximumFileBytes

    /// Bytes behind the last part.
    static func footerBytes(_ version: UInt8) -> Int {
        20 + (isSealed(version) ? 16 : 0) + (hasPacks(version) ? 8 : 0)
    }

    private static func isSealed(_ version: UInt8) -> Bool { version.isMultiple(of: 2) }
    private static func hasPacks(_ version: UInt8) -> Bool { version > withPacks }

    /// A pack in the file.
    struct Pack: Hashable {
        /// The length of the header of a pack: the pack's ID, the ID of the device, and the length.
        static let headerBytes = 40
        static let maximumCount = 1 << 20

        let id: PackID
        let device: DeviceID
        /// The place of the first byte.
        let offset: UInt64
        let byteCount: Int
    }

    let path: String
    /// The container of the snapshot.
    let container: ContainerID
    let isSealed: Bool
    /// The first byte behind the chunks.
    let endOfChunks: UInt64
    private let endOfPacks: UInt64
    private let manifestLength: Int
    private let recordsLength: Int
    private let handle: FileHandle

    /// Opens a file, and finds the parts.
    /// - Throws: `inputOutput` for a missing file, `invalidArgument` for a directory or a pipe, `damagedFile`, `formatTooNew`.
    init(path: String) throws {
        try ArgumentFile(path).checkRegular()
        guard let handle = FileHandle(forReadingAtPath: path) else {
            throw FerryError(
                .inputOutput, "The file \(path) cannot be read. Check the permissions of the file.", path: path)
        }
        self.path = path
        self.handle = handle
        do {
            let size = try handle.seekToEnd()
            var reader = ByteReader(try Self.read(handle, from: 0, count: Self.headerBytes, size: size))
            guard try reader.read(4).elementsEqual(Self.magic) else {
                throw ByteReader.malformed("it is not a snapshot that `ferry export` wrote")
            }
            let version = try reader.readByte()
            guard version <= Self.newestVersion else {
                throw FerryError(.formatTooNew, "The file was written by a newer Ferry. Update Ferry on this device.")
            }
            guard version >= Self.plainVersion, try reader.read(3).allSatisfy({ $0 == 0 }) else {
                throw ByteReader.malformed("its header makes no sense")
            }
            isSealed = Self.isSealed(version)
            container = try reader.readID()
            let footer = Self.footerBytes(version)
            guard size >= UInt64(Self.headerBytes + footer) else { throw ByteReader.malformed("it ends too early") }
            let end = size - UInt64(footer)
            reader = ByteReader(try Self.read(handle, from: end, count: footer, size: size))
            let packs = Self.hasPacks(version) ? try reader.read64() : nil
            let (place, manifest) = (try reader.read64(), try reader.read64())
            let (recordsPlace, records) = isSealed ? (try reader.read64(), try reader.read64()) : (end, 0)
            guard try reader.read(4).elementsEqual(Self.magic) else { throw ByteReader.malformed("it ends too early") }
            let limit = UInt64(Self.maximumPartBytes)
            let chunksEnd = packs ?? place
            guard chunksEnd >= UInt64(Self.headerBytes), chunksEnd <= place, place <= recordsPlace, recordsPlace <= end,
                manifest == recordsPlace - place, records == end - recordsPlace, manifest <= limit, records <= limit
            else { throw ByteReader.malformed("its lengths do not match") }
            (endOfChunks, endOfPacks) = (chunksEnd, place)
            (manifestLength, recordsLength) = (Int(manifest), Int(records))
        } catch {
            throw Self.located(error, path)
        }
    }

    /// True if an export may be written to a path: nothing is there, an empty file, or another export.
    static func mayReplace(_ path: String, _ files: PosixFileSystem) throws -> Bool {
        switch try files.item(at: path) {
        case .missing: true
        case .file(let size): try size == 0 || files.readFile(at: path, range: 0..<magic.count) == magic
        case .directory, .other: false
        }
    }

    // MARK: Parts

    /// The manifest's file, unverified.
    func readManifest() throws -> [UInt8] { try read(from: endOfPacks, count: manifestLength) }

    /// The packs in the file, unverified.
    /// - Throws: `damagedFile`.
    func packs() throws -> [Pack] {
        try locating {
            var (packs, place): ([Pack], UInt64) = ([], endOfChunks)
            while place < endOfPacks {
                var reader = ByteReader(try Self.read(handle, from: place, count: Pack.headerBytes, size: endOfPacks))
                let (id, device, length): (PackID, DeviceID, UInt64) = (
                    try reader.readID(), try reader.readID(), try reader.read64()
                )
                place += UInt64(Pack.headerBytes)
                guard (1...UInt64(ContentLimits.packBytes)).contains(length), length <= endOfPacks - place,
                    packs.count < Pack.maximumCount
                else { throw ByteReader.malformed("its packs make no sense") }
                packs.append(Pack(id: id, device: device, offset: place, byteCount: Int(length)))
                place += length
            }
            return packs
        }
    }

    /// Bytes of the file.
    /// - Throws: `damagedFile` where the file ends before.
    func read(from offset: UInt64, count: Int) throws -> [UInt8] {
        try locating { try Self.read(handle, from: offset, count: count, size: .max) }
    }

    /// The records in the file: each after the records followed by it, the first of the membership before all others.
    /// The signatures are unverified.
    /// - Throws: `damagedFile`, `formatTooNew`, `foreignFile`, `limitExceeded`.
    func readRecords() throws -> [MemberRecord] {
        try locating {
            let place = endOfPacks + UInt64(manifestLength)
            var reader = ByteReader(try Self.read(handle, from: place, count: recordsLength, size: .max))
            let count = try reader.readCount(minimumBytes: 2)
            guard count >= 1, count <= MemberGraph.maximumRecords else {
                throw ByteReader.malformed("it has no records of members, or too many")
            }
            var records: [MemberRecord] = []
            for _ in 0..<count {
                let bytes = Array(try reader.readCounted())
                do throws(FerryError) {
                    records.append(try MemberRecord(decoding: bytes, container: container))
                } catch {
                    // The file is there whole: the missing bytes of a record will not come.
                    throw error.code == .fileNotThereYet
                        ? ByteReader.malformed("a record of members ends too early") : error
                }
            }
            guard reader.isAtEnd, records[0].isFirst else {
                throw ByteReader.malformed("its records of members are no membership's")
            }
            return records
        }
    }

    private static func read(_ handle: FileHandle, from offset: UInt64, count: Int, size: UInt64) throws -> [UInt8] {
        guard offset <= size, UInt64(count) <= size - offset else { throw ByteReader.malformed("it ends too early") }
        try handle.seek(toOffset: offset)
        let data = try handle.read(upToCount: count) ?? Data()
        guard data.count == count else { throw ByteReader.malformed("it ends too early") }
        return [UInt8](data)
    }

    // MARK: Errors

    /// Adds the path to the errors of `body`.
    func locating<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw Self.located(error, path) }
    }

    private static func located(_ error: any Error, _ path: String) -> FerryError {
        var located =
            error as? FerryError
            ?? FerryError(
                .inputOutput, "Reading \(path) failed: \(error.systemWords).", path: path, cause: error)
        if located.path == nil { located.path = path }
        return located
    }
}
