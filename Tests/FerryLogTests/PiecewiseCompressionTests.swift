import FerryCore
import XCTest

@testable import FerryLog

/// Large bodies are compressed piece by piece, and are one zlib stream all the same.
final class PiecewiseCompressionTests: XCTestCase {
    private let piece = PiecewiseCompression.pieceBytes

    private func random(_ count: Int, seed: UInt64 = 7) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }

    private func prose(_ count: Int) -> [UInt8] {
        let words = ["river", "midnight", "sonata", "blue", "window", "silver", "train", "heart", "garden", "ocean"]
        var text: [UInt8] = []
        for byte in random(count) where text.count < count { text += Array(words[Int(byte) % words.count].utf8) + [32] }
        return Array(text.prefix(count))
    }

    private func compressed(_ body: [UInt8]) throws -> [UInt8] { try XCTUnwrap(Compression.compress(body)) }

    func testStreamsGiveBackTheirBodies() throws {
        let mixed = random(piece + 1000).map { $0 & 0x3f } + prose(2 * piece) + random(3 * piece / 2).map { $0 | 1 }
        let sizes = [piece - 1, piece, piece + 1, 2 * piece, 2 * piece + 1, mixed.count]
        for size in sizes {
            let body = Array(mixed.prefix(size))
            XCTAssertEqual(try Compression.decompress(try compressed(body)[...], bodyLength: size), body, "\(size)")
            let zeros = [UInt8](repeating: 0, count: size)
            XCTAssertEqual(try Compression.decompress(try compressed(zeros)[...], bodyLength: size), zeros, "\(size)")
        }
    }

    func testTheSumIsThatOfTheWholeBody() throws {
        var stream = try compressed(prose(3 * piece))
        stream[stream.count - 1] ^= 1
        XCTAssertThrowsError(try Compression.decompress(stream[...], bodyLength: 3 * piece))
    }

    func testPiecesKnowWhatStandsBeforeThem() throws {
        // Two pieces that repeat nothing in themselves, but the second, at its beginning, the end of the first.
        let first = random(piece, seed: 5).map { $0 & 0x7f }
        var second = random(piece, seed: 9).map { $0 & 0x7f }
        let plain = try compressed(first + second).count
        second.replaceSubrange(0..<16384, with: first.suffix(16384))
        XCTAssertLessThan(try compressed(first + second).count, plain - 13000)
    }

    func testTheSameBodyGivesTheSameBytes() throws {
        let body = prose(5 * piece) + random(piece).map { $0 & 0x1f }
        let first = try compressed(body)
        for _ in 0..<5 { XCTAssertEqual(try compressed(body), first) }
    }

    func testWhatIsNotSearchedGivesBackItsBody() throws {
        let body = prose(piece / 2) + random(2 * piece + 77).map { $0 & 0x7f } + prose(piece)
        let ranges = [0..<100, piece / 2..<5 * piece / 2 + 77]
        let stream = try XCTUnwrap(Compression.compress(body, unrepeated: ranges))
        XCTAssertEqual(try Compression.decompress(stream[...], bodyLength: body.count), body)
        XCTAssertLessThan(stream.count, body.count * 9 / 10)
    }

    /// Random keys stand in a segment's body once, and are named as what repeats nothing.
    func testRandomKeysAreNotSearched() throws {
        var bytes = random(16 * 20_000)[...]
        let objects = (0..<20_000).map { _ in
            defer { bytes = bytes.dropFirst(16) }
            return ObjectID(bytes: bytes.prefix(16)) ?? ObjectID(high: 0, low: 0)
        }.sorted()
        let operations = objects.map {
            ObjectOperation(object: $0, kind: .delete, time: HybridTime(rawValue: 1 << 20), shape: 0, firstValue: 0)
        }
        let table = TableChanges(
            name: "songs", identity: .key(["id"]), columns: ["id"], shapes: [[]], operations: operations)
        let changeset = Changeset(
            device: DeviceID(high: 1, low: 2), sequence: 1, time: HybridTime(rawValue: 1 << 20),
            context: VersionVector(), tables: [table])
        var budget = SegmentBudget.forEncoding
        let (body, unrepeated) = try BodyEncoder.encode([changeset], budget: &budget)
        XCTAssertEqual(unrepeated.map(\.count), [16 * objects.count])
        let ids = try XCTUnwrap(unrepeated.first)
        XCTAssertEqual(Array(body[ids].prefix(16)), objects[0].bytes)
        XCTAssertEqual(Array(body[ids].suffix(16)), objects[objects.count - 1].bytes)
        let searched = try compressed(body).count
        let coded = try XCTUnwrap(Compression.compress(body, unrepeated: unrepeated)).count
        XCTAssertLessThanOrEqual(coded, searched + 64)
    }

    func testWhatDoesNotGetShorterIsNotCompressed() throws {
        XCTAssertNil(try Compression.compress(random(3 * piece)))
    }
}
