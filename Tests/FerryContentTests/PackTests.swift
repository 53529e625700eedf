import FerryContainer
import FerryContent
import FerryCore
import FerryTestSupport
import XCTest

final class PackTests: XCTestCase {
    private let chunks = [Samples.noise(5000, seed: 1), Samples.text(70_000, seed: 2), [7]]

    func testAPackGivesBackItsChunks() throws {
        let pack = try Samples.pack(chunks)
        let reader = try Samples.reader(pack.bytes)
        XCTAssertEqual(reader.id, pack.id)
        XCTAssertEqual(try reader.directory.entries.map(reader.chunk), chunks)
        XCTAssertEqual(reader.directory.entries.map(\.id), chunks.map { Samples.key.chunkID(of: $0) })
    }

    func testTextIsStoredCompressedAndNoiseAsItIs() throws {
        let entries = try Samples.reader(Samples.pack(chunks).bytes).directory.entries
        XCTAssertEqual(entries.map(\.place.form), [.plain, .zlib, .plain])
        XCTAssertLessThan(entries[1].place.stored, 70_000 / 2)
    }

    /// A gain below a sixteenth is not worth the time of whoever reads.
    func testASmallGainIsNone() throws {
        var bytes = Samples.noise(32_000, seed: 3)
        bytes.replaceSubrange(0..<1500, with: repeatElement(0, count: 1500))
        XCTAssertEqual(try PreparedChunk(bytes, Samples.key).form, .plain)
        // The beginning is compressible, the whole is not.
        let mixed = Samples.text(16 << 10, seed: 1) + Samples.noise(1 << 20, seed: 1)
        XCTAssertEqual(try PreparedChunk(mixed, Samples.key).form, .plain)
        XCTAssertEqual(
            try PreparedChunk(Samples.noise(16 << 10, seed: 1) + Samples.text(1 << 20, seed: 1), Samples.key).form,
            .plain)
    }

    func testTheSameChunksOfTheSameDeviceAreTheSamePack() throws {
        XCTAssertEqual(try Samples.pack(chunks).bytes, try Samples.pack(chunks).bytes)
        let other = PackWriter(container: Samples.container, device: DeviceID(high: 1, low: 1))
        XCTAssertNotEqual(try Samples.pack(chunks).id, try Samples.pack(chunks, Samples.key, other).id)
    }

    func testAChunkIsReadByItsPlaceAloneWithoutTheRest() throws {
        let pack = try Samples.pack(chunks)
        let entry = try Samples.reader(pack.bytes).directory.entries[1]
        let read = Locked([Range<Int>]())
        let bytes = try PackReader.chunk(entry.id, at: entry.place, of: Samples.device, in: Samples.open) { range in
            read.withLock { $0.append(range) }
            return Array(pack.bytes[range])
        }
        XCTAssertEqual(bytes, chunks[1])
        XCTAssertEqual(read.withLock { $0 }, [entry.place.range])
    }

    func testADirectoryIsReadWithoutTheChunks() throws {
        let pack = try Samples.pack((0..<8).map { Samples.noise(1 << 20, seed: $0) })
        let count = Locked(0)
        _ = try PackReader(
            { range in
                count.withLock { $0 += range.count }
                return Array(pack.bytes[range])
            }, byteCount: pack.bytes.count, of: Samples.device, in: Samples.open)
        XCTAssertLessThan(count.withLock { $0 }, 20_000)
    }

    func testALongDirectoryIsReadWhole() throws {
        let small = (0..<2000).map { Samples.noise(20, seed: $0 + 1) }
        let reader = try Samples.reader(Samples.pack(small).bytes)
        XCTAssertEqual(reader.directory.entries.count, 2000)
        XCTAssertEqual(try reader.chunk(reader.directory.entries[1999]), small[1999])
    }

    // MARK: What is refused

    func testEveryCutIsAnErrorAndNeverATrap() throws {
        let pack = try Samples.pack([Samples.noise(100, seed: 1), Samples.text(300, seed: 1)]).bytes
        for count in 0..<pack.count {
            XCTAssertNotNil(failure { _ = try Samples.reader(Array(pack[..<count])) }, "cut to \(count)")
        }
        XCTAssertNotNil(failure { _ = try Samples.reader(pack + [0]) })
    }

    /// A stream of zlib's may have bits that change nothing: then the chunk is still the chunk.
    func testEveryChangedByteIsAnErrorOrGivesTheSameChunks() throws {
        let chunks = [Samples.noise(100, seed: 1), Samples.text(300, seed: 1)]
        let pack = try Samples.pack(chunks).bytes
        var harmless = 0
        for place in pack.indices {
            for bit in [1, 0x80] as [UInt8] {
                var damaged = pack
                damaged[place] ^= bit
                let error = failure {
                    let reader = try Samples.reader(damaged)
                    let read = try reader.directory.entries.map(reader.chunk)
                    XCTAssertEqual(read, chunks)
                }
                if error == nil { harmless += 1 }
            }
        }
        XCTAssertLessThanOrEqual(harmless, 4)
    }

