import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryLog

/// Manifests and chunks of snapshots: round trips, bytes that nobody vouches for, and files of earlier versions.
final class SnapshotFileTests: XCTestCase {
    private let container = Samples.container

    private func chunkFile() throws -> [UInt8] {
        try SnapshotChunkEncoder.encode(Samples.chunk(), container: container).bytes
    }

    private func manifestFile() throws -> [UInt8] { try SnapshotManifestEncoder.encode(Samples.manifest()).bytes }

    // MARK: Round trips

    func testAChunkComesBackAsItWas() throws {
        let (bytes, checksum) = try SnapshotChunkEncoder.encode(Samples.chunk(), container: container)
        let (chunk, told) = try SnapshotChunkDecoder.decode(bytes, container: container)
        XCTAssertEqual(chunk, Samples.chunk())
        XCTAssertEqual(told, checksum)
        XCTAssertEqual(try SnapshotChunkDecoder.verify(bytes, container: container), checksum)
        XCTAssertEqual(Checksum(bytes: bytes.suffix(16)), checksum)
    }

    func testAManifestComesBackAsItWas() throws {
        let (bytes, checksum) = try SnapshotManifestEncoder.encode(Samples.manifest())
        let (manifest, told) = try SnapshotManifestDecoder.decode(bytes, container: container)
        XCTAssertEqual(manifest, Samples.manifest())
        XCTAssertEqual(told, checksum)
        XCTAssertEqual(manifest.vector[Samples.device].sequence, 12)
        XCTAssertEqual(manifest.chunkBytes, 70_081)
        XCTAssertEqual(manifest.objects, 813)
    }

    /// Nothing else needs the second version, and without it files stay what they are to every Ferry.
    func testAManifestTellsWhichLogsHoldChangesOfBefore() throws {
        let manifest = Samples.lateManifest()
        let (bytes, _) = try SnapshotManifestEncoder.encode(manifest)
        XCTAssertEqual(bytes[4], 2)
        XCTAssertEqual(try manifestFile()[4], 1)
        let told = try SnapshotManifestDecoder.decode(bytes, container: container).manifest
        XCTAssertEqual(told, manifest)
        XCTAssertEqual(told.lateChanges, [Samples.device: 9])
        var beyond = manifest
        beyond.positions[Samples.device]?.lastLate = 13
        let body = try SnapshotManifestEncoder.body(of: beyond)
        assertThrows(.damagedFile) {
            _ = try SnapshotManifestDecoder.decode(body: body[...], version: 2, container: self.container)
        }
    }

    func testEmptyOnesComeBackAsTheyWere() throws {
        let chunk = SnapshotChunk(table: "t", identity: .key([]))
        let bytes = try SnapshotChunkEncoder.encode(chunk, container: container).bytes
        XCTAssertEqual(try SnapshotChunkDecoder.decode(bytes, container: container).chunk, chunk)
        let manifest = SnapshotManifest(container: container)
        let file = try SnapshotManifestEncoder.encode(manifest).bytes
        XCTAssertEqual(try SnapshotManifestDecoder.decode(file, container: container).manifest, manifest)
    }

    func testALargeChunkIsCompressedAndComesBack() throws {
        var chunk = SnapshotChunk(
            table: "t", identity: .surrogate, columns: [.init(name: "a"), .init(name: "b")], shapes: [[0, 1]])
        for index in 0..<5000 {
            let stamp = Stamp(
                time: HybridTime(milliseconds: 1_700_000_000_000 + Int64(index)),
                device: index.isMultiple(of: 7) ? Samples.otherDevice : Samples.device)
            chunk.objects.append(
                .init(
                    id: ObjectID(high: 1, low: UInt64(index)), inserted: stamp, deleted: nil,
                    key: .integer(Int64(index)),
                    shape: 0, firstCell: 2 * index))
            chunk.cells.append(.init(stamp: stamp, content: .integer(Int64(index % 9))))
            chunk.cells.append(.init(stamp: stamp, content: .text("text \(index % 100)")))
        }
        let bytes = try SnapshotChunkEncoder.encode(chunk, container: container).bytes
        XCTAssertLessThan(bytes.count, 40_000)
        XCTAssertEqual(try SnapshotChunkDecoder.decode(bytes, container: container).chunk, chunk)
    }

