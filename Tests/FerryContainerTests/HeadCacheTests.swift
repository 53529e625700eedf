import FerryCore
import FerryTestSupport
import Foundation
import XCTest

@testable import FerryContainer

final class HeadCacheTests: XCTestCase {
    private let files = MemoryFileSystem()
    private let clock = SetClock()
    private lazy var heads = HeadCache(clock: clock)
    private let device = DeviceID(high: 1, low: 2)

    private func container() throws -> Container {
        if try files.item(at: "/container") == .missing {
            try Container.create(at: "/container", name: "c", fileSystem: files).publishFirst(head(1))
        }
        return try Container.open(at: "/container", fileSystem: files, heads: heads)
    }

    private func head(_ written: Int64, _ container: ContainerID = ContainerID(high: 0, low: 0)) -> Head {
        Head(container: container, device: device, deviceName: "d", writtenMilliseconds: written, softwareVersion: "")
    }

    /// How often the file is read while a head is asked for, and what it says.
    private func look(_ container: Container) throws -> (reads: Int, written: Int64?) {
        let before = files.readCount
        let head = try container.readHead(of: device)
        return (files.readCount - before, head?.writtenMilliseconds)
    }

    func testAHeadIsReadUntilItsFileHasLookedTheSameForAWhile() throws {
        let container = try container()
        for _ in 0..<3 { XCTAssertTrue(try look(container) == (1, 1)) }
        clock.present.withLock { $0 += 1999 }
        XCTAssertTrue(try look(container) == (1, 1))
        clock.present.withLock { $0 += 1 }
        XCTAssertTrue(try look(container) == (1, 1))
        for _ in 0..<3 { XCTAssertTrue(try look(container) == (0, 1)) }
        // Another value for the same folder finds it too.
        XCTAssertTrue(try look(self.container()) == (0, 1))
    }

    func testAnotherHeadIsRead() throws {
        let container = try container()
        _ = try look(container)
        clock.present.withLock { $0 += 5000 }
        _ = try look(container)
        XCTAssertTrue(try look(container) == (0, 1))
        try container.writeHead(head(2, container.id))
        XCTAssertTrue(try look(container) == (1, 2))
        clock.present.withLock { $0 -= 60_000 }
        XCTAssertTrue(try look(container) == (1, 2))
    }

    /// A storage may list a new object and answer with the one before.
    func testBytesOlderThanTheListingAreReadAgain() throws {
        let id = ContainerID(high: 0, low: 0)
        let listed = FileVersion(tag: "new", size: 1)
        var reads = 0
        func look(_ bytes: [UInt8], areListed: Bool) throws -> Int64? {
            try heads.head(
                of: device, in: id, listed,
                read: {
                    reads += 1
                    return (bytes, areListed)
                }, decode: { head(Int64($0[0]), id) }
            ).head?.writtenMilliseconds
        }
        XCTAssertEqual(try look([1], areListed: false), 1)
        XCTAssertEqual(try look([1], areListed: false), 1)
        XCTAssertEqual(try look([2], areListed: true), 2)
        XCTAssertEqual(reads, 3)
        // The bytes of a listed version are read once.
        XCTAssertEqual(try look([3], areListed: true), 2)
        XCTAssertEqual(reads, 3)
    }

    func testAHeadThatIsGoneOrDamagedIsNotTheOneBefore() throws {
        let container = try container()
        _ = try look(container)
        clock.present.withLock { $0 += 5000 }
        _ = try look(container)
        let path = "/container/" + Container.headName(of: device)
        try files.removeFile(at: path)
        XCTAssertNil(try container.readHead(of: device))
        try files.write([1, 2, 3], toNewFileAt: path)
        for _ in 0..<2 {
            XCTAssertThrowsError(try container.readHead(of: device)) {
                XCTAssertEqual(($0 as? FerryError)?.code, .damagedFile)
            }
        }
    }

    func testAFileOnADiskHasAnotherVersionAfterItWasReplacedOrWrittenTo() throws {
        let folder = try ScratchFolder()
        let (posix, path) = (PosixFileSystem(), folder.path + "/file")
        XCTAssertNil(try posix.version(at: path))
        try posix.write([1, 2, 3], toNewFileAt: path)
        let first = try XCTUnwrap(posix.version(at: path))
        XCTAssertEqual(try posix.version(at: path), first)
        try posix.write([1, 2, 3], toNewFileAt: path + "-new")
        try posix.rename(path + "-new", to: path)
        let second = try XCTUnwrap(posix.version(at: path))
        XCTAssertNotEqual(second, first)
        let handle = try XCTUnwrap(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data([4]))
        try handle.close()
        XCTAssertNotEqual(try posix.version(at: path), second)
    }

