import FerryCore
import Foundation
import XCTest

@testable import FerryEngine

/// Archives of every version that is read. Who raises the version adds one; `GoldenStoreTests` imports it.
final class GoldenArchiveTests: XCTestCase {
    func testArchivesOfEveryVersionAreRead() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        for version in 1...SnapshotArchive.version {
            let path = tests.appendingPathComponent("FerryCommandTests/Golden/archive-v\(version).ferry").path
            let archive = try SnapshotArchive(path: path)
            XCTAssertEqual(archive.manifest.objects, 22)
            var objects = 0
            for table in archive.manifest.tables {
                for chunk in table.chunks { objects += try archive.chunk(chunk, of: table.name).objects.count }
            }
            XCTAssertEqual(objects, 22)
        }
    }
}