    func testAChunkHoldsNoMoreThanItsBodyAndWhatMayStandAgain() throws {
        let megabyte = Array(repeating: UInt8(ascii: "x"), count: 1 << 20)
        let stamp = Stamp(time: Samples.start, device: Samples.device)
        func chunk(_ count: Int) -> SnapshotChunk {
            SnapshotChunk(
                table: "t", identity: .surrogate, columns: [.init(name: "a")], shapes: [[0]],
                objects: (0..<count).map {
                    .init(
                        id: ObjectID(high: 1, low: UInt64($0)), inserted: stamp, deleted: nil, key: nil, shape: 0,
                        firstCell: $0)
                }, cells: Array(repeating: .init(stamp: stamp, content: .text(megabyte[...])), count: count))
        }
        let most = 1 + (SnapshotLimits.repeatedBytes >> 20)
        let bytes = try SnapshotChunkEncoder.encode(chunk(most), container: container).bytes
        XCTAssertLessThan(bytes.count, 8192)
        let cells = try SnapshotChunkDecoder.decode(bytes, container: container).chunk.cells
        XCTAssertEqual(cells.reduce(0) { $0 + $1.content.byteCount }, most << 20)
        assertThrows(.limitExceeded) {
            _ = try SnapshotChunkEncoder.encode(chunk(most + 1), container: self.container)
        }
        let body = try SnapshotChunkEncoder.body(of: chunk(most + 1))
        assertThrows(.damagedFile) { _ = try SnapshotChunkDecoder.decode(body: body[...]) }
        let file = try SnapshotFile.encode(body, .chunk, container: container).bytes
        do {
            let lines = try IndependentReader.lines(of: file)
            XCTAssertNil(lines, "it is read")
        } catch let refusal as IndependentReader.Refusal {
            XCTAssert(refusal.output.contains("too many bytes of texts"), refusal.output)
        }
    }

