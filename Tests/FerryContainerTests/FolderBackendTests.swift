import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

final class FolderBackendTests: XCTestCase {
    private func makeBackend() throws -> (MemoryFileSystem, FolderBackend) {
        let files = MemoryFileSystem()
        _ = try Container.create(
            at: "/c", name: "Test", fileSystem: files, clock: FixedClock(), random: SeededRandom(seed: 1))
        return (files, FolderBackend(root: "/c", fileSystem: files, random: SeededRandom(seed: 2)))
    }

    func testWhatIsWrittenOnceCanBeWrittenAgainButNotDifferently() throws {
        let (_, backend) = try makeBackend()
        try backend.writeOnce("devices/x/file", [1, 2])
        try backend.writeOnce("devices/x/file", [1, 2])
        assertThrows(.damagedFile) { try backend.writeOnce("devices/x/file", [1, 3]) }
        assertThrows(.damagedFile) { try backend.writeOnce("devices/x/file", [1]) }
        XCTAssertEqual(try backend.read("devices/x/file", maximumBytes: 9), [1, 2])
        XCTAssertNil(try backend.read("devices/x/none", maximumBytes: 9))
        XCTAssertNil(try backend.read("devices/none/file", maximumBytes: 9))
    }

    func testReplacingAndRemovingDoWhatTheySay() throws {
        let (_, backend) = try makeBackend()
        try backend.replace("devices/x/file", [1])
        try backend.replace("devices/x/file", [2])
        XCTAssertEqual(try backend.read("devices/x/file", maximumBytes: 9), [2])
        try backend.remove("devices/x/file")
        try backend.remove("devices/x/file")
        try backend.remove("devices/none/file")
        XCTAssertNil(try backend.read("devices/x/file", maximumBytes: 9))
    }

    func testAListingIsSortedGoesOnAfterANameAndHidesTemporaryFiles() throws {
        let (files, backend) = try makeBackend()
        for name in ["b", "c", "a"] { try backend.writeOnce("devices/x/" + name, [1]) }
        try files.write([1], toNewFileAt: "/c/devices/x/.ferry-tmp-0123")
        XCTAssertEqual(try backend.list("devices/x", after: nil), ["a", "b", "c"])
        XCTAssertEqual(try backend.list("devices/x", after: "a"), ["b", "c"])
        XCTAssertEqual(try backend.list("devices/none", after: nil), [])
    }

    func testTheFirstWritingIntoADevicesDirectoryRemovesLeftoversThere() throws {
        let (files, backend) = try makeBackend()
        try backend.writeOnce("devices/x/a", [1])
        try backend.writeOnce("devices/y/a", [1])
        for place in ["", "devices/", "devices/x/", "devices/y/"] {
            try files.write([1], toNewFileAt: "/c/\(place).ferry-tmp-0123")
        }
        try files.write([1], toNewFileAt: "/c/devices/x/other.tmp")
        let later = FolderBackend(root: "/c", fileSystem: files, random: SeededRandom(seed: 3))
        try later.writeOnce("devices/x/b", [1])
        XCTAssertEqual(try files.item(at: "/c/devices/x/.ferry-tmp-0123"), .missing)
        for place in ["", "devices/", "devices/y/"] {
            XCTAssertEqual(try files.item(at: "/c/\(place).ferry-tmp-0123"), .file(size: 1))
        }
        XCTAssertEqual(try files.item(at: "/c/devices/x/other.tmp"), .file(size: 1))
    }

    func testAWritingIntoAPreparedDirectoryCostsOneRenameAndTwoSynchronizations() throws {
        let (files, backend) = try makeBackend()
        try backend.writeOnce("devices/x/a", [1])
        let before = (files.stepCount, files.listingCount)
        try backend.writeOnce("devices/x/b", [1])
        XCTAssertEqual(files.stepCount - before.0, 5)
        XCTAssertEqual(files.listingCount, before.1)
    }

    func testNamesThatLeadElsewhereAreRefused() throws {
        let (_, backend) = try makeBackend()
        for name in ["../x", "devices/../../x", "/etc/passwd", "devices//x", "devices/", ".", "a\0b"] {
            assertThrows(.invalidArgument) { try backend.read(name, maximumBytes: 9) }
            assertThrows(.invalidArgument) { try backend.writeOnce(name, [1]) }
            assertThrows(.invalidArgument) { try backend.replace(name, [1]) }
            assertThrows(.invalidArgument) { try backend.remove(name) }
            assertThrows(.invalidArgument) { try backend.list(name, after: nil) }
        }
    }

    func testNothingIsWrittenBelowAMountPointWhoseDiskIsGone() throws {
        let (files, backend) = try makeBackend()
        try backend.writeOnce("devices/x/a", [1])
        let bare = MemoryFileSystem()
        assertThrows(.containerMissing, "is it mounted?") {
            try FolderBackend(root: "/c", fileSystem: bare, random: SeededRandom(seed: 3)).writeOnce("devices/x/b", [1])
        }
        XCTAssertEqual(try bare.entryNames(ofDirectoryAt: "/", maximumCount: 9), [])
        try bare.createDirectory(at: "/c")
        assertThrows(.containerEmpty) {
            try FolderBackend(root: "/c", fileSystem: bare, random: SeededRandom(seed: 3)).writeOnce("devices/x/b", [1])
        }
        XCTAssertEqual(try bare.entryNames(ofDirectoryAt: "/c", maximumCount: 9), [])
        XCTAssertEqual(try files.item(at: "/c/devices/x/a"), .file(size: 1))
    }

