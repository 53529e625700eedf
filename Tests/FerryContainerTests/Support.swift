import FerryContainer
import FerryCore
import Foundation
import XCTest

/// A folder on the real disk that is gone when the test is over.
final class TemporaryFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/ferry-container-\(UUID().uuidString.lowercased())"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    // A folder that stays behind in the temporary directory harms nothing.
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func path(_ name: String) -> String { path + "/" + name }

    func write(_ text: String, _ name: String) throws {
        XCTAssertTrue(FileManager.default.createFile(atPath: path(name), contents: Data(text.utf8)))
    }

    func names(_ name: String = "") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path(name)).sorted()
    }
}

struct FixedClock: WallClock {
    func milliseconds() -> Int64 { 1_700_000_000_000 }
    func milliseconds(captured: Int64) -> Int64 { captured }
}

let deviceA = DeviceID(high: 0x0a, low: 1)
let deviceB = DeviceID(high: 0x0b, low: 2)

/// A segment's bytes, as far as a container cares, and their name.
func makeSegment(_ text: String, _ first: UInt64, _ last: UInt64) throws -> (bytes: [UInt8], name: SegmentName) {
    let content = Array(text.utf8)
    let checksum = ContentHash.checksum(content)
    return (content + checksum.bytes, try SegmentName(first: first, last: last, checksum: checksum))
}

func makeHead(_ container: ContainerID, _ device: DeviceID = deviceA, sequence: UInt64 = 0) -> Head {
    Head(
        container: container, device: device, deviceName: "Laptop",
        position: LogPosition(sequence: sequence, time: HybridTime(milliseconds: 1000 + Int64(sequence))),
        writtenMilliseconds: 1_700_000_000_123, softwareVersion: "0.1.0")
}

/// Asserts that `body` throws a `FerryError` with the code and, unless `nil`, a message that contains `part`.
func assertThrows(
    _ code: FerryError.Code, _ part: String? = nil, file: StaticString = #filePath, line: UInt = #line,
    _ body: () throws -> some Any
) {
    XCTAssertThrowsError(try body(), file: file, line: line) { error in
        guard let error = error as? FerryError else { return XCTFail("threw \(error)", file: file, line: line) }
        XCTAssertEqual(error.code.rawValue, code.rawValue, error.message, file: file, line: line)
        if let part { XCTAssertTrue(error.message.contains(part), error.message, file: file, line: line) }
    }
}
