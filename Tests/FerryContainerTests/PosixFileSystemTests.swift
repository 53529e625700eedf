import FerryContainer
import FerryCore
import Foundation
import XCTest

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

final class PosixFileSystemTests: XCTestCase {
    private let files = PosixFileSystem()

    func testWhatWasWrittenIsReadBack() throws {
        let folder = try TemporaryFolder()
        for size in [0, 1, 70_000] {
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7) }
            try files.write(bytes, toNewFileAt: folder.path("f\(size)"))
            XCTAssertEqual(try files.readFile(at: folder.path("f\(size)"), maximumBytes: size), bytes)
            XCTAssertEqual(try files.item(at: folder.path("f\(size)")), .file(size: size))
        }
    }

    func testAMissingFileOrFolderIsNilAndNotAnError() throws {
        let folder = try TemporaryFolder()
        try folder.write("x", "file")
        XCTAssertNil(try files.readFile(at: folder.path("none"), maximumBytes: 10))
        XCTAssertNil(try files.readFile(at: folder.path("file/none"), maximumBytes: 10))
        XCTAssertNil(try files.entryNames(ofDirectoryAt: folder.path("none"), maximumCount: 10))
        XCTAssertNil(try files.entryNames(ofDirectoryAt: folder.path("file/none"), maximumCount: 10))
        XCTAssertEqual(try files.item(at: folder.path("none")), .missing)
        XCTAssertFalse(try files.removeFile(at: folder.path("none")))
    }

    func testAFIFOIsRefusedWithoutWaitingForAWriter() throws {
        let folder = try TemporaryFolder()
        XCTAssertEqual(mkfifo(folder.path("pipe"), 0o600), 0)
        assertThrows(.damagedFile, "regular file") {
            try files.readFile(at: folder.path("pipe"), maximumBytes: 10)
        }
        XCTAssertEqual(try files.item(at: folder.path("pipe")), .other)
    }

    func testSymbolicLinksAreNotFollowed() throws {
        let folder = try TemporaryFolder()
        try folder.write("secret", "target")
        try files.createDirectory(at: folder.path("directory"))
        XCTAssertEqual(symlink("target", folder.path("link")), 0)
        XCTAssertEqual(symlink("directory", folder.path("folderlink")), 0)
        XCTAssertEqual(symlink("nowhere", folder.path("dangling")), 0)
        for name in ["link", "folderlink", "dangling"] {
            assertThrows(.damagedFile, "regular file") {
                try files.readFile(at: folder.path(name), maximumBytes: 10)
            }
            assertThrows(.damagedFile, "folder") {
                try files.entryNames(ofDirectoryAt: folder.path(name), maximumCount: 10)
            }
            assertThrows(.damagedFile) { try files.createDirectory(at: folder.path(name)) }
            assertThrows(.inputOutput) { try files.write([1], toNewFileAt: folder.path(name)) }
            XCTAssertEqual(try files.item(at: folder.path(name)), .other)
        }
        XCTAssertEqual(try files.item(at: folder.path("folderlink/")), .directory)
        XCTAssertEqual(try files.readFile(at: folder.path("target"), maximumBytes: 10), Array("secret".utf8))
        XCTAssertEqual(try folder.names("directory"), [])
    }

    func testADirectoryInPlaceOfAFileAndAFileInPlaceOfADirectoryAreDamage() throws {
        let folder = try TemporaryFolder()
        try files.createDirectory(at: folder.path("directory"))
        try folder.write("x", "file")
        assertThrows(.damagedFile) { try files.readFile(at: folder.path("directory"), maximumBytes: 10) }
        assertThrows(.damagedFile) { try files.entryNames(ofDirectoryAt: folder.path("file"), maximumCount: 10) }
        assertThrows(.damagedFile) { try files.createDirectory(at: folder.path("file")) }
        assertThrows(.inputOutput) { try files.removeFile(at: folder.path("directory")) }
    }

    func testALargerFileThanTheCallerHoldsIsNotRead() throws {
        let folder = try TemporaryFolder()
        try folder.write("12345", "file")
        assertThrows(.limitExceeded, "5 bytes") { try files.readFile(at: folder.path("file"), maximumBytes: 4) }
        // A sparse file claims any size.
        XCTAssertEqual(truncate(folder.path("file"), 1 << 40), 0)
        assertThrows(.limitExceeded) { try files.readFile(at: folder.path("file"), maximumBytes: 1 << 28) }
    }

    func testAFolderWithTooManyEntriesIsNotListed() throws {
        let folder = try TemporaryFolder()
        for name in ["a", "b", "c"] { try folder.write("", name) }
        XCTAssertEqual(try files.entryNames(ofDirectoryAt: folder.path, maximumCount: 3)?.sorted(), ["a", "b", "c"])
        assertThrows(.limitExceeded) { try files.entryNames(ofDirectoryAt: folder.path, maximumCount: 2) }
    }

    func testNamesThatAreNotUTF8AreLeftOut() throws {
        let folder = try TemporaryFolder()
        let name: [CChar] = (folder.path + "/x").utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: 0xff), 0]
        let descriptor = open(name, O_CREAT | O_WRONLY, 0o600)
        // Some file systems refuse such a name themselves.
        guard descriptor >= 0 else { return }
        close(descriptor)
        XCTAssertEqual(try files.entryNames(ofDirectoryAt: folder.path, maximumCount: 10), [])
    }

    func testANewFileNeverReplacesOne() throws {
        let folder = try TemporaryFolder()
        try folder.write("old", "file")
        assertThrows(.inputOutput) { try files.write(Array("new".utf8), toNewFileAt: folder.path("file")) }
        XCTAssertEqual(try files.readFile(at: folder.path("file"), maximumBytes: 10), Array("old".utf8))
    }

    func testRenameReplacesAndDirectoriesAreSynchronized() throws {
        let folder = try TemporaryFolder()
        try files.write([1], toNewFileAt: folder.path("a"))
        try files.write([2], toNewFileAt: folder.path("b"))
        try files.rename(folder.path("a"), to: folder.path("b"))
        try files.synchronizeDirectory(at: folder.path)
        XCTAssertEqual(try files.readFile(at: folder.path("b"), maximumBytes: 1), [1])
        XCTAssertEqual(try folder.names(), ["b"])
        XCTAssertTrue(try files.removeFile(at: folder.path("b")))
        assertThrows(.inputOutput) { try files.rename(folder.path("none"), to: folder.path("b")) }
        assertThrows(.inputOutput) { try files.synchronizeDirectory(at: folder.path("none")) }
    }

    func testCreatingADirectoryTwiceCreatesItOnce() throws {
        let folder = try TemporaryFolder()
        XCTAssertTrue(try files.createDirectory(at: folder.path("d")))
        XCTAssertFalse(try files.createDirectory(at: folder.path("d")))
        assertThrows(.inputOutput) { try files.createDirectory(at: folder.path("none/d")) }
    }

    func testAnErrorOfTheSystemCarriesThePathTheCallAndWhatToDo() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("none/file")
        XCTAssertThrowsError(try files.write([1], toNewFileAt: path)) { error in
            let error = error as? FerryError
            XCTAssertEqual(error?.path, path)
            XCTAssertEqual(error?.cause as? SystemCallError, SystemCallError(call: "open", number: ENOENT))
            XCTAssertEqual(error?.message.contains("Check that its folder is there and mounted."), true)
        }
    }
}
