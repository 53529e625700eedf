import FerryCore
import Foundation
import XCTest

@testable import FerryContainer

#if os(Linux)
final class ChangeWatcherTests: XCTestCase {
    private let files = PosixFileSystem()
    /// Long enough for the slowest machine; no test waits for it to pass.
    private let long = 60_000

    func testAChangeBeforeTheWaitCountsAndManyMergeIntoOne() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        XCTAssertTrue(watcher.deliversEvents)
        watcher.setDirectories([folder.path])
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        for number in 0..<50 { try files.write([1], toNewFileAt: folder.path("f\(number)")) }
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }

    func testWithoutAPipeAWakeEndsTheWaitToo() throws {
        let watcher = ChangeWatcher(reportsAllNames: false, hasPipe: false)
        watcher.wake()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .woken)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        let thread = Thread { watcher.wake() }
        thread.start()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: -1), .woken)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 1), .timedOut)
        let folder = try TemporaryFolder()
        watcher.setDirectories([folder.path])
        try files.write([1], toNewFileAt: folder.path("f"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: -1), .changed)
    }

    func testAChangeDuringTheWaitEndsIt() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        watcher.setDirectories([folder.path])
        let path = folder.path("f")
        // A failure to write shows as a wait that does not end with a change.
        let thread = Thread { try? PosixFileSystem().write([1], toNewFileAt: path) }
        thread.start()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    func testRenamesAndRemovalsAreChanges() throws {
        let folder = try TemporaryFolder()
        try files.write([1], toNewFileAt: folder.path("a"))
        let watcher = ChangeWatcher()
        watcher.setDirectories([folder.path])
        try files.rename(folder.path("a"), to: folder.path("b"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        try files.removeFile(at: folder.path("b"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        try files.createDirectory(at: folder.path("d"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    func testTemporaryFilesArePassedOverAndTheirFinalNamesTold() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        watcher.setDirectories([folder.path])
        try files.write([1], toNewFileAt: folder.path(".ferry-tmp-01"))
        try files.write([1], toNewFileAt: folder.path(".syncthing.x.tmp"))
        try files.write([1], toNewFileAt: folder.path("~syncthing~x.tmp"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        try files.rename(folder.path(".ferry-tmp-01"), to: folder.path("head"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }

    func testASingleFileIsWatchedWithoutItsNeighbours() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        watcher.setDirectories([], files: [folder.path("db"), folder.path("db-wal")])
        try files.write([1], toNewFileAt: folder.path("db-lock"))
        try files.write([1], toNewFileAt: folder.path("d"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        try files.write([1], toNewFileAt: folder.path("db-wal"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        // As a directory, everything in it counts again.
        watcher.setDirectories([folder.path], files: [folder.path("db")])
        try files.write([1], toNewFileAt: folder.path("other"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    func testNeighboursThatChangeWithoutEndHoldNoWaitUp() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        watcher.setDirectories([], files: [folder.path("watched")])
        let (path, isOver) = (folder.path("neighbour"), Locked(false))
        try files.write([1], toNewFileAt: path)
        // A failure to write lets the waits end, and shows nothing.
        let thread = Thread {
            guard let handle = FileHandle(forWritingAtPath: path) else { return }
            while !isOver.withLock({ $0 }) { try? handle.write(contentsOf: Data([1])) }
        }
        thread.start()
        for _ in 0..<20 { XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut) }
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 50), .timedOut)
        isOver.withLock { $0 = true }
    }

    func testAWakeEndsThePresentWaitOrTheNextOne() throws {
        let watcher = ChangeWatcher()
        watcher.wake()
        watcher.wake()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .woken)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        let thread = Thread { watcher.wake() }
        thread.start()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: -1), .woken)
    }

    func testAnyNumberOfWakesNeverBlocks() {
        let watcher = ChangeWatcher()
        for _ in 0..<100_000 { watcher.wake() }
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .woken)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }

    func testAWakeDoesNotSwallowAChange() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        watcher.setDirectories([folder.path])
        try files.write([1], toNewFileAt: folder.path("f"))
        watcher.wake()
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .woken)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    func testADeletedDirectoryIsAChangeAndIsWatchedAgainOnceItIsBack() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        try files.createDirectory(at: folder.path("d"))
        watcher.setDirectories([folder.path("d")])
        try FileManager.default.removeItem(atPath: folder.path("d"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        try files.createDirectory(at: folder.path("d"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        try files.write([1], toNewFileAt: folder.path("d/f"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    /// With a thousand devices, most of whose directories are never made, each wait would look for all of them.
    func testAMissingDirectoryIsLookedForAgainOnlyOnceTheFolderAroundTellsOfIt() throws {
        let folder = try TemporaryFolder()
        let missing = folder.path("segments")
        let source = try XCTUnwrap(InotifySource())
        let interests = WatchInterest.all(directories: [folder.path, missing], files: [])
        // The order of the first tries is any: the second one finds the folder watched.
        for _ in 0..<2 { XCTAssertFalse(source.update(interests)) }
        XCTAssertFalse(source.isIncomplete, "an event of the folder will tell")
        try files.write([1], toNewFileAt: folder.path("other"))
        XCTAssertTrue(source.drain())
        XCTAssertFalse(source.isIncomplete)
        try files.createDirectory(at: missing)
        XCTAssertTrue(source.drain())
        XCTAssertTrue(source.isIncomplete)
        XCTAssertTrue(source.update(interests), "the directory has appeared")
        XCTAssertFalse(source.isIncomplete)
        try files.write([1], toNewFileAt: missing + "/f")
        XCTAssertTrue(source.drain())
    }

    /// The folder that would tell is another one by then.
    func testAMissingDirectoryIsLookedForAgainWhereTheFolderAroundWasMadeAnew() throws {
        let folder = try TemporaryFolder()
        let (around, missing) = (folder.path("device"), folder.path("device/segments"))
        try files.createDirectory(at: around)
        let source = try XCTUnwrap(InotifySource())
        let interests = WatchInterest.all(directories: [around, missing], files: [])
        for _ in 0..<2 { XCTAssertFalse(source.update(interests)) }
        try files.removeEmptyDirectory(at: around)
        try files.createDirectory(at: around)
        try files.createDirectory(at: missing)
        XCTAssertTrue(source.drain())
        XCTAssertTrue(source.isIncomplete)
        XCTAssertTrue(source.update(interests))
        XCTAssertFalse(source.isIncomplete)
        try files.write([1], toNewFileAt: missing + "/f")
        XCTAssertTrue(source.drain())
    }

    func testADirectoryThatIsRenamedIsNotWatchedUnderItsNewName() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        try files.createDirectory(at: folder.path("d"))
        watcher.setDirectories([folder.path("d")])
        try FileManager.default.moveItem(atPath: folder.path("d"), toPath: folder.path("e"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        try files.write([1], toNewFileAt: folder.path("e/f"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }

    func testTheListOfDirectoriesCanChange() throws {
        let folder = try TemporaryFolder()
        let watcher = ChangeWatcher()
        for name in ["a", "b", "c"] { try files.createDirectory(at: folder.path(name)) }
        watcher.setDirectories([folder.path("a"), folder.path("b")])
        watcher.setDirectories([folder.path("b"), folder.path("c"), folder.path("none")])
        try files.write([1], toNewFileAt: folder.path("a/f"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        try files.write([1], toNewFileAt: folder.path("c/f"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
    }

    func testAQueueThatOverflowsIsAChange() throws {
        let folder = try TemporaryFolder()
        let limit = try String(contentsOfFile: "/proc/sys/fs/inotify/max_queued_events", encoding: .utf8)
        guard let limit = Int(limit.trimmingCharacters(in: .whitespacesAndNewlines)), limit <= 50_000 else {
            throw XCTSkip("the system's queue is too long to fill here")
        }
        let watcher = ChangeWatcher()
        watcher.setDirectories([folder.path])
        // Only names that are passed over, so that the overflow alone can be what is told.
        try files.write([1], toNewFileAt: folder.path(".a"))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
        for number in 0..<limit {
            let names = number % 2 == 0 ? (".a", ".b") : (".b", ".a")
            try files.rename(folder.path(names.0), to: folder.path(names.1))
        }
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }

    func testPublishingIsSeenByAWatchingDevice() throws {
        let folder = try TemporaryFolder()
        let laptop = try Container.create(at: folder.path, name: "Test")
        let phone = try Container.open(at: folder.path)
        let watcher = ChangeWatcher()
        watcher.setDirectories(phone.watchedDirectories(of: [deviceA]))
        let segment = try makeSegment("one", 1, 1)
        try laptop.publish(segment.bytes, name: segment.name, of: deviceA)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        // The device's own directory has appeared, and from now on tells of its head.
        while watcher.wait(timeoutMilliseconds: 0) == .changed {}
        try laptop.writeHead(makeHead(laptop.id, sequence: 1))
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: long), .changed)
        XCTAssertEqual(watcher.wait(timeoutMilliseconds: 0), .timedOut)
    }
}
#endif