    func testADirectoryThatVanishesIsMadeAgainWhileTheMarkerIsThere() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        let first = try makeSegment("one", 1, 1)
        try container.publish(first.bytes, name: first.name, of: deviceA)
        try FileManager.default.removeItem(atPath: folder.path("c/devices"))
        try container.publish(first.bytes, name: first.name, of: deviceA)
        XCTAssertEqual(try container.readSegment(first.name, of: deviceA), first.bytes)
        try FileManager.default.removeItem(atPath: folder.path("c/devices"))
        try FileManager.default.removeItem(atPath: folder.path("c/container.json"))
        assertThrows(.containerEmpty) { try container.publish(first.bytes, name: first.name, of: deviceA) }
        XCTAssertEqual(try folder.names("c"), [])
    }

    func testARenameWhoseAnswerGotLostCounts() throws {
        let files = LosingRenames()
        _ = try Container.create(
            at: "/c", name: "Test", fileSystem: files.base, clock: FixedClock(), random: SeededRandom(seed: 1))
        let backend = FolderBackend(root: "/c", fileSystem: files, random: SeededRandom(seed: 2))
        try backend.replace("devices/x/head", [1, 2, 3])
        XCTAssertEqual(try backend.read("devices/x/head", maximumBytes: 9), [1, 2, 3])
    }

    func testASymbolicLinkInPlaceOfADirectoryIsNotEntered() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        try FileManager.default.createDirectory(
            atPath: folder.path("elsewhere/segments"), withIntermediateDirectories: true)
        XCTAssertEqual(symlink("../../elsewhere", folder.path("c/devices/" + deviceA.hex)), 0)
        let first = try makeSegment("one", 1, 1)
        try folder.write("one", "elsewhere/segments/" + first.name.fileName)
        try folder.write("one", "elsewhere/head")
        assertThrows(.damagedFile, "is not a folder") { try container.readSegment(first.name, of: deviceA) }
        assertThrows(.damagedFile, "is not a folder") { try container.segments(of: deviceA) }
        assertThrows(.damagedFile, "is not a folder") { try container.readHead(of: deviceA) }
        assertThrows(.damagedFile, "is not a folder") { try container.writeHead(makeHead(container.id)) }
        assertThrows(.damagedFile, "is not a folder") { try container.removeSegments([first.name], of: deviceA) }
        XCTAssertEqual(try folder.names("elsewhere"), ["head", "segments"])
    }

    func testAnEmptyPathIsTheWorkingDirectoryAndNeverTheRoot() {
        XCTAssertEqual(FolderBackend(root: "").localPath("container.json"), "./container.json")
        XCTAssertEqual(FolderBackend(root: "/").localPath("container.json"), "/container.json")
        XCTAssertEqual(FolderBackend(root: "a//").localPath("container.json"), "a/container.json")
    }

    func testTheContainersFolderItselfMayBeASymbolicLink() throws {
        let folder = try TemporaryFolder()
        let container = try Container.create(at: folder.path("c"), name: "Test")
        XCTAssertEqual(symlink("c", folder.path("link")), 0)
        let linked = try Container.open(at: folder.path("link//"), expecting: container.pin)
        let first = try makeSegment("one", 1, 1)
        try linked.publish(first.bytes, name: first.name, of: deviceA)
        XCTAssertEqual(try container.devices(), [deviceA])
        XCTAssertEqual(try container.segments(of: deviceA), [first.name])
    }
}

/// A file system whose renames succeed and say that they failed.
private final class LosingRenames: FileSystem {
    let base = MemoryFileSystem()

    func rename(_ path: String, to newPath: String) throws {
        try base.rename(path, to: newPath)
        throw FerryError(.inputOutput, "The server did not answer.", path: newPath)
    }

    func readFile(at path: String, maximumBytes: Int) throws -> [UInt8]? {
        try base.readFile(at: path, maximumBytes: maximumBytes)
    }
    func entryNames(ofDirectoryAt path: String, maximumCount: Int) throws -> [String]? {
        try base.entryNames(ofDirectoryAt: path, maximumCount: maximumCount)
    }
    func item(at path: String) throws -> FileItem { try base.item(at: path) }
    func createDirectory(at path: String) throws -> Bool { try base.createDirectory(at: path) }
    func write(_ bytes: [UInt8], toNewFileAt path: String) throws { try base.write(bytes, toNewFileAt: path) }
    func synchronizeDirectory(at path: String) throws { try base.synchronizeDirectory(at: path) }
    func removeFile(at path: String) throws -> Bool { try base.removeFile(at: path) }
    func openFile(at path: String) throws -> (any ReadableFile)? { try base.openFile(at: path) }
    func createFile(at path: String) throws -> any WritableFile { try base.createFile(at: path) }
    func continueFile(at path: String) throws -> (any WritableFile)? { try base.continueFile(at: path) }
    func makeReadOnly(at path: String) throws { try base.makeReadOnly(at: path) }
    func link(_ path: String, to newPath: String) throws -> Bool { try base.link(path, to: newPath) }
}