    func testAChunkThatBreaksTheRulesIsNotWritten() throws {
        func refused(_ change: (inout SnapshotChunk) -> Void, line: UInt = #line) {
            var chunk = Samples.chunk()
            change(&chunk)
            XCTAssertThrowsError(try SnapshotChunkEncoder.encode(chunk, container: container), line: line) {
                XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument, line: line)
            }
        }
        XCTAssertNoThrow(try SnapshotChunkEncoder.encode(Samples.chunk(), container: container))
        refused { $0.objects.swapAt(0, 1) }
        refused { $0.objects[1].id = $0.objects[0].id }
        refused { $0.objects[1].shape = 9 }
        refused { $0.objects[2].firstCell = 1 }
        refused { $0.shapes[0] = [0, 9] }
        refused { $0.shapes[0] = [1, 0, 3] }
        refused { $0.cells.removeLast() }
        refused { $0.cells.append($0.cells[0]) }
        refused { $0.cells[5].content = .integer(1) }
    }

    // MARK: Bytes that nobody vouches for

    func testEveryCutOffFileIsRefused() throws {
        for (bytes, decode) in try files() {
            for count in 0..<bytes.count { assertThrows(.damagedFile) { try decode(Array(bytes.prefix(count))) } }
            assertThrows(.damagedFile) { try decode(bytes + [0]) }
        }
    }

    func testEveryFlippedBitIsRefused() throws {
        for (bytes, decode) in try files() {
            for index in bytes.indices {
                for bit in 0..<8 {
                    var changed = bytes
                    changed[index] ^= 1 << UInt8(bit)
                    XCTAssertThrowsError(try decode(changed)) { XCTAssert($0 is FerryError) }
                }
            }
        }
    }

    func testANewerVersionAsksForAnUpdateAndAnotherContainersFileIsForeign() throws {
        for (bytes, decode) in try files() {
            var newer = bytes
            newer[4] = 5
            assertThrows(.formatTooNew) { try decode(newer) }
        }
        let other = ContainerID(high: 1, low: 1)
        let (chunk, manifest) = (try chunkFile(), try manifestFile())
        assertThrows(.foreignFile) { _ = try SnapshotChunkDecoder.decode(chunk, container: other) }
        assertThrows(.foreignFile) { _ = try SnapshotManifestDecoder.decode(manifest, container: other) }
        assertThrows(.damagedFile) { _ = try SnapshotChunkDecoder.decode(manifest, container: self.container) }
        assertThrows(.damagedFile) { _ = try SnapshotManifestDecoder.decode(chunk, container: self.container) }
    }

    func testEveryChangedByteOfABodyDecodesOrThrows() throws {
        let chunk = try SnapshotChunkEncoder.body(of: Samples.chunk())
        let manifest = try SnapshotManifestEncoder.body(of: Samples.manifest())
        for value in UInt8.min...UInt8.max {
            for index in chunk.indices {
                var changed = chunk
                changed[index] = value
                mustNotCrash { _ = try SnapshotChunkDecoder.decode(body: changed[...]) }
            }
            for index in manifest.indices {
                var changed = manifest
                changed[index] = value
                mustNotCrash {
                    _ = try SnapshotManifestDecoder.decode(
                        body: changed[...], version: 1, container: self.container)
                }
            }
        }
    }

    func testRandomBodiesDecodeOrThrow() throws {
        var random = Chance(seed: 4)
        let chunk = try SnapshotChunkEncoder.body(of: Samples.chunk())
        for _ in 0..<2000 {
            var body = chunk
            for _ in 0..<(1 + random.below(6)) { body[random.below(body.count)] = UInt8(random.below(256)) }
            mustNotCrash { _ = try SnapshotChunkDecoder.decode(body: body[...]) }
            let noise = random.bytes(random.below(200))
            mustNotCrash { _ = try SnapshotChunkDecoder.decode(body: noise) }
            mustNotCrash { _ = try SnapshotManifestDecoder.decode(body: noise, version: 2, container: self.container) }
        }
    }

    func testForgedCountsAreRefusedBeforeRoomIsMadeForThem() throws {
        // No names, devices, prefixes; a table without columns; one empty shape; then a count of objects.
        func body(objects: UInt64, rest: [UInt8]) -> [UInt8] {
            var writer = ByteWriter()
            for byte: UInt8 in [1, 1, 0x74, 0, 0, 0, 0, 0, 1, 0] { writer.write(byte) }
            writer.writeVarint(objects)
            writer.write(contentsOf: rest)
            return writer.bytes
        }
        for count in [UInt64(SnapshotLimits.objects) + 1, 1 << 40, .max] {
            assertThrows(.damagedFile) {
                _ = try SnapshotChunkDecoder.decode(body: body(objects: count, rest: [])[...])
            }
        }
        // Equal numbers take no bytes, so a million of them cost nothing to claim: the limit is what stops it.
        assertThrows(.damagedFile) {
            _ = try SnapshotChunkDecoder.decode(body: body(objects: 60_000, rest: [0, 0xff, 0xff, 0xff, 0x7f])[...])
        }
        for count: UInt64 in [1 << 20, 1 << 62, .max] {
            var writer = ByteWriter()
            writer.writeVarint(0)
            writer.writeVarint(count)
            let devices = writer.bytes
            assertThrows(.damagedFile) {
                _ = try SnapshotManifestDecoder.decode(body: devices[...], version: 1, container: self.container)
            }
        }
    }

    // MARK: Files of earlier versions

    func testVersion1OfAChunkIsReadAndWrittenByteByByte() throws {
        let golden = try Golden.bytes("chunk-v1.base64")
        XCTAssertEqual(try SnapshotChunkDecoder.decode(golden, container: container).chunk, Samples.chunk())
        XCTAssertEqual(
            Array(try SnapshotFile.decode(golden, .chunk, container: container).body),
            try SnapshotChunkEncoder.body(of: Samples.chunk()))
    }

    func testVersion1OfAManifestIsReadAndWrittenByteByByte() throws {
        let golden = try Golden.bytes("manifest-v1.base64")
        XCTAssertEqual(try SnapshotManifestDecoder.decode(golden, container: container).manifest, Samples.manifest())
        XCTAssertEqual(
            Array(try SnapshotFile.decode(golden, .manifest, container: container).body),
            try SnapshotManifestEncoder.body(of: Samples.manifest()))
    }

    func testVersion2OfAManifestIsReadAndWrittenByteByByte() throws {
        let golden = try Golden.bytes("manifest-v2.base64")
        let manifest = try SnapshotManifestDecoder.decode(golden, container: container).manifest
        XCTAssertEqual(manifest, Samples.lateManifest())
        XCTAssertEqual(
            Array(try SnapshotFile.decode(golden, .manifest, container: container).body),
            try SnapshotManifestEncoder.body(of: Samples.lateManifest()))
    }

    func testVersion3OfAManifestIsReadAndWrittenByteByByte() throws {
        let golden = try Golden.bytes("manifest-v3.base64")
        let manifest = try SnapshotManifestDecoder.decode(golden, container: container).manifest
        XCTAssertEqual(manifest, Samples.manifestOfGenerations())
        XCTAssertEqual(
            Array(try SnapshotFile.decode(golden, .manifest, container: container).body),
            try SnapshotManifestEncoder.body(of: Samples.manifestOfGenerations()))
    }

    /// Earlier versions know one generation of a table, and no version knows two that are the same.
    func testGenerationsOfATableStandInOrder() throws {
        let manifest = Samples.manifestOfGenerations()
        XCTAssertEqual(try SnapshotManifestEncoder.encode(manifest).bytes[4], 3)
        let body = try SnapshotManifestEncoder.body(of: manifest)
        XCTAssertNoThrow(try SnapshotManifestDecoder.decode(body: body[...], version: 3, container: container))
        assertThrows(.damagedFile) {
            _ = try SnapshotManifestDecoder.decode(body: body[...], version: 2, container: self.container)
        }
        for tables in [manifest.tables.reversed(), manifest.tables + [manifest.tables[manifest.tables.count - 1]]] {
            var wrong = manifest
            wrong.tables = tables
            let body = try SnapshotManifestEncoder.body(of: wrong)
            assertThrows(.damagedFile) {
                _ = try SnapshotManifestDecoder.decode(body: body[...], version: 3, container: self.container)
            }
        }
    }

    private typealias Decode = ([UInt8]) throws -> Void

    private func files() throws -> [([UInt8], Decode)] {
        [
            (try chunkFile(), { _ = try SnapshotChunkDecoder.decode($0, container: self.container) }),
            (try manifestFile(), { _ = try SnapshotManifestDecoder.decode($0, container: self.container) }),
        ]
    }

    private func mustNotCrash(_ body: () throws -> Void, line: UInt = #line) {
        do { try body() } catch { XCTAssert(error is FerryError, "\(error)", line: line) }
    }

    private func assertThrows(_ code: FerryError.Code, line: UInt = #line, _ body: () throws -> Void) {
        XCTAssertThrowsError(try body(), line: line) { XCTAssertEqual(($0 as? FerryError)?.code, code, line: line) }
    }
}
