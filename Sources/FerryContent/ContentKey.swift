import FerryCore
import FerrySeal

/// Names contents and chunks, and says where the chunker cuts: K (Docs/Format.md, "Contents").
///
/// All devices of a container have the same key, so equal bytes have the same name everywhere. The key of a sealed
/// container is secret. An outsider with the folder cannot ask whether a known file is in it, neither by IDs nor by the
/// lengths of chunks.
package struct ContentKey: Sendable {
    private let hash: KeyedHash
    /// 256 random numbers for `Chunker`, one for each byte.
    let gear: [UInt64]

    private init(_ hash: KeyedHash) {
        self.hash = hash
        let gear = hash.derived("ferry gear 1")
        self.gear = (0..<64).flatMap { block -> [UInt64] in
            let bytes = gear.code([UInt8(block)])
            return (0..<4).map { place in
                (0..<8).reversed().reduce(0) { $0 << 8 | UInt64(bytes[8 * place + $1]) }
            }
        }
    }

    /// The key of an open container.
    package init(openContainer container: ContainerID) {
        self.init(KeyedHash(openContainer: container, label: "ferry content 1"))
    }

    /// A key of a sealed container. Contents named under an epoch keep their names: the epoch has to be handed on
    /// as long as they live.
    package init(_ epoch: EpochSecret) {
        self.init(KeyedHash(epoch, label: "content"))
    }

    /// The ID of a chunk.
    package func chunkID(of bytes: UnsafeRawBufferPointer) -> ChunkID { hash.id(bytes) }

    /// The ID of a chunk.
    package func chunkID(of bytes: some Sequence<UInt8>) -> ChunkID {
        bytes.withContiguousStorageIfAvailable { hash.id(UnsafeRawBufferPointer($0)) }
            ?? Array(bytes).withUnsafeBytes { hash.id($0) }
    }

    /// The ID of a content. The ID does not depend on the place of the bytes. A content in a row has the same ID as the
    /// same bytes in a pack, as a single chunk.
    /// - Throws: `limitExceeded`.
    package func contentID(of list: ContentList) throws(FerryError) -> ContentID {
        var running = hash.begin()
        switch list {
        case .file(let body):
            running.update([1] + Self.littleEndian(UInt64(try list.byteCount())))
            for chunk in chunks(of: body) {
                var writer = ByteWriter(reservingCapacity: 20)
                ContentList.write(chunk, to: &writer)
                running.update(writer.bytes)
            }
        case .package(let files):
            running.update([2] + Self.littleEndian(UInt64(try list.byteCount())))
            for file in files {
                var writer = ByteWriter()
                writer.writeCounted(file.path)
                writer.write(file.isExecutable ? 1 : 0)
                writer.writeZigzag(file.modifiedMicroseconds)
                writer.write(try contentID(of: .file(file.body)))
                running.update(writer.bytes)
            }
        }
        return running.id()
    }

    private func chunks(of body: ContentList.Body) -> [ContentList.Chunk] {
        switch body {
        case .chunks(let chunks): chunks
        case .bytes(let bytes): bytes.isEmpty ? [] : [.init(id: chunkID(of: bytes), count: bytes.count)]
        }
    }

    private static func littleEndian(_ number: UInt64) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
