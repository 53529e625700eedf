import FerryContainer
import FerryCore
import FerryStore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryEngine

/// Bytes of documents and attachments in files of `ferry export`.
final class ArchivedContentTests: XCTestCase {
    private let images = ["sunset": noise(50_000, seed: 1), "dawn": noise(9_000, seed: 2), "icon": noise(700, seed: 3)]

    private func home() throws -> MemoryHome {
        let home = try MemoryHome.withPhotos(2)
        for (title, bytes) in images.sorted(by: { $0.key < $1.key }) { try home.photos(0).attach(title, bytes) }
        try home.settle()
        return home
    }

    private func archive(_ home: MemoryHome) -> String { home.folder.appendingPathComponent("stick.ferry").path }

    private func removePacks(_ home: MemoryHome) throws {
        for index in home.replicas.indices {
            let device = home.photos(index)
            for name in try device.packs() { try home.files.removeFile(at: device.packsPath + "/" + name) }
        }
    }

    private func evictAll(_ device: PhotoDevice) throws {
        for title in images.keys where try device.isHere(title) { try device.replica.shelf.evict(device.image(title)) }
    }

    private func assertReads(_ device: PhotoDevice, line: UInt = #line) throws {
        for (title, bytes) in images { XCTAssertTrue(try device.bytes(title) == bytes, title, line: line) }
    }

    func testAFileBringsBackWhatTheFolderLost() throws {
        let home = try home()
        let report = try home.replicas[0].exportSnapshot(to: archive(home))
        XCTAssertEqual(report.contents, 2)
        XCTAssertEqual(report.contentBytes, 59_000)
        for index in 0...1 { try evictAll(home.photos(index)) }
        try removePacks(home)
        XCTAssertThrowsError(try home.photos(1).bytes("sunset"))
        let taken = try home.replicas[1].importSnapshot(from: archive(home))
        XCTAssertEqual(taken.contents, 2)
        XCTAssertEqual(taken.changesets, 0)
        try home.settle()
        // The importing device has packed again what was lost.
        XCTAssertEqual(try home.photos(1).packs().count, 1)
        for index in 0...1 { try assertReads(home.photos(index)) }
        XCTAssertNil(try home.replicas[0].importSnapshot(from: archive(home)).contents, "nothing is lacking any more")
    }

    func testAFileHasNoDamagedPack() throws {
        let home = try home()
        let device = home.photos(0)
        for name in try device.packs() {
            let path = device.packsPath + "/" + name
            var content = try XCTUnwrap(try home.files.readFile(at: path, maximumBytes: 1 << 28))
            content[content.count / 2] ^= 1
            try home.files.removeFile(at: path)
            try home.files.write(content, toNewFileAt: path)
        }
        try evictAll(device)
        XCTAssertThrowsError(try home.replicas[0].exportSnapshot(to: archive(home)), "nobody has the bytes here") {
            XCTAssertEqual(($0 as? FerryError)?.code, .contentNotHere)
        }
        // A device that has the bytes packs them again for the file.
        XCTAssertEqual(try home.replicas[1].exportSnapshot(to: archive(home)).contents, 2)
        for index in 0...1 { try evictAll(home.photos(index)) }
        try removePacks(home)
        XCTAssertEqual(try home.replicas[0].importSnapshot(from: archive(home)).contents, 2)
        try assertReads(device)
    }

