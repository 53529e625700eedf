import FerryCore
import Foundation
import XCTest

@testable import FerryLog

/// Segments that earlier versions wrote; every later version must read them.
final class GoldenSegmentTests: XCTestCase {
    private func golden(_ name: String) throws -> [UInt8] {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("Golden")
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return Array(try XCTUnwrap(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    func testVersion1Compressed() throws {
        let (header, changesets) = try SegmentDecoder.decode(
            golden("segment-v1-zlib.base64"), container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.codec, .zlib)
        XCTAssertEqual(header.previous, Checksum(high: 1, low: 2))
        assertSame(changesets, Samples.everything())
    }

    func testVersion1Stored() throws {
        let (header, changesets) = try SegmentDecoder.decode(
            golden("segment-v1-stored.base64"), container: Samples.container, device: Samples.device)
        XCTAssertEqual(header.codec, .stored)
        XCTAssertNil(header.previous)
        assertSame(changesets, Samples.everything())
    }
}
