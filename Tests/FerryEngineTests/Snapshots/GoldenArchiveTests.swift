import FerryContainer
import FerryCore
import FerrySeal
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Archives of every version that is read. Who raises the version adds one; `GoldenStoreTests` imports it.
final class GoldenArchiveTests: XCTestCase {
    private func golden(_ name: String) -> String {
        packageRoot.appending(path: "Tests/FerryCommandTests/Golden/" + name).path
    }

    private func assertWhole(_ archive: SnapshotArchive, objects expected: Int) throws {
        XCTAssertEqual(archive.manifest.objects, expected)
        var objects = 0
        for table in archive.manifest.tables {
            for chunk in table.chunks { objects += try archive.chunk(chunk, of: table.name).objects.count }
        }
        XCTAssertEqual(objects, expected)
    }

    func testArchivesOfOpenContainersAreRead() throws {
        let file = try ArchiveFile(path: golden("archive-v\(ArchiveFile.plainVersion).ferry"))
        XCTAssertFalse(file.isSealed)
        try assertWhole(SnapshotArchive(file), objects: 22)
    }

    func testArchivesOfSealedContainersAreReadWithAKeyAndWithTheRecoveryCode() throws {
        let file = try ArchiveFile(path: golden("archive-v\(ArchiveFile.sealedVersion).ferry"))
        XCTAssertTrue(file.isSealed)
        let keys = MemoryKeyStore()
        let environment = ReplicaEnvironment(
            clock: SystemClock(), random: SystemRandom(), fileSystem: PosixFileSystem(), keys: keys)
        let records = try file.readRecords()
        XCTAssertThrowsError(try ArchiveKeys(file, records, environment).open(nil)) {
            XCTAssertEqual(($0 as? FerryError)?.code, .keyMissing)
        }
        let words = try String(contentsOfFile: golden("archive-v2.recovery"), encoding: .utf8)
        try assertWhole(
            ArchiveKeys(file, records, environment).open(SecretCode(parsing: words, as: .recovery)), objects: 10)
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: golden("archive-v2.key"))))
        try keys.save(KeyFile(decoding: &bytes))
        try assertWhole(ArchiveKeys(file, records, environment).open(nil), objects: 10)
    }

    func testArchivesWithPacksAreRead() throws {
        let file = try ArchiveFile(path: golden("archive-v\(ArchiveFile.plainVersion + ArchiveFile.withPacks).ferry"))
        XCTAssertFalse(file.isSealed)
        XCTAssertEqual(try file.packs().count, 1)
        // It is imported, and what the packs say is proved by the IDs of the chunks.
        let folder = try ScratchFolder()
        let found = Locked<[ContentID: Int]>([:])
        var setup = ReplicaSetup()
        setup.importedDocuments = .written { replica in
            for content in try replica.store.wantedContents(maximumBytes: nil, includingWhole: true) {
                let path = try replica.contentFile(content.content)
                let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                found.withLock { $0[content.content] = bytes.count }
            }
        }
        let report = try setup.importDatabase(at: folder.path("plain.sqlite"), from: file.path).report
        XCTAssertEqual(report.contents, 1)
        XCTAssertEqual(found.withLock { $0.values.sorted() }, [20, 5000])
    }

    func testAnIndependentReaderMakesTheOpenArchiveOfASealedOne() throws {
        let folder = try ScratchFolder()
        let files = [golden("archive-v2.ferry"), golden("archive-v2.key")]
        let arguments = ["--archive"] + files + ["--plain", folder.path("plain")]
        guard let told = try IndependentReader.lines(ofSealed: arguments) else {
            throw XCTSkip("there is no python3 with the package cryptography")
        }
        XCTAssertEqual(told.filter { $0.hasPrefix("chunk ") }.count, 4)
        try assertWhole(SnapshotArchive(ArchiveFile(path: folder.path("plain"))), objects: 10)
    }
}
