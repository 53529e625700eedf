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
}

/// Who raises a version adds a file of it.
final class GoldenVersionTests: XCTestCase {
    func testThereIsAFileOfEveryVersionThatIsRead() throws {
        let names = try Golden.names()
        for (kind, newest) in [
            ("segment", SegmentHeader.version), ("chunk", SnapshotFile.Kind.chunk.version),
            ("manifest", SnapshotFile.Kind.manifest.version),
        ] {
            for version in 1...newest {
                let found = names.filter { $0.hasPrefix("\(kind)-v\(version)") }
                XCTAssertFalse(found.isEmpty, "There is no golden file of version \(version) of a \(kind).")
                for name in found { XCTAssertEqual(try Golden.bytes(name)[4], version, name) }
            }
        }
    }
}
