import FerryContainer
import FerryContent
import FerryCore
import FerryTestSupport
import XCTest

final class ChunkerTests: XCTestCase {
    func testChunksTogetherAreTheContentAndKeepTheirBounds() throws {
        for (seed, count) in [0, 1, 128 << 10, (128 << 10) + 1, 600_000, 3_000_001].enumerated() {
            for bytes in [
                Samples.noise(count, seed: UInt64(seed)), Samples.text(count, seed: UInt64(seed)),
                [UInt8](repeating: 0, count: count),
            ] {
                let chunks = try cut(bytes)
                XCTAssertEqual(Array(chunks.joined()), bytes)
                XCTAssertTrue(chunks.allSatisfy { (1...Chunker.mostBytes).contains($0.count) })
                XCTAssertTrue(chunks.dropLast().allSatisfy { $0.count >= Chunker.leastBytes })
            }
        }
    }

    func testWhatIsNoLongerThanTheLeastIsOneChunk() throws {
        XCTAssertEqual(try cut(Samples.noise(Chunker.leastBytes, seed: 1)).count, 1)
        XCTAssertEqual(try cut([7]).count, 1)
        XCTAssertEqual(try cut([]), [])
    }

    func testZerosAreEqualChunks() throws {
        let chunks = try cut([UInt8](repeating: 0, count: 3 * Chunker.mostBytes))
        XCTAssertEqual(Set(chunks).count, 1)
    }

    /// 584 KiB in the mean were computed for random bytes.
    func testTheMeanIsWhatWasComputed() throws {
        let chunks = try cut(Samples.noise(32 << 20, seed: 9))
        let mean = (32 << 10) / chunks.count
        XCTAssertTrue((480...700).contains(mean), "\(mean) KiB in the mean")
    }

    func testAnInsertionAtTheStartChangesTheFirstChunksAlone() throws {
        for seed in Seeds(defaultCount: 1).all {
            let bytes = Samples.noise(12 << 20, seed: seed)
            let before = Set(try cut(bytes).map { Samples.key.chunkID(of: $0) })
            for inserted in [1, 1000] {
                let after = try cut(Samples.noise(inserted, seed: seed &+ 99) + bytes)
                let new = after.filter { !before.contains(Samples.key.chunkID(of: $0)) }
                let context = "seed \(seed), \(inserted) bytes"
                XCTAssertLessThanOrEqual(new.reduce(0) { $0 + $1.count }, 6 << 20, context)
                XCTAssertLessThan(new.count, after.count / 2, context)
            }
        }
    }

    func testAByteInTheMiddleChangesTheChunksAroundItAlone() throws {
        var bytes = Samples.noise(6 << 20, seed: 3)
        let before = Set(try cut(bytes))
        bytes[3 << 20] ^= 1
        XCTAssertLessThanOrEqual(try cut(bytes).filter { !before.contains($0) }.count, 3)
    }

    func testCutsDependOnTheKey() throws {
        let bytes = Samples.noise(4 << 20, seed: 4)
        let other = ContentKey(openContainer: ContainerID(high: 1, low: 2))
        XCTAssertNotEqual(try cut(bytes).map(\.count), try cut(bytes, other).map(\.count))
    }

    /// A reader that gives few bytes at a time, as a pipe or a network disk does.
    func testShortReadsMakeTheSameChunks() throws {
        struct Slow: ReadableFile {
            let bytes: [UInt8]
            func byteCount() throws -> Int { bytes.count }
            func version() throws -> FileVersion { try makeFile([]).version() }
            func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
                let part = bytes.dropFirst(offset).prefix(min(buffer.count, 10_007))
                buffer.copyBytes(from: part)
                return part.count
            }
        }
        let bytes = Samples.noise(3 << 20, seed: 5)
        var stream = ChunkStream(Slow(bytes: bytes), Chunker(Samples.key))
        var chunks: [[UInt8]] = []
        while let chunk = try stream.next() { chunks.append(chunk) }
        XCTAssertEqual(chunks, try cut(bytes))
        XCTAssertEqual(stream.bytesRead, bytes.count)
    }

    func testAFileThatIsLongerThanExpectedMakesTheSameChunks() throws {
        let bytes = Samples.noise(3 << 20, seed: 6)
        for expected in [-1, 0, 1000, bytes.count - 1, bytes.count] {
            var stream = ChunkStream(try makeFile(bytes), Chunker(Samples.key), expectedBytes: expected)
            var chunks: [[UInt8]] = []
            while let chunk = try stream.next() { chunks.append(chunk) }
            XCTAssertEqual(chunks, try cut(bytes))
        }
    }

    func testALongerFileThanAllowedIsRefused() throws {
        var stream = ChunkStream(try makeFile(Samples.noise(9000, seed: 1)), Chunker(Samples.key), maximumBytes: 8999)
        XCTAssertEqual(failure { while try stream.next() != nil {} }?.code, .limitExceeded)
    }
}