    func testWithTheFolderAwayAllIsTakenFromTheFile() throws {
        let home = try home()
        _ = try home.replicas[0].exportSnapshot(to: archive(home))
        try evictAll(home.photos(1))
        try home.files.rename("/shared/c/container.json", to: "/shared/container.json")
        XCTAssertEqual(try home.replicas[1].importSnapshot(from: archive(home)).contents, 2)
        for title in ["sunset", "dawn"] { XCTAssertTrue(try home.photos(1).isHere(title)) }
        // The other way round: what is here goes into a file.
        XCTAssertEqual(try home.replicas[0].exportSnapshot(to: archive(home)).contents, 2)
        try home.files.rename("/shared/container.json", to: "/shared/c/container.json")
        try evictAll(home.photos(0))
        try home.files.rename("/shared/c/container.json", to: "/shared/container.json")
        XCTAssertThrowsError(try home.replicas[0].exportSnapshot(to: archive(home))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .contentNotHere)
        }
        XCTAssertNil(try home.replicas[0].exportSnapshot(to: archive(home), hasDocuments: false).contents)
    }

    func testWhatIsNotToBeHadIsRefusedOrLeftOut() throws {
        let home = try home()
        for index in 0...1 { try evictAll(home.photos(index)) }
        try removePacks(home)
        XCTAssertThrowsError(try home.replicas[1].exportSnapshot(to: archive(home))) { error in
            XCTAssertEqual((error as? FerryError)?.code, .contentNotHere)
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: archive(home)))
        XCTAssertNil(try home.replicas[1].exportSnapshot(to: archive(home), hasDocuments: false).contents)
        let bytes = try Data(contentsOf: URL(fileURLWithPath: archive(home)))
        XCTAssertEqual(bytes[4], ArchiveFile.plainVersion, "older versions of Ferry read a file without packs")
    }

    func testOnlyWhatIsWholeHereIsPackedAgainForAFile() throws {
        let home = try home()
        try removePacks(home)
        XCTAssertEqual(try home.replicas[1].exportSnapshot(to: archive(home)).contents, 2)
        XCTAssertEqual(try home.photos(1).packs().count, 1)
    }

    func testADamagedFileLosesWhatIsDamagedAlone() throws {
        let home = try home()
        _ = try home.replicas[0].exportSnapshot(to: archive(home))
        let whole = [UInt8](try Data(contentsOf: URL(fileURLWithPath: archive(home))))
        let file = try ArchiveFile(path: archive(home))
        let packs = try file.packs()
        XCTAssertEqual(packs.count, 2)
        let length = packs.reduce(0) { $0 + $1.byteCount + ArchiveFile.Pack.headerBytes }
        try removePacks(home)
        var chance = Chance(seed: 5)
        for _ in 0..<60 {
            var bytes = whole
            // Anywhere in the packs, their lengths included.
            let place = Int(file.endOfChunks) + chance.below(length)
            bytes[place] ^= UInt8(1 << chance.below(8))
            let path = archive(home) + "-damaged"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            try evictAll(home.photos(1))
            do {
                _ = try home.replicas[1].importSnapshot(from: path)
                for title in ["sunset", "dawn"] where try home.photos(1).isHere(title) {
                    XCTAssertTrue(try home.photos(1).bytes(title) == images[title], "\(place)")
                }
            } catch let error as FerryError {
                XCTAssertEqual(error.code, .damagedFile, "\(place): \(error)")
            }
            try removePacks(home)
        }
    }

    func testAnIndependentReaderFindsThePacks() throws {
        let home = try home()
        _ = try home.replicas[0].exportSnapshot(to: archive(home))
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: archive(home))))
        XCTAssertEqual(bytes[4], ArchiveFile.plainVersion + ArchiveFile.withPacks)
        guard let lines = try IndependentReader.lines(of: bytes) else { throw XCTSkip("there is no python3") }
        let pack = try XCTUnwrap(ArchiveFile(path: archive(home)).packs().last)
        XCTAssertTrue(
            lines.contains("pack \(pack.id.hex) of \(home.photos(0).device.hex): \(pack.byteCount) bytes"),
            lines.suffix(3).joined(separator: "\n"))
    }

    func testAMemberReadsTheBytesOfASealedFile() throws {
        let home = try SealedHome()
        try home.found()
        try home.invite(by: 0)
        let devices = try (0...1).map { PhotoDevice(replica: try home.replica($0), files: home.files) }
        for device in devices { try device.prepare() }
        try devices[0].declare()
        try home.settle()
        try devices[0].attach("sunset", noise(50_000, seed: 1))
        try home.settle()
        let file = home.folder.appendingPathComponent("stick.ferry").path
        XCTAssertEqual(try home.replica(0).exportSnapshot(to: file).contents, 1)
        XCTAssertEqual([UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))[4], 4)
        for device in devices {
            for name in try device.packs() { try home.files.removeFile(at: device.packsPath + "/" + name) }
            try device.replica.shelf.evict(device.image("sunset"))
        }
        XCTAssertEqual(try home.replica(1).importSnapshot(from: file).contents, 1)
        XCTAssertTrue(try devices[1].bytes("sunset") == noise(50_000, seed: 1))
        // Whoever has an open file reads no bytes of a sealed container's documents.
        XCTAssertNil(try home.replica(1).exportSnapshot(to: file, isOpen: true).contents)
        XCTAssertEqual([UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))[4], 1)
    }
}
