import FerryCore
import XCTest

@testable import FerryLog

/// Small files that stand for large bodies: they are refused before much memory is spent on them.
final class BombTests: XCTestCase {
    private static let container = ContainerID(high: 1, low: 2)
    private static let device = DeviceID(high: 3, low: 4)
    private static let bytes = 48 << 20

    private func segment(_ body: [UInt8]) throws -> [UInt8] {
        let stored = try XCTUnwrap(try Compression.compress(body))
        let header = SegmentHeader(
            container: Self.container, device: Self.device, firstSequence: 1, lastSequence: 1,
            lastTime: HybridTime(milliseconds: 5), previous: nil, checksum: Checksum(high: 0, low: 0), tail: nil,
            bodyBytes: body.count, operationCount: 0, valueCount: 0, codec: .zlib, storedBytes: stored.count)
        return SegmentEncoder.assemble(header, stored: stored).bytes
    }

    func testZerosAreRefusedAtTheirBeginning() throws {
        let file = try segment([UInt8](repeating: 0, count: Self.bytes))
        XCTAssertLessThan(file.count, 1 << 20)
        XCTAssertThrowsError(
            try SegmentDecoder.decode(file, container: Self.container, device: Self.device)
        ) { Self.assertEndsEarly($0) }
    }

    /// Each value takes a byte of the body, and forty in memory.
    func testRowsOfMigrationToolsAreBounded() throws {
        var writer = ByteWriter()
        // A name; no devices, prefixes, layouts; a changeset at time 5 << 16, without a context, with a schema of form 4.
        writer.writeVarint(1)
        writer.writeCounted("t")
        for _ in 0..<3 { writer.writeVarint(0) }
        for byte in [0x80, 0x80, 0x14, 0, 4] as [UInt8] { writer.write(byte) }
        // `user_version`, `application_id`, statements, tracked tables, references, tables with a past.
        for _ in 0..<6 { writer.writeVarint(0) }
        writer.writeVarint(1)
        writer.writeVarint(0)
        writer.writeVarint(1000)
        for _ in 0..<1000 { writer.writeVarint(0) }
        writer.writeVarint(10_000)
        let body = writer.bytes + [UInt8](repeating: 0, count: 10_000_000)
        XCTAssertThrowsError(
            try SegmentDecoder.decode(try segment(body), container: Self.container, device: Self.device)
        ) { error in
            XCTAssertEqual((error as? FerryError)?.code, .damagedFile)
            XCTAssertTrue("\(error)".contains("migration tool"), "\(error)")
        }
    }

    func testABodyThatIsLongerThanItsContentIsRefused() throws {
        var body = [UInt8](repeating: 0x41, count: 20 << 20)
        // No names, devices, prefixes, layouts; a changeset at time 5 << 16, without a context, a schema, tables.
        body.replaceSubrange(0..<10, with: [0, 0, 0, 0, 0x80, 0x80, 0x14, 0, 0, 0])
        XCTAssertThrowsError(
            try SegmentDecoder.decode(try segment(body), container: Self.container, device: Self.device)
        ) { Self.assertEndsEarly($0) }
    }

    func testChunksAndManifestsOfZerosAreRefusedAtTheirBeginning() throws {
        for kind in [SnapshotFile.Kind.chunk, .manifest] {
            let body = [UInt8](repeating: 0, count: min(kind.bodyBytes, Self.bytes))
            let (file, _) = try SnapshotFile.encode(body, kind, container: Self.container)
            XCTAssertThrowsError(try SnapshotFile.decode(file, kind, container: Self.container)) {
                Self.assertEndsEarly($0)
            }
        }
    }

    /// It was refused for what its beginning says, and not for its end, for which all of it had to be there.
    private static func assertEndsEarly(_ error: any Error) {
        let error = error as? FerryError
        XCTAssertEqual(error?.code, .damagedFile)
        XCTAssertTrue(
            ["behind its end", "header says", "index is out of range"].contains {
                error?.message.contains($0) ?? false
            },
            error?.message ?? "")
    }
}
