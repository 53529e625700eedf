import FerryCore
import XCTest

@testable import FerryContainer

final class LatestSegmentsTests: XCTestCase {
    private let container = ContainerID(high: 1, low: 2)

    private func entry(_ number: UInt64, _ sequence: UInt64, records: UInt64 = 0) throws -> LatestSegments.Entry {
        LatestSegments.Entry(
            device: DeviceID(high: number, low: 7),
            segment: sequence == 0
                ? nil : try SegmentName(first: sequence, last: sequence + 2, checksum: Checksum(high: number, low: 0)),
            records: records)
    }

    func testWhatIsWrittenIsRead() throws {
        for count in [0, 1, 2, 64] {
            let entries = try (0..<count).map { try entry(UInt64($0), UInt64($0 * 1_000_000_007), records: UInt64($0)) }
            let latest = LatestSegments(container: container, nonce: 9, entries: entries)
            let bytes = latest.encoded()
            XCTAssertLessThanOrEqual(bytes.count, LatestSegments.maximumBytes)
            XCTAssertEqual(try LatestSegments(decoding: bytes, container: container), latest)
        }
    }

    /// The bytes of Docs/Format.md's example.
    func testTheBytesAreThoseOfTheFormat() throws {
        let entry = LatestSegments.Entry(
            device: DeviceID(high: 3, low: 4),
            segment: try SegmentName(first: 5, last: 300, checksum: Checksum(high: 0xabcd, low: 0)), records: 2)
        let bytes = LatestSegments(container: container, nonce: 0x0102, entries: [entry]).encoded()
        let expected: [UInt8] =
            Array("FRYL".utf8) + [1, 0, 0, 0] + container.bytes + [0x02, 0x01, 0, 0, 0, 0, 0, 0] + [1]
            + entry.device.bytes
            + [5] + [0xac, 0x02] + [0xcd, 0xab, 0, 0, 0, 0, 0, 0] + [2]
        XCTAssertEqual(Array(bytes.dropLast(16)), expected)
        XCTAssertNotNil(ContentHash.verifiedTrailer(of: bytes))
    }

    func testTheLastWriterStandsFirstAndTheOldestGoes() throws {
        var latest = LatestSegments(container: container)
        for number in 0..<70 { latest.announce(try entry(UInt64(number), 1), nonce: UInt64(number)) }
        XCTAssertEqual(latest.entries.count, 64)
        XCTAssertEqual(latest.entries.first?.device, DeviceID(high: 69, low: 7))
        latest.announce(try entry(10, 4), nonce: 1)
        XCTAssertEqual(latest.entries.filter { $0.device == DeviceID(high: 10, low: 7) }.count, 1)
        XCTAssertEqual(latest.entries.first, try entry(10, 4))
    }

    func testWhatIsDamagedOrForeignIsRefused() throws {
        let bytes = LatestSegments(container: container, entries: [try entry(1, 1), try entry(2, 5)]).encoded()
        for index in bytes.indices {
            var wrong = bytes
            wrong[index] ^= 1
            XCTAssertThrowsError(try LatestSegments(decoding: wrong, container: container), "byte \(index)")
        }
        for count in 0..<bytes.count {
            XCTAssertThrowsError(try LatestSegments(decoding: Array(bytes.prefix(count)), container: container))
        }
        assertThrows(.foreignFile) { try LatestSegments(decoding: bytes, container: ContainerID(high: 9, low: 9)) }
        func resealed(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var content = Array(bytes.dropLast(16))
            change(&content)
            return content + ContentHash.checksum(content).bytes
        }
        assertThrows(.formatTooNew) { try LatestSegments(decoding: resealed { $0[4] = 2 }, container: container) }
        for change: (inout [UInt8]) -> Void in [
            { $0[32] = 65 }, { $0[32] = 3 }, { $0[32] = 1 }, { $0.append(0) },
            { $0.replaceSubrange(33..<49, with: $0[60..<76]) },
            { $0[49] = 0 },
        ] {
            assertThrows(.damagedFile) { try LatestSegments(decoding: resealed(change), container: container) }
        }
    }
}
