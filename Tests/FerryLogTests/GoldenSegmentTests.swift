import FerryCore
import Foundation
import XCTest

@testable import FerryLog

/// Segments that earlier versions wrote; every later version must read them.
final class GoldenSegmentTests: XCTestCase {
    func testVersion1Compressed() throws {
        let (header, changesets) = try SegmentDecoder.decode(
            Golden.bytes("segment-v1-zlib.base64"), container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.codec, .zlib)
        XCTAssertEqual(header.previous, Checksum(high: 1, low: 2))
        assertSame(changesets, Samples.everything())
    }

    func testVersion1Stored() throws {
        let (header, changesets) = try SegmentDecoder.decode(
            Golden.bytes("segment-v1-stored.base64"), container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.codec, .stored)
        XCTAssertNil(header.previous)
        assertSame(changesets, Samples.everything())
    }

    func testSegmentsWithoutPayloadsAreStillWrittenAsVersion1ByteByByte() throws {
        let golden = try Golden.bytes("segment-v1-stored.base64")
        let header = try SegmentHeader(file: golden)
        XCTAssertEqual(header.formatVersion, 1)
        var budget = SegmentBudget.forEncoding
        XCTAssertEqual(
            try BodyEncoder.encode(Samples.everything(), budget: &budget).bytes, Array(golden[header.bodyRange]))
        let segment = try SegmentEncoder.encode(
            Samples.everything(), container: Samples.container, previous: Checksum(high: 1, low: 2))
        XCTAssertEqual(try SegmentHeader(file: segment.bytes).formatVersion, 1)
    }

    func testVersion3RolledUp() throws {
        let golden = try Golden.bytes("segment-v3-rolled-up.base64")
        let (header, changesets) = try SegmentDecoder.decode(
            golden, container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.formatVersion, 3)
        XCTAssertEqual(header.previous, Checksum(high: 1, low: 2))
        XCTAssertEqual(header.tail, Checksum(high: 3, low: 4))
        XCTAssertEqual(header.chainEnd, Checksum(high: 3, low: 4))
        assertSame(changesets, Samples.everything())
        var budget = SegmentBudget.forEncoding
        let body = try BodyEncoder.encode(Samples.everything(), formatVersion: 3, budget: &budget).bytes
        let stored = Array(golden[header.bodyRange])
        XCTAssertEqual(
            header.codec == .zlib ? try Compression.decompress(stored[...], bodyLength: header.bodyBytes) : stored, body
        )
    }

    func testVersion2WithPayloads() throws {
        let golden = try Golden.bytes("segment-v2-payloads.base64")
        let (header, changesets) = try SegmentDecoder.decode(
            golden, container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.formatVersion, 2)
        XCTAssertEqual(golden[4], 2)
        assertSame(changesets, Samples.payloads())
        var budget = SegmentBudget.forEncoding
        let body = try BodyEncoder.encode(Samples.payloads(), budget: &budget).bytes
        let stored = Array(golden[header.bodyRange])
        XCTAssertEqual(
            header.codec == .zlib ? try Compression.decompress(stored[...], bodyLength: header.bodyBytes) : stored, body
        )
    }
}