    func testADirectoryHasAnotherVersionAfterAnEntryCameOrWent() throws {
        let folder = try ScratchFolder()
        let (posix, path) = (PosixFileSystem(), folder.path + "/directory")
        try posix.createDirectory(at: path)
        try files.createDirectory(at: "/directory")
        let disks: [(any FileSystem, String)] = [(posix, path), (files, "/directory")]
        for (disk, path) in disks {
            var version = try XCTUnwrap(disk.version(at: path))
            XCTAssertEqual(try disk.version(at: path), version)
            // The times by which it is told go on in ticks.
            let deadline = Date(timeIntervalSinceNow: 10)
            try disk.write([1], toNewFileAt: path + "/b")
            let changes: [() throws -> Void] = [
                { try disk.rename(path + "/b", to: path + "/c") }, { try disk.rename(path + "/c", to: path + "/b") },
            ]
            var count = 0
            while try disk.version(at: path) == version, Date() < deadline {
                try changes[count % 2]()
                count += 1
            }
            XCTAssertNotEqual(try disk.version(at: path), version)
            version = try XCTUnwrap(disk.version(at: path))
            while try disk.version(at: path) == version, Date() < deadline {
                try disk.write([1], toNewFileAt: path + "/a")
                try disk.removeFile(at: path + "/a")
            }
            XCTAssertNotEqual(try disk.version(at: path), version)
        }
    }

    func testFilesBelowADirectoryHaveTheirVersionsUntilOneOfThemChanges() throws {
        let folder = try TemporaryFolder()
        let onDisk = PosixFileSystem()
        try check(onDisk, folder.path("devices")) {
            try Data([1]).write(to: URL(fileURLWithPath: $0))  // in place, as some syncers write
        }
        XCTAssertEqual(symlink("devices", folder.path("link")), 0)
        let version = try XCTUnwrap(onDisk.version(at: folder.path("devices/d/head")))
        XCTAssertTrue(onDisk.haveVersions([("d/head", version)], below: folder.path("devices")))
        XCTAssertFalse(onDisk.haveVersions([("d/head", version)], below: folder.path("link")))
        try check(files, "/devices") { _ in }
    }

    /// - Parameter overwrite: writes another content into a file.
    private func check(_ files: some FileSystem, _ root: String, overwrite: (String) throws -> Void) throws {
        for name in ["", "/d", "/d/segments"] { try files.createDirectory(at: root + name) }
        let (head, segments) = (root + "/d/head", root + "/d/segments")
        try files.write([1, 2], toNewFileAt: head)
        func versions() throws -> [(path: String, version: FileVersion)] {
            try ["d/head", "d/segments"].map { ($0, try XCTUnwrap(try files.version(at: root + "/" + $0))) }
        }
        func hasChanged(_ change: () throws -> Void) throws -> Bool {
            let known = try versions()
            XCTAssertTrue(files.haveVersions(known, below: root))
            try change()
            return !files.haveVersions(known, below: root)
        }
        XCTAssertFalse(try hasChanged {})
        XCTAssertTrue(
            try hasChanged {
                // The times by which it is told go on in ticks.
                let (former, deadline) = (try files.version(at: segments), Date(timeIntervalSinceNow: 10))
                while try files.version(at: segments) == former, Date() < deadline {
                    try files.write([3], toNewFileAt: segments + "/one")
                    try files.removeFile(at: segments + "/one")
                }
            })
        XCTAssertTrue(
            try hasChanged {
                try files.write([1, 2], toNewFileAt: root + "/d/new")
                try files.rename(root + "/d/new", to: head)
            })
        if files is PosixFileSystem { XCTAssertTrue(try hasChanged { try overwrite(head) }) }
        XCTAssertTrue(try hasChanged { try files.removeFile(at: head) })
        XCTAssertTrue(files.haveVersions([], below: root))
        try files.write([1], toNewFileAt: head)
        XCTAssertFalse(files.haveVersions(try versions(), below: root + "/none"))
    }
}

/// A clock that a test sets.
private final class SetClock: WallClock {
    let present = Locked<Int64>(1_700_000_000_000)
    func milliseconds() -> Int64 { present.withLock { $0 } }
    func milliseconds(captured: Int64) -> Int64 { captured }
}

extension Container {
    /// Publishes a head under this container's ID.
    fileprivate func publishFirst(_ head: Head) throws {
        var head = head
        head.container = id
        try writeHead(head)
    }
}