    func testForgedDirectoriesAreRefusedWithARightChecksumToo() throws {
        let id = Samples.key.chunkID(of: [1, 2, 3])
        func entry(_ form: UInt8, _ stored: UInt64, _ count: UInt64, _ id: ChunkID = id) -> [UInt8] {
            var writer = ByteWriter()
            writer.write(id)
            writer.write(form)
            writer.writeVarint(stored)
            writer.writeVarint(count)
            return writer.bytes
        }
        let other = ChunkID(high: 1, low: 1)
        let forged: [(String, [UInt8])] = [
            ("no chunk", [0]), ("an unknown form", [1] + entry(2, 3, 3)), ("a size that lies", [1] + entry(0, 3, 4)),
            ("nothing stored", [1] + entry(1, 0, 3)), ("no bytes", [1] + entry(0, 0, 0)),
            ("more than any chunk", [1] + entry(1, 3, 1 << 24)), ("longer than zlib can", [1] + entry(1, 3, 4000)),
            ("compressed and not smaller", [1] + entry(1, 3, 3)), ("2^64 bytes", [1] + entry(0, .max, .max)),
            ("2^63 stored", [1] + entry(0, 1 << 63, 3)), ("the same twice", [2] + entry(0, 1, 1) + entry(0, 2, 2)),
            ("a count that lies", [200] + entry(0, 3, 3)),
            ("a count of 2^63", [255, 255, 255, 255, 255, 255, 255, 255, 127]),
            ("chunks that end early", [1] + entry(0, 2, 2)),
            ("chunks that go on", [2] + entry(0, 2, 2) + entry(0, 2, 2, other)),
            ("more behind", [1] + entry(0, 3, 3) + [0]),
        ]
        for (what, directory) in forged {
            let bytes = forge(directory)
            XCTAssertEqual(failure { _ = try Samples.reader(bytes) }?.code, .damagedFile, what)
        }
        XCTAssertNoThrow(try Samples.reader(forge([1] + entry(0, 3, 3))))
    }

    /// A pack of three bytes with a directory of one's own, and the right checksum.
    private func forge(_ directory: [UInt8], place: UInt64 = 43) -> [UInt8] {
        let header = Samples.writer().header
        var writer = ByteWriter()
        writer.write(contentsOf: directory)
        writer.write64(place)
        let checksum = ContentHash.checksum(header + writer.bytes)
        return header + [1, 2, 3] + writer.bytes + checksum.bytes
    }

    func testADirectoryNowhereInThePackIsRefused() throws {
        for place in [0, 39, 40, 44, 1 << 20, 1 << 63, .max] as [UInt64] {
            XCTAssertEqual(failure { _ = try Samples.reader(forge([1], place: place)) }?.code, .damagedFile)
        }
    }

    func testAnotherContainersDevicesOrVersionsPackIsRefused() throws {
        var pack = try Samples.pack(chunks).bytes
        let elsewhere = PackReader.Surroundings(container: ContainerID(high: 9, low: 9), key: Samples.key)
        XCTAssertEqual(failure { _ = try Samples.reader(pack, in: elsewhere) }?.code, .foreignFile)
        XCTAssertEqual(failure { _ = try Samples.reader(pack, of: DeviceID(high: 9, low: 9)) }?.code, .foreignFile)
        pack[4] = 2
        XCTAssertEqual(failure { _ = try Samples.reader(pack) }?.code, .formatTooNew)
        XCTAssertEqual(failure { _ = try Samples.reader([UInt8](repeating: 7, count: 99)) }?.code, .damagedFile)
    }

    func testATooLongPackIsRefusedWithoutReading() {
        let error = failure {
            _ = try PackReader(
                { _ in
                    XCTFail("it was read")
                    return []
                }, byteCount: ContentLimits.packBytes + 1, of: Samples.device, in: Samples.open)
        }
        XCTAssertEqual(error?.code, .damagedFile)
    }

    func testAPlaceThatLiesIsAnErrorAndNeverATrap() throws {
        let pack = try Samples.pack(chunks).bytes
        for place in [
            ChunkPlace(offset: -1, form: .plain, stored: 1, count: 1),
            ChunkPlace(offset: .max, form: .plain, stored: 1, count: 1),
            ChunkPlace(offset: 40, form: .plain, stored: .max, count: 1),
            ChunkPlace(offset: 40, form: .zlib, stored: 10, count: 1 << 22),
            ChunkPlace(offset: 40, form: .zlib, stored: 0, count: 1),
            ChunkPlace(offset: 41, form: .plain, stored: 5000, count: 5000),
            ChunkPlace(offset: pack.count - 1, form: .plain, stored: 5000, count: 5000),
        ] {
            let id = Samples.key.chunkID(of: chunks[0])
            let error = failure {
                _ = try PackReader.chunk(id, at: place, of: Samples.device, in: Samples.open, Samples.source(pack))
            }
            XCTAssertEqual(error?.code, .damagedFile, "\(place)")
        }
    }

    // MARK: Writing

    func testAPackEndsAt16MiB() throws {
        var writer = Samples.writer()
        XCTAssertTrue(writer.hasRoom(for: try PreparedChunk(Samples.noise(1 << 20, seed: 1), Samples.key)))
        var seed: UInt64 = 0
        while true {
            let chunk = try PreparedChunk(Samples.noise(1 << 20, seed: seed), Samples.key)
            guard writer.hasRoom(for: chunk) else { break }
            _ = try writer.append(chunk)
            seed += 1
        }
        XCTAssertEqual(seed, 15)
        XCTAssertLessThanOrEqual(writer.directory.end + (try writer.end()).bytes.count, ContentLimits.packEndBytes)
    }

    func testAPackRefusesAChunkTwiceAndNoChunks() throws {
        var writer = Samples.writer()
        XCTAssertEqual(failure { _ = try writer.end() }?.code, .invalidArgument)
        let chunk = try PreparedChunk([1], Samples.key)
        _ = try writer.append(chunk)
        XCTAssertEqual(failure { _ = try writer.append(chunk) }?.code, .invalidArgument)
        XCTAssertTrue(writer.contains(chunk.id))
    }
}
