import FerryContainer
import FerryCore
import FerryTestSupport
import Foundation
import XCTest

/// What both file systems promise of open files and second names. Each promise is held against both.
final class FileSystemContractTests: XCTestCase {
    /// A file system, and a directory in it for a test.
    private struct Place {
        let files: any FileSystem
        let root: String

        func path(_ name: String) -> String { root + "/" + name }

        func read(_ name: String) throws -> [UInt8]? { try files.readFile(at: path(name), maximumBytes: 1 << 20) }

        func write(_ bytes: [UInt8], _ name: String) throws { try files.write(bytes, toNewFileAt: path(name)) }
    }

    private func onBoth(_ body: (Place) throws -> Void) throws {
        let memory = MemoryFileSystem()
        try memory.createDirectory(at: "/d")
        try body(Place(files: memory, root: "/d"))
        let folder = try ScratchFolder()
        try body(Place(files: PosixFileSystem(), root: folder.path))
    }

    func testARangeIsReadAndEndsWhereTheFileDoes() throws {
        try onBoth { place in
            try place.write(Array(0..<100), "f")
            let read = { (range: Range<Int>) in try place.files.readFile(at: place.path("f"), range: range) }
            XCTAssertEqual(try read(0..<100), Array(0..<100))
            XCTAssertEqual(try read(10..<12), [10, 11])
            XCTAssertEqual(try read(98..<200), [98, 99])
            XCTAssertEqual(try read(100..<200), [])
            XCTAssertEqual(try read(5000..<6000), [])
            XCTAssertEqual(try read(7..<7), [])
            XCTAssertNil(try place.files.readFile(at: place.path("none"), range: 0..<1))
            XCTAssertNil(try place.files.openFile(at: place.path("f/none")))
        }
    }

    func testADirectoryIsNoFile() throws {
        try onBoth { place in
            try place.files.createDirectory(at: place.path("sub"))
            assertThrows(.damagedFile) { try place.files.openFile(at: place.path("sub")) }
            assertThrows(.damagedFile) { try place.files.continueFile(at: place.path("sub")) }
            assertThrows(.inputOutput) { try place.files.createFile(at: place.path("sub")) }
        }
    }

    func testAFileIsWrittenInAnyOrderAndHolesReadAsZeros() throws {
        try onBoth { place in
            let file = try place.files.createFile(at: place.path("f"))
            XCTAssertEqual(try file.byteCount(), 0)
            try file.write([7, 8], at: 5)
            try file.write([1, 2], at: 0)
            try file.write([9], at: 6)
            try file.write([], at: 50)
            try file.synchronize()
            XCTAssertEqual(try place.read("f"), [1, 2, 0, 0, 0, 7, 9])
            XCTAssertEqual(try file.read(1..<6), [2, 0, 0, 0, 7])
            XCTAssertEqual(try file.byteCount(), 7)
            // Slices of a longer array are their own bytes.
            try file.write(([1, 2, 3, 4] as [UInt8])[2...], at: 7)
            XCTAssertEqual(try place.read("f"), [1, 2, 0, 0, 0, 7, 9, 3, 4])
        }
    }

    func testANewFileReplacesNothing() throws {
        try onBoth { place in
            try place.write([1], "f")
            assertThrows(.inputOutput) { try place.files.createFile(at: place.path("f")) }
            assertThrows(.inputOutput) { try place.files.createFile(at: place.path("none/f")) }
            XCTAssertEqual(try place.read("f"), [1])
        }
    }

    func testAFileIsContinuedWhereItWas() throws {
        try onBoth { place in
            XCTAssertNil(try place.files.continueFile(at: place.path("f")))
            try place.write([1, 2, 3], "f")
            let file = try XCTUnwrap(try place.files.continueFile(at: place.path("f")))
            XCTAssertEqual(try place.read("f"), [1, 2, 3])
            try file.write([9], at: 1)
            XCTAssertEqual(try place.read("f"), [1, 9, 3])
        }
    }

    func testAnOpenFileStaysTheSameFileWhateverBecomesOfItsName() throws {
        try onBoth { place in
            try place.write([1], "f")
            try place.write([2], "g")
            let file = try XCTUnwrap(try place.files.openFile(at: place.path("f")))
            try place.files.rename(place.path("g"), to: place.path("f"))
            XCTAssertEqual(try file.read(0..<9), [1])
            XCTAssertEqual(try place.read("f"), [2])
            try place.files.removeFile(at: place.path("f"))
            XCTAssertEqual(try file.byteCount(), 1)
        }
    }

