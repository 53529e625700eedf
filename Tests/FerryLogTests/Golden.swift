import FerryCore
import Foundation
import XCTest

@testable import FerryLog

/// The committed files of earlier versions, in `Golden`.
enum Golden {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Golden")

    static func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".base64") }.sorted()
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
        return Array(try XCTUnwrap(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
    }

    /// The parts of large values, by their names.
    static func parts() throws -> [Checksum: [UInt8]] {
        var parts: [Checksum: [UInt8]] = [:]
        for name in try names() where name.hasPrefix("part") {
            let bytes = try bytes(name)
            parts[try XCTUnwrap(Checksum(bytes: bytes.suffix(16)))] = bytes
        }
        return parts
    }

    /// The same for a reader.
    static func source() throws -> PartSource {
        let parts = try parts()
        return .files(read: { try XCTUnwrap(parts[$0.checksum]) }, place: { _ in nil })
    }
}

/// Who raises a version adds a file of it.
final class GoldenVersionTests: XCTestCase {
    func testThereIsAFileOfEveryVersionThatIsRead() throws {
        let names = try Golden.names()
        for (kind, newest) in [
            ("segment", SegmentHeader.version), ("chunk", SnapshotFile.Kind.chunk.version),
            ("manifest", SnapshotFile.Kind.manifest.version), ("part", SnapshotFile.Kind.part.version),
        ] {
            for version in 1...newest {
                let found = names.filter { $0.hasPrefix("\(kind)-v\(version)") }
                XCTAssertFalse(found.isEmpty, "There is no golden file of version \(version) of a \(kind).")
                for name in found { XCTAssertEqual(try Golden.bytes(name)[4], version, name) }
            }
        }
    }
}
