import FerryContainer
import FerryContent
import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

/// What the tests of contents share: one open container and one sealed container.
enum Samples {
    static let container = ContainerID(high: 0x0011_2233_4455_6677, low: 0x8899_aabb_ccdd_eeff)
    static let device = DeviceID(high: 0x0a, low: 1)
    static let key = ContentKey(openContainer: container)
    static let open = PackReader.Surroundings(container: container, key: key)

    static func writer() -> PackWriter { PackWriter(container: container, device: device) }

    /// Bytes that no compression makes smaller.
    static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
        var chance = Chance(seed: seed)
        return [UInt8](unsafeUninitializedCapacity: count + 8) { buffer, filled in
            while filled < count {
                withUnsafeBytes(of: chance.next()) {
                    for byte in $0 {
                        buffer[filled] = byte
                        filled += 1
                    }
                }
            }
            filled = count
        }
    }

    /// Words of a few letters.
    static func text(_ count: Int, seed: UInt64) -> [UInt8] {
        var chance = Chance(seed: seed)
        let words = ["pack", "chunk", "content", "row", "device", "a", "of", "the"]
        var bytes: [UInt8] = []
        while bytes.count < count { bytes += Array(chance.pick(words).utf8) + [32] }
        return Array(bytes.prefix(count))
    }

    /// A member of a sealed container, with an epoch.
    struct Member {
        let keys: DeviceKeys
        let epoch: EpochSecret
        let key: ContentKey
        let surroundings: PackReader.Surroundings

        init(seed: UInt64 = 1) throws {
            let random = SeededRandom(seed: seed)
            let (keys, epoch) = (
                try DeviceKeys(mintedFor: Samples.container, random: random),
                EpochSecret(mintedFor: Samples.container, random: random)
            )
            (self.keys, self.epoch, key) = (keys, epoch, ContentKey(epoch))
            surroundings = PackReader.Surroundings(
                container: Samples.container, key: key, seal: Self.reader(keys, epoch))
        }

        static func reader(_ keys: DeviceKeys, _ epoch: EpochSecret) -> EnvelopeReader {
            let (device, publicKeys) = (keys.device, keys.publicKeys)
            return EnvelopeReader(
                container: Samples.container, keys: { $0 == device ? publicKeys : nil },
                epoch: { $0 == epoch.id ? epoch : nil })
        }

        func writer() throws -> PackWriter { PackWriter(try SealedPack.Sealer(epoch, by: keys)) }
    }

    /// The bytes of a pack with these chunks, and its ID.
    static func pack(
        _ chunks: [[UInt8]], _ key: ContentKey = key, _ writer: PackWriter = writer()
    ) throws -> (bytes: [UInt8], id: PackID) {
        var writer = writer
        var bytes = writer.header
        for chunk in chunks { bytes += try writer.append(try PreparedChunk(chunk, key)) }
        let end = try writer.end()
        return (bytes + end.bytes, end.id)
    }

    static func reader(
        _ bytes: [UInt8], of device: DeviceID = device, in surroundings: PackReader.Surroundings = open
    ) throws -> PackReader {
        try PackReader(source(bytes), byteCount: bytes.count, of: device, in: surroundings)
    }

    static func source(_ bytes: [UInt8]) -> PackReader.Source {
        { Array(bytes[$0.clamped(to: 0..<bytes.count)]) }
    }
}

/// A file in memory.
func makeFile(_ bytes: [UInt8], _ files: MemoryFileSystem = MemoryFileSystem(), at path: String = "/f") throws
    -> any ReadableFile
{
    try files.removeFile(at: path)
    try files.write(bytes, toNewFileAt: path)
    return try XCTUnwrap(try files.openFile(at: path))
}

/// The chunks that a chunker makes of bytes.
func cut(_ bytes: [UInt8], _ key: ContentKey = Samples.key) throws -> [[UInt8]] {
    var stream = ChunkStream(try makeFile(bytes), Chunker(key))
    var chunks: [[UInt8]] = []
    while let chunk = try stream.next() { chunks.append(chunk) }
    return chunks
}
