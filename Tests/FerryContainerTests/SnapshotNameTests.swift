import FerryCore
import XCTest

@testable import FerryContainer

final class SnapshotNameTests: XCTestCase {
    func testANameIsReadInExactlyOneForm() throws {
        let name = SnapshotName(
            time: HybridTime(rawValue: 0x018b_cfe5_6800_0003), checksum: Checksum(high: 0xab, low: 7))
        XCTAssertEqual(name.fileName, "018bcfe568000003-00000000000000ab.snapshot")
        XCTAssertEqual(SnapshotName(name.fileName), name)
        XCTAssertTrue(name.matches(Checksum(high: 0xab, low: 8)))
        XCTAssertFalse(name.matches(Checksum(high: 0xac, low: 7)))
        for other in [
            "018bcfe568000003-00000000000000AB.snapshot", "18bcfe568000003-00000000000000ab.snapshot",
            "018bcfe568000003-00000000000000ab.snapshot~", "018bcfe568000003 00000000000000ab.snapshot",
            "018bcfe568000003-00000000000000ab.segment", "ffffffffffffffff-00000000000000ab.snapshot", "",
            ".ferry-tmp-0123456789abcdef",
        ] {
            XCTAssertNil(SnapshotName(other), other)
        }
    }

    func testSnapshotsAndChunksAreListedReadAndRemoved() throws {
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(at: "/shared")
        let container = try Container.create(at: "/shared/c", name: "c", fileSystem: fileSystem)
        let device = DeviceID(high: 1, low: 2)
        XCTAssertEqual(try container.snapshots(of: device), [])
        XCTAssertEqual(try container.chunks(of: device), [])
        let (first, second) = (Self.file(1), Self.file(2))
        let names = [first, second].map { bytes in
            SnapshotName(time: HybridTime(milliseconds: Int64(bytes[0])), checksum: Self.checksum(bytes))
        }
        try container.publishChunk(first, checksum: Self.checksum(first), of: device)
        for (bytes, name) in zip([first, second], names) {
            try container.publishSnapshot(bytes, name: name, of: device)
        }
        // Again has no effect.
        try container.publishSnapshot(first, name: names[0], of: device)
        XCTAssertEqual(try container.snapshots(of: device), [names[1], names[0]])
        XCTAssertEqual(try container.chunks(of: device), [ChunkName(checksum: Self.checksum(first))])
        XCTAssertEqual(try container.readSnapshot(names[0], of: device)?.bytes, first)
        XCTAssertEqual(try container.readChunk(Self.checksum(first), of: device), first)
        XCTAssertNil(try container.readChunk(Self.checksum(second), of: device))
        try container.removeSnapshot(names[0], of: device)
        try container.removeChunk(ChunkName(checksum: Self.checksum(first)), of: device)
        try container.removeChunk(ChunkName(checksum: Self.checksum(first)), of: device)
        XCTAssertEqual(try container.snapshots(of: device), [names[1]])
        XCTAssertEqual(try container.chunks(of: device), [])
    }

    func testWhatIsNotWhatItsNameSaysIsNotWrittenAndDamageIsMended() throws {
        let fileSystem = MemoryFileSystem()
        try fileSystem.createDirectory(at: "/shared")
        let container = try Container.create(at: "/shared/c", name: "c", fileSystem: fileSystem)
        let device = DeviceID(high: 1, low: 2)
        let bytes = Self.file(1)
        XCTAssertThrowsError(try container.publishChunk(bytes, checksum: Checksum(high: 9, low: 9), of: device)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .invalidArgument)
        }
        try container.publishChunk(bytes, checksum: Self.checksum(bytes), of: device)
        let path = "devices/\(device.hex)/snapshots/\(Self.checksum(bytes).hex).chunk"
        try container.backend.replace(path, [1, 2, 3])
        try container.publishChunk(bytes, checksum: Self.checksum(bytes), of: device)
        XCTAssertEqual(try container.readChunk(Self.checksum(bytes), of: device), bytes)
    }

    /// Bytes that end with their checksum.
    private static func file(_ first: UInt8) -> [UInt8] {
        let content: [UInt8] = [first, 2, 3]
        return content + ContentHash.checksum(content).bytes
    }

    private static func checksum(_ bytes: [UInt8]) -> Checksum { Checksum(bytes: bytes.suffix(16))! }
}
