import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryLog

/// What Ferry writes, read by a program that knows nothing of it but Docs/Format.md.
final class IndependentReaderTests: XCTestCase {
    private let container = Samples.container

    private func read(_ bytes: [UInt8], parts: [String: [UInt8]] = [:]) throws -> [String] {
        guard let lines = try IndependentReader.lines(of: bytes, parts: parts) else {
            throw XCTSkip("there is no python3 to read the files with")
        }
        return lines
    }

    func testItReadsEveryGoldenFileAsFerryDoes() throws {
        let parts = try Golden.parts()
        let named = Dictionary(uniqueKeysWithValues: parts.map { ($0.key.hex, $0.value) })
        for name in try Golden.names() {
            let bytes = try Golden.bytes(name)
            if name.hasPrefix("part") {
                let checksum = try PartFile.verify(bytes, container: container)
                XCTAssertEqual(parts[checksum], bytes)
                XCTAssertEqual(try read(bytes).count, 1)
                continue
            }
            let expected: [String]
            if name.hasPrefix("segment") {
                let (header, changesets) = try SegmentDecoder.decode(
                    bytes, container: container, device: Samples.device, parts: Golden.source())
                expected = PlainText.lines(header, changesets)
            } else if name.hasPrefix("chunk") {
                expected = PlainText.lines(
                    try SnapshotChunkDecoder.decode(bytes, container: container, parts: Golden.source()).chunk)
            } else {
                expected = PlainText.lines(try SnapshotManifestDecoder.decode(bytes, container: container).manifest)
            }
            XCTAssertGreaterThan(expected.count, 5)
            XCTAssertEqual(try read(bytes, parts: named), expected, name)
        }
    }

    func testItReadsRandomSegmentsAsFerryDoes() throws {
        let first = UInt64.random(in: 0..<1 << 32)
        for seed in first..<first + 12 {
            var changesets = Samples.random(seed: seed)
            if seed.isMultiple(of: 2) { changesets[0].schema = Samples.schemaWithBookkeeping }
            let tail = seed.isMultiple(of: 3) ? Checksum(high: 9, low: seed) : nil
            let bytes = try SegmentEncoder.encode(changesets, container: container, previous: nil, tail: tail).bytes
            let (header, decoded) = try SegmentDecoder.decode(bytes, container: container, device: Samples.device)
            XCTAssertEqual(
                try read(bytes), PlainText.lines(header, decoded), "seed \(seed)")
        }
    }
}