    func testTheVersionOfAnOpenFileTellsOfWrites() throws {
        try onBoth { place in
            let file = try place.files.createFile(at: place.path("f"))
            let empty = try file.version()
            try file.write([1], at: 0)
            let written = try file.version()
            XCTAssertNotEqual(empty, written)
            XCTAssertEqual(written, try place.files.version(at: place.path("f")))
            try place.files.rename(place.path("f"), to: place.path("g"))
            XCTAssertEqual(try place.files.version(at: place.path("g"))?.hashValue != nil, true)
        }
    }

    func testASecondNameIsTheSameFile() throws {
        try onBoth { place in
            try place.files.createDirectory(at: place.path("sub"))
            try place.write([1], "f")
            XCTAssertTrue(try place.files.link(place.path("f"), to: place.path("sub/g")))
            XCTAssertEqual(try place.read("sub/g"), [1])
            XCTAssertEqual(
                try place.files.version(at: place.path("f")), try place.files.version(at: place.path("sub/g")))
            try place.files.removeFile(at: place.path("f"))
            XCTAssertEqual(try place.read("sub/g"), [1])
        }
    }

    func testASecondNameReplacesNothing() throws {
        try onBoth { place in
            try place.write([1], "f")
            try place.write([2], "g")
            assertThrows(.inputOutput) { try place.files.link(place.path("f"), to: place.path("g")) }
            assertThrows(.inputOutput) { try place.files.link(place.path("none"), to: place.path("h")) }
            XCTAssertEqual(try place.read("g"), [2])
        }
    }

    func testAReadOnlyFileIsReadAndRemoved() throws {
        try onBoth { place in
            try place.write([1], "f")
            try place.files.makeReadOnly(at: place.path("f"))
            XCTAssertEqual(try place.read("f"), [1])
            // The administrator may write to it all the same.
            if place.files is MemoryFileSystem || geteuid() != 0 {
                assertThrows(.inputOutput) { try place.files.continueFile(at: place.path("f")) }
            } else {
                let mode = try FileManager.default.attributesOfItem(atPath: place.path("f"))[.posixPermissions] as? Int
                XCTAssertEqual(try XCTUnwrap(mode) & 0o222, 0)
            }
            try place.files.rename(place.path("f"), to: place.path("g"))
            XCTAssertTrue(try place.files.removeFile(at: place.path("g")))
            assertThrows(.inputOutput) { try place.files.makeReadOnly(at: place.path("f")) }
        }
    }

    func testALinkIsNotFollowedAndAPipeDoesNotBlock() throws {
        let folder = try ScratchFolder()
        let files = PosixFileSystem()
        try files.write([1], toNewFileAt: folder.path("f"))
        XCTAssertEqual(symlink("f", folder.path("link")), 0)
        XCTAssertEqual(mkfifo(folder.path("pipe"), 0o600), 0)
        for name in ["link", "pipe"] {
            assertThrows(.damagedFile) { try files.openFile(at: folder.path(name)) }
            if name == "link" { assertThrows(.damagedFile) { try files.continueFile(at: folder.path(name)) } }
        }
    }

    // MARK: What a crash leaves, in memory

    func testWritesThatWereNotSynchronizedAreLostOrTorn() throws {
        let files = MemoryFileSystem()
        let file = try files.createFile(at: "/f")
        try file.write([1, 1, 1, 1], at: 0)
        try file.synchronize()
        try files.synchronizeDirectory(at: "/")
        try file.write([2, 2], at: 0)
        try file.write([3, 3], at: 4)
        files.crash()
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 9), [2, 1, 1, 1, 3])
    }

    func testAFileThatWasMadeAndNotSynchronizedKeepsHalf() throws {
        let files = MemoryFileSystem()
        let file = try files.createFile(at: "/f")
        try file.write([1, 2, 3, 4], at: 0)
        try files.synchronizeDirectory(at: "/")
        files.crash(losing: .contents)
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 9), [1, 2])
    }

    func testAKilledWriteIsHalfDoneAndTheFileIsDeadWithItsProcess() throws {
        let files = MemoryFileSystem()
        let file = try files.createFile(at: "/f")
        files.inject(.kill, afterSteps: 0)
        XCTAssertThrowsError(try file.write([1, 2, 3, 4], at: 0)) { XCTAssertTrue($0 is SimulatedCrash) }
        XCTAssertThrowsError(try file.write([5], at: 9)) { XCTAssertTrue($0 is SimulatedCrash) }
        XCTAssertThrowsError(try file.byteCount()) { XCTAssertTrue($0 is SimulatedCrash) }
        files.crash(losing: .nothing)
        XCTAssertEqual(try files.readFile(at: "/f", maximumBytes: 9), [1, 2])
    }
}
