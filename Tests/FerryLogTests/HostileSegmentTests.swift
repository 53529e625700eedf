import FerryCore
import FerryTestSupport
import XCTest

@testable import FerryLog

/// Bytes that nobody vouches for: whatever they are, the decoder returns or throws a `FerryError`.
final class HostileSegmentTests: XCTestCase {
    private let changesets = Samples.everything()

    private let header = SegmentHeader(
        container: Samples.container, device: Samples.device, firstSequence: 7, lastSequence: 8,
        lastTime: Samples.everything()[1].time, checksum: Checksum(high: 0, low: 0), bodyBytes: 0, operationCount: 5,
        valueCount: 11, codec: .stored, storedBytes: 0)

    private func segment() throws -> [UInt8] {
        try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil).bytes
    }

    private func decode(_ bytes: [UInt8]) throws -> [Changeset] {
        try SegmentDecoder.decode(bytes, container: Samples.container, device: Samples.device).1
    }

    /// A segment around a given body, its header and checksum in order.
    private func file(
        body: [UInt8], codec: Compression.Codec = .stored, bodyBytes: Int? = nil,
        change: (inout SegmentHeader) -> Void = { _ in }
    ) throws -> [UInt8] {
        var header = header
        header.codec = codec
        header.storedBytes = body.count
        header.bodyBytes = bodyBytes ?? body.count
        change(&header)
        return SegmentEncoder.assemble(header, stored: body).bytes
    }

    private func body(of changesets: [Changeset]) throws -> [UInt8] {
        var budget = SegmentBudget.forEncoding
        return try BodyEncoder.encode(changesets, budget: &budget).bytes
    }

    func testEveryCutOffSegmentIsRefused() throws {
        let bytes = try segment()
        for count in 0..<bytes.count {
            assertThrows(.damagedFile) { _ = try decode(Array(bytes.prefix(count))) }
        }
        assertThrows(.damagedFile) { _ = try decode(bytes + [0]) }
    }

    func testEveryFlippedBitIsRefused() throws {
        let bytes = try segment()
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                XCTAssertThrowsError(try decode(changed)) { XCTAssert($0 is FerryError) }
            }
        }
    }

    func testANewerVersionAsksForAnUpdate() throws {
        var bytes = try segment()
        bytes[4] = 5
        assertThrows(.formatTooNew) { _ = try decode(bytes) }
        assertThrows(.formatTooNew) { _ = try SegmentDecoder.header(Array(bytes.prefix(5))) }
    }

    func testARolledUpSegmentThatIsCutOffOrFlippedIsRefused() throws {
        let bytes = try SegmentEncoder.encode(
            changesets, container: Samples.container, previous: nil, tail: Checksum(high: 3, low: 4)
        ).bytes
        for count in 0..<bytes.count {
            assertThrows(.damagedFile) { _ = try decode(Array(bytes.prefix(count))) }
            if count > 104 { XCTAssertTrue(SegmentDecoder.isIncomplete(Array(bytes.prefix(count)))) }
        }
        assertThrows(.damagedFile) { _ = try decode(bytes + [0]) }
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                XCTAssertThrowsError(try decode(changed)) { XCTAssert($0 is FerryError) }
            }
        }
    }

    func testOnlyARolledUpSegmentHasATailAndItAlwaysHasOne() throws {
        let tail = Checksum(high: 3, low: 4)
        let withoutTail = try file(body: body(of: Samples.payloads())) { $0.formatVersion = 3 }
        assertThrows(.damagedFile) { _ = try decode(withoutTail) }
        for version in 1...2 as ClosedRange<UInt8> {
            let withTail = try file(body: body(of: changesets)) {
                $0.formatVersion = version
                $0.tail = tail
            }
            assertThrows(.damagedFile) { _ = try decode(withTail) }
        }
        // A header that ends where the tail should begin.
        let short = try file(body: [], change: { $0.formatVersion = 3 })
        var content = Array(short.dropLast(16))
        content[6] = 1
        assertThrows(.damagedFile) { _ = try decode(content + ContentHash.checksum(content).bytes) }
        for flags in 2...255 as ClosedRange<UInt8> {
            var content = Array(
                try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil, tail: tail)
                    .bytes.dropLast(16))
            content[6] = flags
            assertThrows(.damagedFile) { _ = try decode(content + ContentHash.checksum(content).bytes) }
        }
    }

    func testAnotherContainersOrDevicesSegmentIsForeign() throws {
        let bytes = try segment()
        assertThrows(.foreignFile) {
            _ = try SegmentDecoder.decode(bytes, container: ContainerID(high: 1, low: 1), device: Samples.device)
        }
        assertThrows(.foreignFile) {
            _ = try SegmentDecoder.decode(bytes, container: Samples.container, device: Samples.otherDevice)
        }
    }

    func testEveryChangedByteOfABodyDecodesOrThrows() throws {
        let body = try body(of: changesets)
        for index in body.indices {
            let others: [UInt8] = [0, 1, 2, 0x3f, 0x7f, 0x80, 0xff] + (0..<8).map { body[index] ^ 1 << UInt8($0) }
            for value in others {
                var changed = body
                changed[index] = value
                try mustNotCrash(file(body: changed))
            }
        }
    }

    private func payloadFile(_ body: [UInt8]) throws -> [UInt8] {
        try file(body: body) {
            $0.firstSequence = 1
            $0.lastSequence = 1
            $0.lastTime = Samples.payloads()[0].time
            $0.operationCount = 4
            $0.valueCount = 8
            $0.formatVersion = 2
        }
    }

    func testEveryChangedByteOfABodyWithPayloadsDecodesOrThrows() throws {
        let body = try body(of: Samples.payloads())
        assertSame(try decode(payloadFile(body)), Samples.payloads())
        for index in body.indices {
            for value in UInt8.min...UInt8.max {
                var changed = body
                changed[index] = value
                try mustNotCrash(payloadFile(changed))
            }
        }
        // A reader of version 1 would take the layouts for something else.
        XCTAssertThrowsError(try decode(file(body: body)))
    }

    func testAPayloadOfAKindThatIsNotKnownAsksForAnUpdate() throws {
        let body = try body(of: Samples.payloads())
        // Of five columns three carry payloads: the third a set, then two more.
        let layout: [UInt8] = [3, 2, 4, 0, 3, 0, 1]
        let place = try XCTUnwrap(body.indices.first { body[$0...].starts(with: layout) })
        var changed = body
        changed[place + 2] = 77
        assertThrows(.formatTooNew) { _ = try decode(payloadFile(changed)) }
        changed[place + 2] = 4
        changed[place + 1] = 5
        assertThrows(.damagedFile) { _ = try decode(payloadFile(changed)) }
        // The title, a text, as a payload.
        changed = body
        changed[place + 1] = 0
        assertThrows(.damagedFile) { _ = try decode(payloadFile(changed)) }
    }

    func testAPayloadThatIsNotBytesIsNotWritten() throws {
        var changesets = Samples.payloads()
        changesets[0].tables[0].values[2] = .text("no bytes")
        assertThrows(.invalidArgument) {
            _ = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        }
        changesets = Samples.payloads()
        changesets[0].tables[0].payloads.removeLast()
        assertThrows(.invalidArgument) {
            _ = try SegmentEncoder.encode(changesets, container: Samples.container, previous: nil)
        }
    }

    func testRandomlyChangedBodiesDecodeOrThrow() throws {
        let bodies = try (UInt64(1)...20).map { seed in
            let sample = seed == 1 ? changesets : Samples.random(seed: seed)
            return (sample: sample, body: try body(of: sample))
        }
        for seed in UInt64(1)...6000 {
            var generator = Chance(seed: seed)
            var (sample, body) = bodies[generator.below(3) == 0 ? 0 : generator.below(bodies.count)]
            for _ in 0...generator.below(6) where !body.isEmpty {
                let index = generator.below(body.count)
                switch generator.below(6) {
                case 0: body[index] = UInt8(truncatingIfNeeded: generator.next())
                case 1: body[index] ^= 1 << UInt8(generator.below(8))
                case 2: body.remove(at: index)
                case 3: body.insert(UInt8(truncatingIfNeeded: generator.next()), at: index)
                case 4: body.replaceSubrange(index..<index, with: repeatElement(0xff, count: 9) + [1])
                default: body.removeSubrange(index..<min(body.count, index + generator.below(20)))
                }
            }
            let counts = generator.below(8) == 0 ? 20_000 : sample.reduce(0) { $0 + $1.operationCount }
            let file = try file(body: body) {
                $0.firstSequence = sample[0].sequence
                $0.lastSequence = sample[sample.count - 1].sequence
                $0.lastTime = sample[sample.count - 1].time
                $0.operationCount = counts
                $0.valueCount = counts * 30
                $0.formatVersion = BodyEncoder.formatVersion(of: sample)
            }
            mustNotCrash(file)
        }
    }

    func testRandomlyChangedHeadersDecodeOrThrow() throws {
        let bytes = try segment()
        for seed in UInt64(1)...4000 {
            var generator = Chance(seed: seed)
            var content = Array(bytes.dropLast(16))
            for _ in 0...generator.below(3) {
                content[generator.below(seed % 2 == 0 ? 104 : content.count)] = UInt8(
                    truncatingIfNeeded: generator.next())
            }
            mustNotCrash(content + ContentHash.checksum(content).bytes)
        }
    }

    func testABodyLargerThanItsHeaderSaysIsRefused() throws {
        let zeros = try XCTUnwrap(Compression.compress(Array(repeating: 0, count: 50 << 20)))
        assertThrows(.damagedFile) { _ = try decode(file(body: zeros, codec: .zlib, bodyBytes: 1000)) }
    }

    func testABodyThatClaimsMoreThanCompressionCanYieldIsRefused() throws {
        let zeros = try XCTUnwrap(Compression.compress(Array(repeating: 0, count: 1000)))
        for claim in [zeros.count * SegmentLimits.bodyRatio + 1, SegmentLimits.bodyBytes + 1, 1 << 40] {
            assertThrows(.damagedFile) { _ = try decode(file(body: zeros, codec: .zlib, bodyBytes: claim)) }
        }
    }

    func testABodyWithSomethingBehindItIsRefused() throws {
        let body = try body(of: changesets)
        assertThrows(.damagedFile) { _ = try decode(file(body: body + [0])) }
        let compressed = try XCTUnwrap(Compression.compress(body))
        XCTAssertNoThrow(try decode(file(body: compressed, codec: .zlib, bodyBytes: body.count)))
        assertThrows(.damagedFile) { _ = try decode(file(body: compressed + [0], codec: .zlib, bodyBytes: body.count)) }
    }

    func testCountsThatDifferFromTheHeadersAreRefused() throws {
        let body = try body(of: changesets)
        XCTAssertNoThrow(try decode(file(body: body)))
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.operationCount += 1 }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.valueCount -= 1 }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.lastSequence += 1 }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.lastTime = $0.lastTime.next }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.lastTime = HybridTime(rawValue: .max) }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.lastSequence = .max }) }
        assertThrows(.damagedFile) { _ = try decode(file(body: body) { $0.operationCount = .max >> 32 }) }
    }

    private func mustNotCrash(_ bytes: [UInt8], line: UInt = #line) {
        do {
            _ = try decode(bytes)
        } catch {
            XCTAssert(error is FerryError, line: line)
        }
    }
}
